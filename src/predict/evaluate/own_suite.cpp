#include "predict/evaluate/own_suite.h"

#include <cmath>
#include <fmt/format.h>
#include <set>

#include "base/random.h"
#include "base/statistics.h"
#include "predict/evaluate/left_out.h"
#include "predict/measured/measured_dataset.h"

namespace orrery::predict {

namespace {

constexpr std::uint64_t kFolds = 5;
constexpr double kMillisecond = 1e3;  // per second

using FoldOf = std::function<std::string(const DatasetIteration&)>;

std::string kind_of(const DatasetIteration& one) {
  return one.family == "randwire" ? "RandWire" : "families";
}

// Totals of a graph, for the rival that sees nothing else.
std::vector<float> totals_of(const workload::TrainingRun& run) {
  const StepFeatures features(run);
  double prior = 0, flops = 0, bytes = 0;
  for (std::size_t step = 0; step < features.steps().size(); ++step) {
    const auto cost = workload::operator_cost(run.graph, features.steps()[step], run.cost_options());
    prior += features.prior(step);
    flops += cost.flops().value();
    bytes += cost.bytes().value();
  }
  return {static_cast<float>(std::log(prior)),
          static_cast<float>(std::log(flops + 1)),
          static_cast<float>(std::log(bytes + 1)),
          static_cast<float>(features.steps().size()),
          static_cast<float>(run.graph.operators().size()),
          static_cast<float>(std::log(static_cast<double>(run.graph.parameter_count()) + 1)),
          static_cast<float>(run.graph.batch()),
          static_cast<float>(run.optimizer)};
}

struct Predicted {
  double ours = 0, totals = 0, prior = 0;  // seconds
  bool in_domain = true;
};

struct Rivals {
  BoostedTrees totals;
  double factor = 1;
};

Result<Rivals> fit_rivals(const std::vector<const DatasetIteration*>& train, const BoostOptions& options) {
  Features features({"prior", "flops", "bytes", "steps", "operators", "parameters", "batch", "optimizer"});
  std::vector<double> targets, ratios;
  for (const DatasetIteration* one : train) {
    const std::vector<float> totals = totals_of(one->steps.run);
    features.add(totals);
    targets.push_back(std::log(one->steps.iteration));
    ratios.push_back(one->steps.iteration / std::exp(totals.front()));
  }
  Rivals rivals;
  ORRERY_TRY(rivals.totals, BoostedTrees::fit(features, targets, {}, options));
  rivals.factor = median(ratios);
  return rivals;
}

Result<std::vector<Predicted>> predict_left_out(const std::vector<DatasetIteration>& all, const FoldOf& fold_of,
                                                const BoostOptions& options) {
  std::set<std::string> folds;
  for (const DatasetIteration& one : all) folds.insert(fold_of(one));
  std::vector<Predicted> predicted(all.size());
  for (const std::string& fold : folds) {
    std::vector<const DatasetIteration*> train;
    std::vector<const MeasuredSteps*> steps;
    for (const DatasetIteration& one : all) {
      if (fold_of(one) == fold || one.is_noisy) continue;
      train.push_back(&one);
      steps.push_back(&one.steps);
    }
    ORRERY_TRY(const StepModel model, StepModel::fit(steps, StepScale{}, options));
    ORRERY_TRY(const Rivals rivals, fit_rivals(train, options));
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (fold_of(all[i]) != fold) continue;
      const StepTimes times = model.predict(all[i].steps.run);
      const std::vector<float> totals = totals_of(all[i].steps.run);
      predicted[i] = {times.iteration, std::exp(rivals.totals.predict(totals)),
                      rivals.factor * std::exp(totals.front()), times.in_domain()};
    }
  }
  return predicted;
}

LeftOut left_out_of(const DatasetIteration& one, double predicted, bool in_domain, const std::string& group,
                    const std::string& fold = {}) {
  LeftOut left_out;
  left_out.one = {.group = group,
                  .measured = one.steps.iteration * kMillisecond,
                  .predicted = predicted * kMillisecond,
                  .in_domain = in_domain};
  left_out.fold = fold;
  left_out.kind = kind_of(one);
  return left_out;
}

using GroupOf = std::function<std::string(const DatasetIteration&)>;

std::vector<LeftOut> left_out_of(const std::vector<DatasetIteration>& all, const std::vector<Predicted>& predicted,
                                 const FoldOf& fold_of, double Predicted::*which, const GroupOf& group_of) {
  std::vector<LeftOut> left_out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    left_out.push_back(
        left_out_of(all[i], predicted[i].*which, predicted[i].in_domain, group_of(all[i]), fold_of(all[i])));
  }
  return left_out;
}

// Learned from all of `train`, scored on another data set of the same machine.
Result<std::vector<Case>> score_test(const std::vector<DatasetIteration>& train, const std::vector<LeftOut>& left_out,
                                     const SuiteInput& input, const BoostOptions& options) {
  ORRERY_TRY(const profile::Dataset dataset, profile::read_dataset(input.files, input.test));
  ORRERY_TRY(const MeasuredSet set, measured_set(dataset));
  std::vector<const MeasuredSteps*> steps;
  for (const DatasetIteration& one : train) {
    if (!one.is_noisy) steps.push_back(&one.steps);
  }
  ORRERY_TRY(const StepModel model, StepModel::fit(steps, StepScale{}, options));
  ORRERY_TRY(const Conformal conformal, calibrate(left_out));
  std::vector<Case> cases;
  for (const DatasetIteration& one : set.iterations) {
    const StepTimes times = model.predict(one.steps.run);
    const LeftOut tested = left_out_of(one, times.iteration, times.in_domain(), "test, " + kind_of(one));
    cases.push_back(with_interval(tested.one, conformal, tested.kind));
  }
  return cases;
}

}  // namespace

Result<SuiteReport> run_own_suite(const SuiteInput& input) {
  if (input.train.empty())
    return Error::invalid("give a data set: --train FILE (`orrery dataset build FILE` makes one)");
  ORRERY_TRY(const profile::Dataset dataset, profile::read_dataset(input.files, input.train));
  ORRERY_TRY(const MeasuredSet set, measured_set(dataset));
  const std::vector<DatasetIteration>& all = set.iterations;
  SuiteReport report{.suite = "own", .seed = input.seed};
  const BoostOptions options = step_boost_options(input.seed, input.threads);
  const FoldOf at_random = [&](const DatasetIteration& one) {
    return std::to_string(Random(input.seed).split(one.key).below(kFolds));
  };
  const FoldOf by_family = [](const DatasetIteration& one) { return one.family; };
  double begin = input.now_s();
  ORRERY_TRY(const std::vector<Predicted> predicted, predict_left_out(all, at_random, options));
  const auto add = [&](const std::vector<Predicted>& what, const FoldOf& folds, double Predicted::*which,
                       const GroupOf& group) -> Status {
    ORRERY_TRY(const std::vector<Case> cases, calibrated_cases(left_out_of(all, what, folds, which, group)));
    report.add(cases, input.now_s() - begin);
    return {};
  };
  ORRERY_TRY_VOID(
      add(predicted, at_random, &Predicted::ours, [](const DatasetIteration&) { return std::string("overall"); }));
  ORRERY_TRY_VOID(add(predicted, at_random, &Predicted::ours, kind_of));
  ORRERY_TRY_VOID(add(predicted, at_random, &Predicted::ours, [](const DatasetIteration& one) {
    const std::size_t count = one.steps.run.graph.operators().size();
    return std::string(count < 50    ? "under 50 operators"
                       : count < 150 ? "50 to 149 operators"
                                     : "150 operators and more");
  }));
  ORRERY_TRY_VOID(add(predicted, at_random, &Predicted::totals,
                      [](const DatasetIteration& one) { return kind_of(one) + ", trees on graph totals"; }));
  ORRERY_TRY_VOID(add(predicted, at_random, &Predicted::prior,
                      [](const DatasetIteration& one) { return kind_of(one) + ", roofline scaled"; }));
  begin = input.now_s();
  ORRERY_TRY(const std::vector<Predicted> unseen, predict_left_out(all, by_family, options));
  ORRERY_TRY_VOID(add(unseen, by_family, &Predicted::ours,
                      [](const DatasetIteration&) { return std::string("families never seen"); }));
  if (!input.test.empty()) {
    begin = input.now_s();
    ORRERY_TRY(const std::vector<Case> cases,
               score_test(all, left_out_of(all, predicted, at_random, &Predicted::ours, kind_of), input, options));
    report.add(cases, input.now_s() - begin);
  }
  report.publish("overall", 0.059, "ETS, on GPUs");
  report.publish("families", 0.054, "ETS, on GPUs");
  report.publish("RandWire", 0.068, "ETS, on GPUs");
  std::size_t inside = 0, inside_unseen = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    inside += predicted[i].in_domain ? 1 : 0;
    inside_unseen += unseen[i].in_domain ? 1 : 0;
  }
  report.notes.push_back(
      fmt::format("in the domain of what was learned: {} of {} configurations, {} of {} when their "
                  "family was never seen",
                  inside, all.size(), inside_unseen, all.size()));
  return report;
}

}  // namespace orrery::predict
