// DenseNet-BC (Huang et al. 2016).

#include <fmt/format.h>

#include "workload/zoo/conv_blocks.h"
#include "workload/zoo/families.h"

namespace orrery::workload::zoo {

namespace {

Value dense_layer(GraphBuilder& g, const std::vector<Value>& features, const OptionValues& p) {
  const std::int64_t growth = p.integer("growth");
  Value x = g.concat(features);
  x = g.relu(g.batch_norm(x, "norm1"));
  x = g.conv(x, "conv1", {.out = p.integer("bottleneck") * growth, .bias = false});
  x = g.relu(g.batch_norm(x, "norm2"));
  x = g.conv(x, "conv2", {.out = growth, .kernel = 3, .padding = 1, .bias = false});
  return g.dropout(x, p.number("dropout"));
}

Value transition(GraphBuilder& g, Value x) {
  x = g.relu(g.batch_norm(x, "norm"));
  x = g.conv(x, "conv", {.out = std::max<std::int64_t>(1, g.dim(x, 1) / 2), .bias = false});
  return g.avg_pool(x, {});
}

Result<TrainingGraph> build_densenet(const std::string& name, const OptionValues& p) {
  ORRERY_TRY(const std::vector<std::int64_t> blocks, parse_depths(p.text("blocks"), "blocks"));
  GraphBuilder g(name);
  Value x = image_input(g, p);
  x = g.conv(x, "features.conv0", {.out = p.integer("stem"), .kernel = 7, .stride = 2, .padding = 3, .bias = false});
  x = g.relu(g.batch_norm(x, "features.norm0"));
  x = g.max_pool(x, {.kernel = 3, .stride = 2, .padding = 1});
  for (std::size_t block = 0; block < blocks.size() && !g.failed(); ++block) {
    std::vector<Value> features = {x};
    for (std::int64_t layer = 0; layer < blocks[block] && !g.failed(); ++layer) {
      const auto scope = g.scope(fmt::format("features.denseblock{}.denselayer{}", block + 1, layer + 1));
      features.push_back(dense_layer(g, features, p));
    }
    x = g.concat(features);
    if (block + 1 == blocks.size()) continue;
    const auto scope = g.scope(fmt::format("features.transition{}", block + 1));
    x = transition(g, x);
  }
  x = pooled_features(g, g.relu(g.batch_norm(x, "features.norm5")));
  g.cross_entropy(g.linear(x, "classifier", p.integer("classes")));
  return g.finish();
}

}  // namespace

void register_densenet(Catalog& catalog) {
  catalog.family("densenet", "DenseNet: every layer sees all earlier ones of its block",
                 {text_option("blocks", "6-12-24-16", "layers of each dense block"),
                  size_parameter("growth", 32, "channels each layer adds"),
                  size_parameter("stem", 64, "channels of the first convolution"),
                  size_parameter("bottleneck", 4, "channels between a layer's convolutions, in multiples of growth"),
                  image_parameter(), channels_parameter(), classes_parameter(),
                  number_option("dropout", 0, "dropout rate after each layer").bounds(0, 1)},
                 build_densenet);
  catalog.variant("densenet121", "densenet");
  catalog.variant("densenet161", "densenet", "blocks=6-12-36-24,growth=48,stem=96");
  catalog.variant("densenet169", "densenet", "blocks=6-12-32-32");
  catalog.variant("densenet201", "densenet", "blocks=6-12-48-32");
}

}  // namespace orrery::workload::zoo
