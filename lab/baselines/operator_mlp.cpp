#include "lab/baselines/operator_mlp.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "lab/baselines/operator_kinds.h"

namespace orrery::lab {

namespace {

constexpr double kShortestMs = 1e-4;
constexpr double kMillisecond = 1e3;  // per second
constexpr std::size_t kKinds = kOperatorKinds;
constexpr std::size_t kPhases = 3;

std::vector<std::string> names() {
  std::vector<std::string> all = StepFeatures::operator_size_names();
  all.emplace_back("optimizer");
  for (std::size_t phase = 0; phase < kPhases; ++phase) all.push_back(fmt::format("phase_{}", phase));
  for (std::size_t kind = 0; kind < kKinds; ++kind) all.push_back(fmt::format("kind_{}", kind));
  return all;
}

void add_steps(const workload::TrainingRun& run, std::span<const double> seconds, Features& features,
               std::vector<double>& times) {
  const StepFeatures steps(run);
  std::vector<float> row;
  for (std::size_t step = 0; step < steps.steps().size(); ++step) {
    if (!seconds.empty() && !(seconds[step] > 0)) continue;
    steps.operator_sizes(step, row);
    row.push_back(static_cast<float>(run.optimizer));
    const std::size_t one_hot = row.size();
    row.resize(one_hot + kPhases + kKinds);
    row[one_hot + static_cast<std::size_t>(steps.steps()[step].phase)] = 1;
    row[one_hot + kPhases + static_cast<std::size_t>(run.graph[steps.steps()[step].op].kind)] = 1;
    features.add(row);
    if (!seconds.empty()) times.push_back(seconds[step] * kMillisecond);
  }
}

}  // namespace

MlpOptions mlp_options(OperatorMlpForm form, std::uint64_t steps, std::uint64_t seed) {
  MlpOptions options;
  options.plan = {
      .steps = steps, .batch = 512, .learning_rate = 5e-4, .schedule = LearningRate::kFalling, .seed = seed};
  if (form == OperatorMlpForm::kHabitat) {
    options.widths.assign(8, 128);
    options.weight_decay = 1e-4;
    return options;
  }
  options.widths = {32, 64, 128, 128};
  options.dropout = 0.2;
  options.is_positive = true;
  options.loss = Loss::kMse;
  options.adam_epsilon = 0.1;
  options.weight_decay = 1e-5;
  options.plan.batch = 128;
  options.plan.learning_rate = 0.1;
  return options;
}

double mlp_target(OperatorMlpForm form, double milliseconds) {
  return form == OperatorMlpForm::kHabitat ? std::log(std::max(milliseconds, kShortestMs)) : std::log1p(milliseconds);
}

double mlp_time(OperatorMlpForm form, double target) {
  return form == OperatorMlpForm::kHabitat ? std::exp(target) : std::expm1(std::max(target, 0.0));
}

Result<OperatorMlp> OperatorMlp::fit(std::span<const DatasetIteration* const> train, OperatorMlpForm form,
                                     std::uint64_t steps, std::uint64_t seed) {
  Features features(names());
  std::vector<double> targets;
  for (const DatasetIteration* one : train) add_steps(one->steps.run, one->steps.seconds, features, targets);
  for (double& target : targets) target = mlp_target(form, target);
  ORRERY_TRY(MlpRegression network, MlpRegression::fit(features, targets, mlp_options(form, steps, seed)));
  return OperatorMlp(form, std::move(network));
}

Result<double> OperatorMlp::predict(const workload::TrainingRun& run) const {
  Features features(names());
  std::vector<double> ignored;
  add_steps(run, {}, features, ignored);
  ORRERY_TRY(const std::vector<double> targets, network_.predict(features));
  double sum = 0;
  for (const double target : targets) sum += mlp_time(form_, target) / kMillisecond;
  return sum;
}

}  // namespace orrery::lab
