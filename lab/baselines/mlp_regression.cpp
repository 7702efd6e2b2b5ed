#include "lab/baselines/mlp_regression.h"

#include <fmt/format.h>

namespace orrery::lab {

namespace {

constexpr std::size_t kRowsAtOnce = 4096;

void add_row(const Features& features, std::size_t row, const StandardScore& scores, NetworkBatch& batch) {
  const std::size_t at = batch.inputs.size();
  const auto values = features.row(row);
  batch.inputs.insert(batch.inputs.end(), values.begin(), values.end());
  scores.to_scores(std::span(batch.inputs).subspan(at));
}

}  // namespace

Result<MlpRegression> MlpRegression::fit(const Features& features, std::span<const double> targets,
                                         const MlpOptions& options) {
  if (targets.size() != features.rows()) {
    return Error::invalid(fmt::format("{} targets for {} rows", targets.size(), features.rows()));
  }
  StandardScore scores(features.columns());
  for (std::size_t row = 0; row < features.rows(); ++row) scores.add(features.row(row));
  ORRERY_TRY_VOID(scores.settle());
  StandardScore target(1);
  if (!options.is_positive) {
    for (const double value : targets) target.add(std::array{static_cast<float>(value)});
    ORRERY_TRY_VOID(target.settle());
  }
  NetworkOptions network_options;
  network_options.structure = Structure::kMlp;
  network_options.inputs = static_cast<std::int32_t>(features.columns());
  network_options.widths = options.widths;
  network_options.dropout = options.dropout;
  network_options.is_positive = options.is_positive;
  network_options.loss = options.loss;
  network_options.adam_epsilon = options.adam_epsilon;
  network_options.weight_decay = options.weight_decay;
  network_options.seed = options.plan.seed;
  ORRERY_TRY(std::unique_ptr<Network> network, make_network(network_options));
  const FillBatch fill = [&](std::span<const std::uint32_t> examples, NetworkBatch& batch) {
    for (const std::uint32_t row : examples) {
      add_row(features, row, scores, batch);
      batch.targets.push_back(target.score(static_cast<float>(targets[row]), 0));
    }
  };
  ORRERY_TRY_VOID(train(*network, features.rows(), fill, options.plan, {}));
  return MlpRegression(std::move(scores), std::move(target), std::move(network));
}

Result<std::vector<double>> MlpRegression::predict(const Features& features) const {
  std::vector<double> predicted;
  NetworkBatch batch;
  for (std::size_t begin = 0; begin < features.rows(); begin += kRowsAtOnce) {
    batch.clear();
    const std::size_t end = std::min(features.rows(), begin + kRowsAtOnce);
    for (std::size_t row = begin; row < end; ++row) add_row(features, row, scores_, batch);
    ORRERY_TRY(const std::vector<float> answers, network_->predict(batch));
    for (const float answer : answers) predicted.push_back(target_.value(answer, 0));
  }
  return predicted;
}

}  // namespace orrery::lab
