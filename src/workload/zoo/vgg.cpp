// VGG (Simonyan and Zisserman 2014), with or without batch norm.

#include <fmt/format.h>

#include "workload/zoo/conv_blocks.h"
#include "workload/zoo/families.h"

namespace orrery::workload::zoo {

namespace {

struct Layout {
  std::int64_t depth;
  std::array<int, 5> convolutions;  // before each pooling
};

constexpr Layout kLayouts[] = {
    {11, {1, 1, 2, 2, 2}}, {13, {2, 2, 2, 2, 2}}, {16, {2, 2, 3, 3, 3}}, {19, {2, 2, 4, 4, 4}}};
constexpr std::array<std::int64_t, 5> kChannels = {64, 128, 256, 512, 512};

Value features(GraphBuilder& g, Value x, const Layout& layout, bool has_norm) {
  const auto scope = g.scope("features");
  int index = 0;  // in torchvision's sequence
  for (std::size_t stage = 0; stage < kChannels.size(); ++stage) {
    for (int i = 0; i < layout.convolutions[stage]; ++i) {
      x = g.conv(x, std::to_string(index++), {.out = kChannels[stage], .kernel = 3, .padding = 1});
      if (has_norm) x = g.batch_norm(x, std::to_string(index++));
      x = g.relu(x);
      ++index;
    }
    x = g.max_pool(x, {});
    ++index;
  }
  return x;
}

Result<TrainingGraph> build_vgg(const std::string& name, const OptionValues& p) {
  const std::int64_t depth = p.integer("depth");
  const Layout* layout = nullptr;
  for (const Layout& candidate : kLayouts) {
    if (candidate.depth == depth) layout = &candidate;
  }
  if (layout == nullptr) {
    return Error::invalid(fmt::format("model {}: depth {} is not one of 11, 13, 16, 19", name, depth));
  }
  GraphBuilder g(name);
  Value x = features(g, image_input(g, p), *layout, p.text("norm") == "batch");
  x = g.flatten(g.adaptive_avg_pool(x, 7, 7));
  const std::int64_t hidden = p.integer("hidden");
  x = g.dropout(g.relu(g.linear(x, "classifier.0", hidden)), p.number("dropout"));
  x = g.dropout(g.relu(g.linear(x, "classifier.3", hidden)), p.number("dropout"));
  g.cross_entropy(g.linear(x, "classifier.6", p.integer("classes")));
  return g.finish();
}

}  // namespace

void register_vgg(Catalog& catalog) {
  catalog.family("vgg", "VGG: plain stacks of 3×3 convolutions",
                 {integer_option("depth", 16, "layers: 11, 13, 16 or 19").bounds(11, 19),
                  choice_option("norm", "none", {"none", "batch"}, "normalisation after each convolution"),
                  size_parameter("hidden", 4096, "units of the two hidden linear layers"), image_parameter(),
                  channels_parameter(), classes_parameter(), dropout_parameter(0.5)},
                 build_vgg);
  for (const Layout& layout : kLayouts) {
    catalog.variant(fmt::format("vgg{}", layout.depth), "vgg", fmt::format("depth={}", layout.depth));
    catalog.variant(fmt::format("vgg{}_bn", layout.depth), "vgg", fmt::format("depth={},norm=batch", layout.depth));
  }
}

}  // namespace orrery::workload::zoo
