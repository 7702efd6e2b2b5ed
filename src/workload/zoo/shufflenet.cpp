// ShuffleNet v2 (Ma et al. 2018).

#include <fmt/format.h>

#include "workload/zoo/conv_blocks.h"
#include "workload/zoo/families.h"

namespace orrery::workload::zoo {

namespace {

constexpr std::array<std::int64_t, 3> kBlocks = {4, 8, 4};

// Convolution and batch norm at places `index` and `index` + 1 of torchvision's sequence.
Value unit(GraphBuilder& g, Value x, int index, Conv conv) {
  conv.bias = false;
  conv.padding = conv.kernel / 2;
  return g.batch_norm(g.conv(x, std::to_string(index), conv), std::to_string(index + 1));
}

Value depthwise(GraphBuilder& g, Value x, int index, std::int64_t stride) {
  const std::int64_t channels = g.dim(x, 1);
  return unit(g, x, index, {.out = channels, .kernel = 3, .stride = stride, .groups = channels});
}

Value first_branch(GraphBuilder& g, Value x, std::int64_t out) {
  const auto scope = g.scope("branch1");
  x = depthwise(g, x, 0, 2);
  return g.relu(unit(g, x, 2, {.out = out}));
}

Value second_branch(GraphBuilder& g, Value x, std::int64_t out, std::int64_t stride) {
  const auto scope = g.scope("branch2");
  x = g.relu(unit(g, x, 0, {.out = out}));
  x = depthwise(g, x, 3, stride);
  return g.relu(unit(g, x, 5, {.out = out}));
}

Value shuffled(GraphBuilder& g, Value x) {
  const std::int64_t channels = g.dim(x, 1), height = g.dim(x, 2), width = g.dim(x, 3);
  x = g.reshape(x, {0, 2, channels / 2, height, width});
  x = g.contiguous(g.transpose(x, {0, 2, 1, 3, 4}));
  return g.reshape(x, {0, channels, height, width});
}

Value block(GraphBuilder& g, Value x, std::int64_t out, std::int64_t stride) {
  const std::int64_t half = out / 2;
  if (stride == 1) {
    const std::vector<Value> halves = g.chunk(x, 2, 1);
    return shuffled(g, g.concat({halves[0], second_branch(g, halves[1], half, 1)}));
  }
  const Value first = first_branch(g, x, half);
  return shuffled(g, g.concat({first, second_branch(g, x, half, stride)}));
}

Result<TrainingGraph> build_shufflenet(const std::string& name, const OptionValues& p) {
  const std::int64_t channels = p.integer("stage");
  if (channels % 2 != 0) return Error::invalid(fmt::format("model {}: stage {} is odd", name, channels));
  GraphBuilder g(name);
  Value x = image_input(g, p);
  {
    const auto scope = g.scope("conv1");
    x = g.relu(unit(g, x, 0, {.out = 24, .kernel = 3, .stride = 2}));
  }
  x = g.max_pool(x, {.kernel = 3, .stride = 2, .padding = 1});
  for (std::size_t stage = 0; stage < kBlocks.size(); ++stage) {
    for (std::int64_t i = 0; i < kBlocks[stage]; ++i) {
      const auto scope = g.scope(fmt::format("stage{}.{}", stage + 2, i));
      x = block(g, x, channels << stage, i == 0 ? 2 : 1);
    }
  }
  {
    const auto scope = g.scope("conv5");
    x = g.relu(unit(g, x, 0, {.out = p.integer("head")}));
  }
  g.cross_entropy(g.linear(g.mean(x, {2, 3}), "fc", p.integer("classes")));
  return g.finish();
}

}  // namespace

void register_shufflenet(Catalog& catalog) {
  catalog.family("shufflenet_v2", "ShuffleNet v2: half of the channels pass each block untouched",
                 {size_parameter("stage", 116, "channels of the first stage; they double in each later one"),
                  size_parameter("head", 1024, "channels of the last convolution"), image_parameter(),
                  channels_parameter(), classes_parameter()},
                 build_shufflenet);
  catalog.variant("shufflenet_v2_x0_5", "shufflenet_v2", "stage=48");
  catalog.variant("shufflenet_v2_x1_0", "shufflenet_v2");
  catalog.variant("shufflenet_v2_x1_5", "shufflenet_v2", "stage=176");
  catalog.variant("shufflenet_v2_x2_0", "shufflenet_v2", "stage=244,head=2048");
}

}  // namespace orrery::workload::zoo
