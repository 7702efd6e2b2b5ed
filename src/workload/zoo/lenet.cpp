// LeNet-5 (LeCun et al. 1998) in the form most courses train: ReLU and max pooling.

#include "workload/zoo/families.h"

namespace orrery::workload::zoo {

namespace {

Result<TrainingGraph> build_lenet(const std::string& name, const OptionValues& p) {
  GraphBuilder g(name);
  Value x = image_input(g, p);
  x = g.relu(g.conv(x, "conv1", {.out = 6, .kernel = 5, .padding = 2}), false);
  x = g.max_pool(x, {});
  x = g.relu(g.conv(x, "conv2", {.out = 16, .kernel = 5}), false);
  x = g.flatten(g.max_pool(x, {}));
  x = g.relu(g.linear(x, "fc1", 120), false);
  x = g.relu(g.linear(x, "fc2", 84), false);
  g.cross_entropy(g.linear(x, "fc3", p.integer("classes")));
  return g.finish();
}

}  // namespace

void register_lenet(Catalog& catalog) {
  catalog.family("lenet", "LeNet-5", {image_parameter(28), channels_parameter(1), classes_parameter(10)}, build_lenet);
  catalog.variant("lenet", "lenet");
}

}  // namespace orrery::workload::zoo
