// SqueezeNet (Iandola et al. 2016).

#include <fmt/format.h>

#include "workload/zoo/conv_blocks.h"
#include "workload/zoo/families.h"

namespace orrery::workload::zoo {

namespace {

Value fire(GraphBuilder& g, Value x, std::int64_t squeezed, std::int64_t expanded) {
  x = g.relu(g.conv(x, "squeeze", {.out = squeezed}));
  const Value narrow = g.relu(g.conv(x, "expand1x1", {.out = expanded}));
  const Value wide = g.relu(g.conv(x, "expand3x3", {.out = expanded, .kernel = 3, .padding = 1}));
  return g.concat({narrow, wide});
}

Result<TrainingGraph> build_squeezenet(const std::string& name, const OptionValues& p) {
  const bool is_first = p.text("version") == "1.0";
  GraphBuilder g(name);
  Value x = image_input(g, p);
  x = g.relu(g.conv(x, "features.0", {.out = is_first ? 96 : 64, .kernel = is_first ? 7 : 3, .stride = 2}));
  x = g.max_pool(x, {.kernel = 3, .stride = 2, .ceil_mode = true});
  int index = 3;  // in torchvision's sequence
  for (int i = 0; i < 8; ++i) {
    const std::int64_t squeezed = 16 * (i / 2 + 1);
    {
      const auto scope = g.scope(fmt::format("features.{}", index++));
      x = fire(g, x, squeezed, 4 * squeezed);
    }
    const bool pools = is_first ? i == 2 || i == 6 : i == 1 || i == 3;
    if (!pools) continue;
    x = g.max_pool(x, {.kernel = 3, .stride = 2, .ceil_mode = true});
    ++index;
  }
  x = g.relu(g.conv(g.dropout(x, p.number("dropout")), "classifier.1", {.out = p.integer("classes")}));
  g.cross_entropy(pooled_features(g, x));
  return g.finish();
}

}  // namespace

void register_squeezenet(Catalog& catalog) {
  catalog.family("squeezenet", "SqueezeNet: few parameters by squeezing before 3×3 convolutions",
                 {choice_option("version", "1.1", {"1.0", "1.1"}, "which of the two layouts"), image_parameter(),
                  channels_parameter(), classes_parameter(), dropout_parameter(0.5)},
                 build_squeezenet);
  catalog.variant("squeezenet1_0", "squeezenet", "version=1.0");
  catalog.variant("squeezenet1_1", "squeezenet");
}

}  // namespace orrery::workload::zoo
