// MnasNet-B1 (Tan et al. 2018).

#include <fmt/format.h>

#include "workload/zoo/conv_blocks.h"
#include "workload/zoo/families.h"

namespace orrery::workload::zoo {

namespace {

struct Stack {
  std::int64_t kernel, stride, expansion, blocks, out;
};

constexpr Stack kStacks[] = {{3, 2, 3, 3, 24}, {5, 2, 3, 3, 40},  {5, 2, 6, 3, 80},
                             {3, 1, 6, 2, 96}, {5, 2, 6, 4, 192}, {3, 1, 6, 1, 320}};

// Convolution and batch norm at places `index` and `index` + 1 of torchvision's sequence.
Value unit(GraphBuilder& g, Value x, int index, Conv conv) {
  conv.bias = false;
  conv.padding = conv.kernel / 2;
  return g.batch_norm(g.conv(x, std::to_string(index), conv), std::to_string(index + 1));
}

Value inverted_residual(GraphBuilder& g, Value input, const Stack& stack, std::int64_t stride, std::int64_t out) {
  const auto scope = g.scope("layers");
  const std::int64_t in = g.dim(input, 1);
  const std::int64_t hidden = in * stack.expansion;
  Value x = g.relu(unit(g, input, 0, {.out = hidden}));
  x = g.relu(unit(g, x, 3, {.out = hidden, .kernel = stack.kernel, .stride = stride, .groups = hidden}));
  x = unit(g, x, 6, {.out = out});
  return stride == 1 && in == out ? g.sum_of(x, input) : x;
}

Value layers(GraphBuilder& g, Value x, double width) {
  const auto scope = g.scope("layers");
  const std::int64_t stem = make_divisible(32 * width);
  x = g.relu(unit(g, x, 0, {.out = stem, .kernel = 3, .stride = 2}));
  x = g.relu(unit(g, x, 3, {.out = stem, .kernel = 3, .groups = stem}));
  x = unit(g, x, 6, {.out = make_divisible(16 * width)});
  int index = 8;
  for (const Stack& stack : kStacks) {
    for (std::int64_t i = 0; i < stack.blocks; ++i) {
      const auto block = g.scope(fmt::format("{}.{}", index, i));
      x = inverted_residual(g, x, stack, i == 0 ? stack.stride : 1,
                            make_divisible(static_cast<double>(stack.out) * width));
    }
    ++index;
  }
  return g.relu(unit(g, x, index, {.out = 1280}));
}

Result<TrainingGraph> build_mnasnet(const std::string& name, const OptionValues& p) {
  GraphBuilder g(name);
  Value x = layers(g, image_input(g, p), p.number("width"));
  x = g.dropout(g.mean(x, {2, 3}), p.number("dropout"));
  g.cross_entropy(g.linear(x, "classifier.1", p.integer("classes")));
  return g.finish();
}

}  // namespace

void register_mnasnet(Catalog& catalog) {
  catalog.family(
      "mnasnet", "MnasNet-B1: inverted residuals, found by search",
      {width_parameter(), image_parameter(), channels_parameter(), classes_parameter(), dropout_parameter(0.2)},
      build_mnasnet);
  catalog.variant("mnasnet0_5", "mnasnet", "width=0.5");
  catalog.variant("mnasnet0_75", "mnasnet", "width=0.75");
  catalog.variant("mnasnet1_0", "mnasnet");
  catalog.variant("mnasnet1_3", "mnasnet", "width=1.3");
}

}  // namespace orrery::workload::zoo
