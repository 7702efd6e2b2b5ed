// ResNet (He et al. 2015) with its wide (Zagoruyko 2016) and grouped (ResNeXt, Xie et al. 2016) forms, for
// ImageNet-like and CIFAR-like inputs.

#include <fmt/format.h>

#include "workload/zoo/families.h"

namespace orrery::workload::zoo {

namespace {

struct Block {
  std::int64_t width;  // channels of the first convolution before widening
  std::int64_t stride;
};

Value shortcut(GraphBuilder& g, Value x, std::int64_t out, std::int64_t stride) {
  if (stride == 1 && g.dim(x, 1) == out) return x;
  x = g.conv(x, "downsample.0", {.out = out, .kernel = 1, .stride = stride, .bias = false});
  return g.batch_norm(x, "downsample.1");
}

Value basic_block(GraphBuilder& g, Value x, const Block& block) {
  const std::int64_t out = block.width;
  Value y = g.conv(x, "conv1", {.out = out, .kernel = 3, .stride = block.stride, .padding = 1, .bias = false});
  y = g.relu(g.batch_norm(y, "bn1"));
  y = g.conv(y, "conv2", {.out = out, .kernel = 3, .padding = 1, .bias = false});
  y = g.batch_norm(y, "bn2");
  return g.relu(g.sum_of(y, shortcut(g, x, out, block.stride), true));
}

Value bottleneck(GraphBuilder& g, Value x, const Block& block, std::int64_t base_width, std::int64_t groups) {
  constexpr std::int64_t kExpansion = 4;
  const std::int64_t inner = block.width * base_width / 64 * groups;
  const std::int64_t out = block.width * kExpansion;
  Value y = g.relu(g.batch_norm(g.conv(x, "conv1", {.out = inner, .bias = false}), "bn1"));
  y = g.conv(y, "conv2",
             {.out = inner, .kernel = 3, .stride = block.stride, .padding = 1, .groups = groups, .bias = false});
  y = g.relu(g.batch_norm(y, "bn2"));
  y = g.batch_norm(g.conv(y, "conv3", {.out = out, .bias = false}), "bn3");
  return g.relu(g.sum_of(y, shortcut(g, x, out, block.stride), true));
}

struct Layout {
  std::int64_t depth;
  bool bottleneck;
  std::array<int, 4> blocks;
};

constexpr Layout kLayouts[] = {
    {10, false, {1, 1, 1, 1}},  {14, true, {1, 1, 1, 1}},   {18, false, {2, 2, 2, 2}},
    {26, true, {2, 2, 2, 2}},   {34, false, {3, 4, 6, 3}},  {50, true, {3, 4, 6, 3}},
    {101, true, {3, 4, 23, 3}}, {152, true, {3, 8, 36, 3}}, {200, true, {3, 24, 36, 3}},
};

Result<TrainingGraph> build_resnet(const std::string& name, const OptionValues& p) {
  const std::int64_t depth = p.integer("depth");
  const Layout* layout = nullptr;
  for (const Layout& candidate : kLayouts) {
    if (candidate.depth == depth) layout = &candidate;
  }
  if (layout == nullptr) {
    return Error::invalid(
        fmt::format("model {}: depth {} is not one of 10, 14, 18, 26, 34, 50, 101, 152, 200", name, depth));
  }
  GraphBuilder g(name);
  Value x = image_input(g, p);
  x = g.conv(x, "conv1", {.out = 64, .kernel = 7, .stride = 2, .padding = 3, .bias = false});
  x = g.relu(g.batch_norm(x, "bn1"));
  x = g.max_pool(x, {.kernel = 3, .stride = 2, .padding = 1});
  for (int stage = 0; stage < 4; ++stage) {
    for (int i = 0; i < layout->blocks[static_cast<std::size_t>(stage)]; ++i) {
      const auto scope = g.scope(fmt::format("layer{}.{}", stage + 1, i));
      const Block block{std::int64_t{64} << stage, stage > 0 && i == 0 ? 2 : 1};
      x = layout->bottleneck ? bottleneck(g, x, block, p.integer("width"), p.integer("groups"))
                             : basic_block(g, x, block);
    }
  }
  x = g.flatten(g.adaptive_avg_pool(x, 1, 1));
  g.cross_entropy(g.linear(x, "fc", p.integer("classes")));
  return g.finish();
}

// 6n + 2 layers in three stages of 16, 32 and 64 channels, widened by `width`.
Result<TrainingGraph> build_cifar(const std::string& name, const OptionValues& p) {
  const std::int64_t depth = p.integer("depth");
  if (depth < 8 || (depth - 2) % 6 != 0) {
    return Error::invalid(fmt::format("model {}: depth {} is not 6n + 2 (8, 14, 20, …)", name, depth));
  }
  GraphBuilder g(name);
  Value x = image_input(g, p);
  x = g.relu(g.batch_norm(g.conv(x, "conv1", {.out = 16, .kernel = 3, .padding = 1, .bias = false}), "bn1"));
  for (int stage = 0; stage < 3; ++stage) {
    for (std::int64_t i = 0; i < (depth - 2) / 6; ++i) {
      const auto scope = g.scope(fmt::format("layer{}.{}", stage + 1, i));
      x = basic_block(g, x, {(std::int64_t{16} << stage) * p.integer("width"), stage > 0 && i == 0 ? 2 : 1});
    }
  }
  x = g.flatten(g.adaptive_avg_pool(x, 1, 1));
  g.cross_entropy(g.linear(x, "fc", p.integer("classes")));
  return g.finish();
}

}  // namespace

void register_resnet(Catalog& catalog) {
  catalog.family("resnet", "residual networks, wide and grouped ones included",
                 {integer_option("depth", 50, "layers: 10, 14, 18, 26, 34, 50, 101, 152 or 200").bounds(1, 1000),
                  size_parameter("width", 64, "base width of a bottleneck (128: wide)"),
                  size_parameter("groups", 1, "groups of the middle convolution (32: ResNeXt)"), image_parameter(),
                  channels_parameter(), classes_parameter()},
                 build_resnet);
  for (const int depth : {18, 34, 50, 101, 152}) {
    catalog.variant(fmt::format("resnet{}", depth), "resnet", fmt::format("depth={}", depth));
  }
  catalog.variant("wide_resnet50_2", "resnet", "depth=50,width=128");
  catalog.variant("wide_resnet101_2", "resnet", "depth=101,width=128");
  catalog.variant("resnext50_32x4d", "resnet", "depth=50,groups=32,width=4");
  catalog.variant("resnext101_32x8d", "resnet", "depth=101,groups=32,width=8");
  catalog.variant("resnext101_64x4d", "resnet", "depth=101,groups=64,width=4");

  catalog.family(
      "resnet_cifar", "residual networks for 32-pixel images",
      {integer_option("depth", 20, "layers, 6n + 2").bounds(8, 1202), size_parameter("width", 1, "widening factor"),
       image_parameter(32), channels_parameter(), classes_parameter(10)},
      build_cifar);
  for (const int depth : {20, 32, 44, 56, 110}) {
    catalog.variant(fmt::format("resnet{}_cifar", depth), "resnet_cifar", fmt::format("depth={}", depth));
  }
}

}  // namespace orrery::workload::zoo
