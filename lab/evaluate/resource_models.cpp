#include "lab/evaluate/resource_models.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "predict/driple/resource_network.h"
#include "predict/learn/ridge.h"

namespace orrery::lab {

namespace {

std::vector<double> column(const Examples& examples, std::size_t metric) {
  std::vector<double> values;
  for (const ResourceExample* example : examples) values.push_back(example->used[metric]);
  return values;
}

Result<ResourcePredictor> fit_mean(const Examples& train, const Examples&) {
  std::vector<double> means;
  for (std::size_t metric = 0; metric < train.front()->used.size(); ++metric) {
    double sum = 0;
    for (const double value : column(train, metric)) sum += value;
    means.push_back(sum / static_cast<double>(train.size()));
  }
  return ResourcePredictor([means](const Examples& examples) { return ResourcePredictions(examples.size(), means); });
}

Result<ResourcePredictor> fit_linear(const Examples& train, const Examples&) {
  auto aggregates = std::make_shared<GraphAggregates>(aggregates_of(train));
  const Features features = feature_table(*aggregates, train);
  std::vector<Ridge> metrics;
  for (std::size_t metric = 0; metric < train.front()->used.size(); ++metric) {
    ORRERY_TRY(metrics.emplace_back(), Ridge::fit(features, column(train, metric), {}, {.l2 = 1e-3}));
  }
  return ResourcePredictor([aggregates, metrics](const Examples& examples) {
    ResourcePredictions predictions;
    for (const ResourceExample* example : examples) {
      const std::vector<float> row = aggregates->row(example->graph, example->batch);
      std::vector<double>& prediction = predictions.emplace_back();
      for (const Ridge& metric : metrics) prediction.push_back(std::max(0.0, metric.predict(row)));
    }
    return predictions;
  });
}

Result<ResourcePredictor> fit_trees(const Examples& train, const ResourceTreeOptions& options) {
  ORRERY_TRY(ResourceTrees fitted, ResourceTrees::fit(train, options));
  auto trees = std::make_shared<ResourceTrees>(std::move(fitted));
  return ResourcePredictor([trees](const Examples& examples) {
    ResourcePredictions predictions;
    for (const ResourceExample* example : examples) predictions.push_back(trees->predict(*example));
    return predictions;
  });
}

Result<ResourcePredictor> fit_network(const Examples& train, const Examples& validation, const SuiteInput& input) {
  ResourceNetworkOptions options = input.training.resource;
  options.steps = input.training.steps;
  options.seed = input.seed;
  options.threads = input.threads;
  TrainingWatch watch{.now_s = input.now_s, .seconds_max = input.training.seconds_max};
  if (input.training.progress) {
    watch.progress = [&](std::uint64_t done) { input.training.progress(done, options.steps); };
  }
  ORRERY_TRY(ResourceNetwork fitted, ResourceNetwork::fit(train, validation, options, watch));
  if (!input.training.keep.empty()) {
    ORRERY_TRY_VOID(input.files.make_directory(input.training.keep));
    ORRERY_TRY_VOID(input.files.write_atomically(input.training.keep + "/driple.network", fitted.to_bytes()));
  }
  auto network = std::make_shared<ResourceNetwork>(std::move(fitted));
  return ResourcePredictor([network](const Examples& examples) { return network->predict(examples); });
}

}  // namespace

std::vector<ResourceModelKind> resource_model_kinds(const SuiteInput& input) {
  std::vector<ResourceModelKind> kinds = {{"mean", fit_mean}, {"linear", fit_linear}};
  for (const int leaves : {12, 31}) {
    ResourceTreeOptions options;
    options.boost.leaves = leaves;
    options.boost.seed = input.seed;
    options.boost.threads = input.threads;
    kinds.push_back({"trees of " + std::to_string(leaves) + " leaves",
                     [options](const Examples& train, const Examples&) { return fit_trees(train, options); }});
  }
  if (input.training.steps == 0) return kinds;
  kinds.push_back(
      {"network",
       [&input](const Examples& train, const Examples& validation) { return fit_network(train, validation, input); },
       true});
  return kinds;
}

std::vector<NormalisedErrors> normalised_errors(const Examples& examples, const ResourcePredictions& predicted,
                                                const Examples& train) {
  std::vector<NormalisedErrors> errors;
  NormalisedErrors all;
  const std::size_t metrics = examples.front()->used.size();
  for (std::size_t metric = 0; metric < metrics; ++metric) {
    const std::vector<double> measured = column(examples, metric), known = column(train, metric);
    double squares = 0, sum = 0;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      squares += (predicted[i][metric] - measured[i]) * (predicted[i][metric] - measured[i]);
      sum += measured[i];
    }
    const auto count = static_cast<double>(measured.size());
    const double root = std::sqrt(squares / count);
    const auto [least, most] = std::minmax_element(measured.begin(), measured.end());
    const auto over = [&](double scale) { return scale > 0 ? root / scale : 0; };
    errors.push_back({over(*most - *least), over(sum / count), over(*std::max_element(known.begin(), known.end()))});
    all.range += errors.back().range / static_cast<double>(metrics);
    all.mean += errors.back().mean / static_cast<double>(metrics);
    all.max_train += errors.back().max_train / static_cast<double>(metrics);
  }
  errors.push_back(all);
  return errors;
}

}  // namespace orrery::lab
