// GoogLeNet (Szegedy et al. 2014) and Inception v3 (Szegedy et al. 2015), auxiliary heads included.

#include "workload/zoo/conv_blocks.h"
#include "workload/zoo/families.h"

namespace orrery::workload::zoo {

namespace {

Value unit(GraphBuilder& g, Value x, const std::string& name, Conv conv) {
  const auto scope = g.scope(name);
  conv.bias = false;
  return g.relu(g.batch_norm(g.conv(x, "conv", conv), "bn"));
}

// One convolution of an Inception module: a row of `width` columns by `height` rows.
Value factor(GraphBuilder& g, Value x, const std::string& name, std::int64_t out, std::int64_t height,
             std::int64_t width) {
  return unit(g, x, name,
              {.out = out, .kernel = height, .padding = height / 2, .kernel_w = width, .padding_w = width / 2});
}

OptionRecord aux_parameter() {
  return choice_option("aux", "true", {"true", "false"}, "train with the auxiliary heads");
}

// --- GoogLeNet

struct Mixed {
  std::int64_t direct, reduced3, out3, reduced5, out5, pooled;
};

Value mixed(GraphBuilder& g, Value x, const std::string& name, const Mixed& m) {
  const auto scope = g.scope(name);
  const Value direct = unit(g, x, "branch1", {.out = m.direct});
  Value three = unit(g, x, "branch2.0", {.out = m.reduced3});
  three = unit(g, three, "branch2.1", {.out = m.out3, .kernel = 3, .padding = 1});
  // torchvision's "5×5" branch is 3×3, as in the weights it was ported from.
  Value five = unit(g, x, "branch3.0", {.out = m.reduced5});
  five = unit(g, five, "branch3.1", {.out = m.out5, .kernel = 3, .padding = 1});
  Value pooled = g.max_pool(x, {.kernel = 3, .stride = 1, .padding = 1, .ceil_mode = true});
  pooled = unit(g, pooled, "branch4.1", {.out = m.pooled});
  return g.concat({direct, three, five, pooled});
}

// Losses come after the forward pass: the main one first, then those of the auxiliary heads, last head first.
void add_losses(GraphBuilder& g, Value logits, const std::vector<Value>& auxiliary) {
  g.cross_entropy(logits);
  for (auto head = auxiliary.rbegin(); head != auxiliary.rend(); ++head) g.cross_entropy(*head);
}

Value googlenet_head(GraphBuilder& g, Value x, const std::string& name, const OptionValues& p) {
  const auto scope = g.scope(name);
  x = g.flatten(unit(g, g.adaptive_avg_pool(x, 4, 4), "conv", {.out = 128}));
  x = g.dropout(g.relu(g.linear(x, "fc1", 1024)), p.number("aux_dropout"));
  return g.linear(x, "fc2", p.integer("classes"));
}

Result<TrainingGraph> build_googlenet(const std::string& name, const OptionValues& p) {
  const bool aux = p.text("aux") == "true";
  std::vector<Value> heads;
  const Pool halve{.kernel = 3, .stride = 2, .ceil_mode = true};
  GraphBuilder g(name);
  Value x = image_input(g, p);
  x = g.max_pool(unit(g, x, "conv1", {.out = 64, .kernel = 7, .stride = 2, .padding = 3}), halve);
  x = unit(g, x, "conv2", {.out = 64});
  x = g.max_pool(unit(g, x, "conv3", {.out = 192, .kernel = 3, .padding = 1}), halve);
  x = mixed(g, x, "inception3a", {64, 96, 128, 16, 32, 32});
  x = mixed(g, x, "inception3b", {128, 128, 192, 32, 96, 64});
  x = g.max_pool(x, halve);
  x = mixed(g, x, "inception4a", {192, 96, 208, 16, 48, 64});
  if (aux) heads.push_back(googlenet_head(g, x, "aux1", p));
  x = mixed(g, x, "inception4b", {160, 112, 224, 24, 64, 64});
  x = mixed(g, x, "inception4c", {128, 128, 256, 24, 64, 64});
  x = mixed(g, x, "inception4d", {112, 144, 288, 32, 64, 64});
  if (aux) heads.push_back(googlenet_head(g, x, "aux2", p));
  x = mixed(g, x, "inception4e", {256, 160, 320, 32, 128, 128});
  x = g.max_pool(x, {.kernel = 2, .stride = 2, .ceil_mode = true});
  x = mixed(g, x, "inception5a", {256, 160, 320, 32, 128, 128});
  x = mixed(g, x, "inception5b", {384, 192, 384, 48, 128, 128});
  x = g.dropout(pooled_features(g, x), p.number("dropout"));
  add_losses(g, g.linear(x, "fc", p.integer("classes")), heads);
  return g.finish();
}

// --- Inception v3; the letters are those of torchvision's modules

const Pool kSmooth{.kernel = 3, .stride = 1, .padding = 1};
const Pool kHalve{.kernel = 3, .stride = 2};

Value module_a(GraphBuilder& g, Value x, const std::string& name, std::int64_t pooled) {
  const auto scope = g.scope(name);
  const Value one = unit(g, x, "branch1x1", {.out = 64});
  Value five = unit(g, x, "branch5x5_1", {.out = 48});
  five = factor(g, five, "branch5x5_2", 64, 5, 5);
  Value three = unit(g, x, "branch3x3dbl_1", {.out = 64});
  three = factor(g, three, "branch3x3dbl_2", 96, 3, 3);
  three = factor(g, three, "branch3x3dbl_3", 96, 3, 3);
  const Value pool = unit(g, g.avg_pool(x, kSmooth), "branch_pool", {.out = pooled});
  return g.concat({one, five, three, pool});
}

Value module_b(GraphBuilder& g, Value x, const std::string& name) {
  const auto scope = g.scope(name);
  const Value three = unit(g, x, "branch3x3", {.out = 384, .kernel = 3, .stride = 2});
  Value twice = unit(g, x, "branch3x3dbl_1", {.out = 64});
  twice = factor(g, twice, "branch3x3dbl_2", 96, 3, 3);
  twice = unit(g, twice, "branch3x3dbl_3", {.out = 96, .kernel = 3, .stride = 2});
  return g.concat({three, twice, g.max_pool(x, kHalve)});
}

Value module_c(GraphBuilder& g, Value x, const std::string& name, std::int64_t inner) {
  const auto scope = g.scope(name);
  const Value one = unit(g, x, "branch1x1", {.out = 192});
  Value seven = unit(g, x, "branch7x7_1", {.out = inner});
  seven = factor(g, seven, "branch7x7_2", inner, 1, 7);
  seven = factor(g, seven, "branch7x7_3", 192, 7, 1);
  Value twice = unit(g, x, "branch7x7dbl_1", {.out = inner});
  twice = factor(g, twice, "branch7x7dbl_2", inner, 7, 1);
  twice = factor(g, twice, "branch7x7dbl_3", inner, 1, 7);
  twice = factor(g, twice, "branch7x7dbl_4", inner, 7, 1);
  twice = factor(g, twice, "branch7x7dbl_5", 192, 1, 7);
  const Value pool = unit(g, g.avg_pool(x, kSmooth), "branch_pool", {.out = 192});
  return g.concat({one, seven, twice, pool});
}

Value module_d(GraphBuilder& g, Value x, const std::string& name) {
  const auto scope = g.scope(name);
  Value three = unit(g, x, "branch3x3_1", {.out = 192});
  three = unit(g, three, "branch3x3_2", {.out = 320, .kernel = 3, .stride = 2});
  Value seven = unit(g, x, "branch7x7x3_1", {.out = 192});
  seven = factor(g, seven, "branch7x7x3_2", 192, 1, 7);
  seven = factor(g, seven, "branch7x7x3_3", 192, 7, 1);
  seven = unit(g, seven, "branch7x7x3_4", {.out = 192, .kernel = 3, .stride = 2});
  return g.concat({three, seven, g.max_pool(x, kHalve)});
}

Value module_e(GraphBuilder& g, Value x, const std::string& name) {
  const auto scope = g.scope(name);
  const Value one = unit(g, x, "branch1x1", {.out = 320});
  Value three = unit(g, x, "branch3x3_1", {.out = 384});
  const Value row = factor(g, three, "branch3x3_2a", 384, 1, 3);
  const Value column = factor(g, three, "branch3x3_2b", 384, 3, 1);
  three = g.concat({row, column});
  Value twice = unit(g, x, "branch3x3dbl_1", {.out = 448});
  twice = factor(g, twice, "branch3x3dbl_2", 384, 3, 3);
  const Value twice_row = factor(g, twice, "branch3x3dbl_3a", 384, 1, 3);
  const Value twice_column = factor(g, twice, "branch3x3dbl_3b", 384, 3, 1);
  twice = g.concat({twice_row, twice_column});
  const Value pool = unit(g, g.avg_pool(x, kSmooth), "branch_pool", {.out = 192});
  return g.concat({one, three, twice, pool});
}

Value inception_head(GraphBuilder& g, Value x, const OptionValues& p) {
  const auto scope = g.scope("AuxLogits");
  x = unit(g, g.avg_pool(x, {.kernel = 5, .stride = 3}), "conv0", {.out = 128});
  x = pooled_features(g, unit(g, x, "conv1", {.out = 768, .kernel = 5}));
  return g.linear(x, "fc", p.integer("classes"));
}

Result<TrainingGraph> build_inception_v3(const std::string& name, const OptionValues& p) {
  GraphBuilder g(name);
  Value x = image_input(g, p);
  x = unit(g, x, "Conv2d_1a_3x3", {.out = 32, .kernel = 3, .stride = 2});
  x = unit(g, x, "Conv2d_2a_3x3", {.out = 32, .kernel = 3});
  x = unit(g, x, "Conv2d_2b_3x3", {.out = 64, .kernel = 3, .padding = 1});
  x = unit(g, g.max_pool(x, kHalve), "Conv2d_3b_1x1", {.out = 80});
  x = unit(g, x, "Conv2d_4a_3x3", {.out = 192, .kernel = 3});
  x = module_a(g, g.max_pool(x, kHalve), "Mixed_5b", 32);
  x = module_a(g, x, "Mixed_5c", 64);
  x = module_a(g, x, "Mixed_5d", 64);
  x = module_b(g, x, "Mixed_6a");
  x = module_c(g, x, "Mixed_6b", 128);
  x = module_c(g, x, "Mixed_6c", 160);
  x = module_c(g, x, "Mixed_6d", 160);
  x = module_c(g, x, "Mixed_6e", 192);
  std::vector<Value> heads;
  if (p.text("aux") == "true") heads.push_back(inception_head(g, x, p));
  x = module_d(g, x, "Mixed_7a");
  x = module_e(g, x, "Mixed_7b");
  x = module_e(g, x, "Mixed_7c");
  x = g.flatten(g.dropout(g.adaptive_avg_pool(x, 1, 1), p.number("dropout")));
  add_losses(g, g.linear(x, "fc", p.integer("classes")), heads);
  return g.finish();
}

}  // namespace

void register_inception(Catalog& catalog) {
  catalog.family("googlenet", "GoogLeNet with batch norm",
                 {aux_parameter(), image_parameter(), channels_parameter(), classes_parameter(), dropout_parameter(0.2),
                  number_option("aux_dropout", 0.7, "dropout rate in the auxiliary heads").bounds(0, 1)},
                 build_googlenet);
  catalog.variant("googlenet", "googlenet");
  catalog.family(
      "inception_v3", "Inception v3: factored convolutions",
      {aux_parameter(), image_parameter(299), channels_parameter(), classes_parameter(), dropout_parameter(0.5)},
      build_inception_v3);
  catalog.variant("inception_v3", "inception_v3");
}

}  // namespace orrery::workload::zoo
