// AlexNet in the one-column form of Krizhevsky, "One weird trick for parallelizing convolutional neural networks",
// 2014.

#include "workload/zoo/families.h"

namespace orrery::workload::zoo {

namespace {

Result<TrainingGraph> build_alexnet(const std::string& name, const OptionValues& p) {
  GraphBuilder g(name);
  Value x = image_input(g, p);
  x = g.relu(g.conv(x, "features.0", {.out = 64, .kernel = 11, .stride = 4, .padding = 2}));
  x = g.max_pool(x, {.kernel = 3, .stride = 2});
  x = g.relu(g.conv(x, "features.3", {.out = 192, .kernel = 5, .padding = 2}));
  x = g.max_pool(x, {.kernel = 3, .stride = 2});
  x = g.relu(g.conv(x, "features.6", {.out = 384, .kernel = 3, .padding = 1}));
  x = g.relu(g.conv(x, "features.8", {.out = 256, .kernel = 3, .padding = 1}));
  x = g.relu(g.conv(x, "features.10", {.out = 256, .kernel = 3, .padding = 1}));
  x = g.max_pool(x, {.kernel = 3, .stride = 2});
  x = g.flatten(g.adaptive_avg_pool(x, 6, 6));
  x = g.relu(g.linear(g.dropout(x, p.number("dropout")), "classifier.1", 4096));
  x = g.relu(g.linear(g.dropout(x, p.number("dropout")), "classifier.4", 4096));
  g.cross_entropy(g.linear(x, "classifier.6", p.integer("classes")));
  return g.finish();
}

}  // namespace

void register_alexnet(Catalog& catalog) {
  catalog.family("alexnet", "AlexNet, one column",
                 {image_parameter(), channels_parameter(), classes_parameter(),
                  number_option("dropout", 0.5, "dropout rate").bounds(0, 1)},
                 build_alexnet);
  catalog.variant("alexnet", "alexnet");
}

}  // namespace orrery::workload::zoo
