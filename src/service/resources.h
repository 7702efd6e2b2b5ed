#pragma once
// What a training uses of GPU, memory and network, by Driple's network: a file that `orrery fit --form driple` made, or
// for a TensorFlow 1.x GraphDef the weights that Driple published.

#include <variant>

#include "base/table.h"
#include "predict/driple/resource_metrics.h"
#include "predict/driple/resource_model.h"
#include "service/runs.h"

namespace orrery::service {

// What published weights need to know.
struct WeightsFields {
  std::string frequencies;  // CSV of operators and their shares in a corpus
  std::string node_device;
  std::size_t groups = 0;
  std::uint64_t group_seed = 0;
  std::string maxima;  // of the twelve metrics in the training

  friend bool operator==(const WeightsFields&, const WeightsFields&) = default;
};
const Fields<WeightsFields>& weights_fields();

struct ResourcesRequest {
  FieldNames names;
  RunFields runs;
  std::string predictor;  // a file
  WeightsFields weights;

  friend bool operator==(const ResourcesRequest&, const ResourcesRequest&) = default;
};
const Fields<ResourcesRequest>& resources_fields();

struct WeightsAnswer {
  predict::ResourceMetrics metrics{};
  bool has_maxima = false;  // otherwise metrics are shares of the largest values of the training
  std::size_t nodes = 0, groups = 0, unknown = 0;
};

struct FittedRun {
  RunPoint point;
  predict::ResourcePrediction resources;
};
struct FittedAnswer {
  std::vector<FittedRun> runs{};
  std::string measured;  // what the model learned from
  std::uint64_t learned = 0, steps = 0, left_out = 0;
  double error = 0;  // RMSE over the range, of those left out
};

using ResourcesAnswer = std::variant<WeightsAnswer, FittedAnswer>;
Result<ResourcesAnswer> predict_resources(env::Env env, const ResourcesRequest& request);

Table resources_table(const ResourcesAnswer& answer);
std::string resources_text(const ResourcesAnswer& answer);

}  // namespace orrery::service
