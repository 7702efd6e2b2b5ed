#include "lab/evaluate/own_suite.h"

#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <set>

#include "base/parallel.h"
#include "base/random.h"
#include "base/statistics.h"
#include "base/text.h"
#include "lab/baselines/graph_attention.h"
#include "lab/baselines/graph_totals.h"
#include "lab/baselines/operator_mlp.h"
#include "lab/evaluate/left_out.h"
#include "predict/measured/counted_times.h"
#include "predict/measured/measured_dataset.h"

namespace orrery::lab {

namespace {

constexpr double kMillisecond = 1e3;                              // per second
constexpr std::string_view kShippedDataset = "data/cpu.dataset";  // in the source tree

using FoldOf = std::function<std::string(const DatasetIteration&)>;

std::string kind_of(const DatasetIteration& one) {
  return one.family == "randwire" ? "RandWire" : "families";
}

constexpr std::uint64_t kNetworkSteps = 2000, kAttentionSteps = 1000;

double prior_of(const workload::TrainingRun& run) {
  const StepFeatures features(run);
  double prior = 0;
  for (std::size_t step = 0; step < features.steps().size(); ++step) prior += features.prior(step);
  return prior;
}

// What the data set was measured on.
const hardware::Device& processor() {
  return *hardware::find_device_or_null("CPU");
}

double sum_of(const CountedTimes& times) {
  return std::accumulate(times.seconds.begin(), times.seconds.end(), 0.0);
}

struct Predicted {
  double ours = 0, totals = 0, prior = 0;            // seconds
  double habitat = 0, layer_mlp = 0, attention = 0;  // with --baselines
  bool in_domain = true;
};

using Train = std::vector<const DatasetIteration*>;

// How many times longer than its prior an iteration takes.
double factor_of(const Train& train) {
  std::vector<double> ratios;
  for (const DatasetIteration* one : train) ratios.push_back(one->steps.iteration / prior_of(one->steps.run));
  return median(ratios);
}

// Learns with `fit(train)` and predicts the iterations for which `is_left_out`.
template <class Fit, class IsLeftOut>
Status predict_baseline(const Fit& fit, const Train& train, const std::vector<DatasetIteration>& all,
                        const IsLeftOut& is_left_out, double Predicted::*which, std::vector<Predicted>& predicted) {
  ORRERY_TRY(const auto baseline, fit(train));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_left_out(all[i])) continue;
    ORRERY_TRY(predicted[i].*which, baseline.predict(all[i].steps.run));
  }
  return {};
}

// The networks of others, each on its own thread if there are so many.
template <class IsLeftOut>
Status predict_networks(const Train& train, const std::vector<DatasetIteration>& all, const IsLeftOut& is_left_out,
                        const BoostOptions& options, std::vector<Predicted>& predicted) {
  const auto mlp = [&](OperatorMlpForm form) {
    return [&options, form](const Train& from) { return OperatorMlp::fit(from, form, kNetworkSteps, options.seed); };
  };
  const auto attention = [&](const Train& from) { return GraphAttention::fit(from, kAttentionSteps, options.seed); };
  const std::function<Status()> baselines[] = {
      [&] {
        return predict_baseline(mlp(OperatorMlpForm::kHabitat), train, all, is_left_out, &Predicted::habitat,
                                predicted);
      },
      [&] { return predict_baseline(attention, train, all, is_left_out, &Predicted::attention, predicted); },
      [&] {
        return predict_baseline(mlp(OperatorMlpForm::kJustus), train, all, is_left_out, &Predicted::layer_mlp,
                                predicted);
      }};
  std::vector<Status> done(std::size(baselines));
  run_parallel(done.size(), options.threads, [&](std::size_t i) { done[i] = baselines[i](); });
  for (Status& status : done) ORRERY_TRY_VOID(std::move(status));
  return {};
}

enum class Networks { kNo, kYes };

Result<std::vector<Predicted>> predict_left_out(const std::vector<DatasetIteration>& all, const FoldOf& fold_of,
                                                const BoostOptions& options, Networks networks,
                                                const SuiteInput& input) {
  std::set<std::string> folds;
  for (const DatasetIteration& one : all) folds.insert(fold_of(one));
  std::vector<Predicted> predicted(all.size());
  for (const std::string& fold : folds) {
    Train train;
    std::vector<const MeasuredSteps*> steps;
    for (const DatasetIteration& one : all) {
      if (fold_of(one) == fold || one.is_noisy) continue;
      train.push_back(&one);
      steps.push_back(&one.steps);
    }
    const auto is_left_out = [&](const DatasetIteration& one) { return fold_of(one) == fold; };
    ORRERY_TRY(const StepModel model, StepModel::fit(steps, StepScale{}, options));
    ORRERY_TRY(const GraphTotals totals, GraphTotals::fit(train, options));
    input.report_fit();
    const double factor = factor_of(train);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!is_left_out(all[i])) continue;
      const CountedTimes times = counted_times(model, all[i].steps.run, processor());
      predicted[i].ours = sum_of(times);
      predicted[i].totals = totals.predict(all[i].steps.run);
      predicted[i].prior = factor * prior_of(all[i].steps.run);
      predicted[i].in_domain = times.in_domain();
    }
    if (networks == Networks::kYes) {
      ORRERY_TRY_VOID(predict_networks(train, all, is_left_out, options, predicted));
    }
  }
  return predicted;
}

LeftOut left_out_of(const DatasetIteration& one, double predicted, std::optional<bool> in_domain,
                    const std::string& group, const std::string& fold = {}) {
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
    std::optional<bool> in_domain;  // baselines cannot tell
    if (which == &Predicted::ours) in_domain = predicted[i].in_domain;
    left_out.push_back(left_out_of(all[i], predicted[i].*which, in_domain, group_of(all[i]), fold_of(all[i])));
  }
  return left_out;
}

// Learned from all of `train`, scored on another data set of the same machine.
Result<std::vector<Case>> score_test(const std::vector<DatasetIteration>& train, const std::vector<LeftOut>& left_out,
                                     const SuiteInput& input, const BoostOptions& options) {
  ORRERY_TRY(const profile::Dataset dataset, profile::read_dataset(input.files, input.test));
  ORRERY_TRY(const MeasuredSet set, measured_set(dataset));
  ORRERY_TRY(const StepModel model, StepModel::fit(undisturbed_steps(train), StepScale{}, options));
  ORRERY_TRY(const Conformal conformal, calibrate(left_out));
  std::vector<Case> cases;
  for (const DatasetIteration& one : set.iterations) {
    const CountedTimes times = counted_times(model, one.steps.run, processor());
    const LeftOut tested = left_out_of(one, sum_of(times), times.in_domain(), "test, " + kind_of(one));
    cases.push_back(with_interval(tested.one, conformal, tested.kind));
  }
  return cases;
}

}  // namespace

Result<SuiteReport> run_own_suite(const SuiteInput& input) {
  const std::string path = input.train.empty() ? std::string(kShippedDataset) : input.train;
  if (!input.files.exists(path)) {
    return Error::not_found(
        fmt::format("no data set {}; give one: --train FILE (`orrery dataset build FILE` makes one)", quote(path)));
  }
  ORRERY_TRY(const profile::Dataset dataset, profile::read_dataset(input.files, path));
  ORRERY_TRY(const MeasuredSet set, measured_set(dataset));
  const std::vector<DatasetIteration>& all = set.iterations;
  SuiteReport report{.suite = "own", .seed = input.seed};
  const BoostOptions options = step_boost_options(input.seed, input.threads);
  const FoldOf at_random = [&](const DatasetIteration& one) { return random_fold(one.key, input.seed); };
  const FoldOf by_family = [](const DatasetIteration& one) { return one.family; };
  double begin = input.now_s();
  ORRERY_TRY(const std::vector<Predicted> predicted,
             predict_left_out(all, at_random, options, input.baselines ? Networks::kYes : Networks::kNo, input));
  const auto add = [&](const std::vector<Predicted>& what, const FoldOf& folds, double Predicted::*which,
                       const GroupOf& group, Folds unlike = Folds::kAlike) -> Status {
    ORRERY_TRY(const std::vector<Case> cases, calibrated_cases(left_out_of(all, what, folds, which, group), unlike));
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
  if (input.baselines) {
    ORRERY_TRY_VOID(add(predicted, at_random, &Predicted::habitat,
                        [](const DatasetIteration& one) { return kind_of(one) + ", operator MLP (Habitat)"; }));
    ORRERY_TRY_VOID(add(predicted, at_random, &Predicted::layer_mlp,
                        [](const DatasetIteration& one) { return kind_of(one) + ", layer MLP (Justus)"; }));
    ORRERY_TRY_VOID(add(predicted, at_random, &Predicted::attention,
                        [](const DatasetIteration& one) { return kind_of(one) + ", graph attention (DNNPerf)"; }));
  }
  begin = input.now_s();
  ORRERY_TRY(const std::vector<Predicted> unseen, predict_left_out(all, by_family, options, Networks::kNo, input));
  ORRERY_TRY_VOID(add(
      unseen, by_family, &Predicted::ours, [](const DatasetIteration&) { return std::string("families never seen"); },
      Folds::kUnlike));
  ORRERY_TRY_VOID(
      add(predicted, at_random, &Predicted::ours, [](const DatasetIteration& one) { return "family " + one.family; }));
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
  const auto share_outside = [&](std::size_t within) {
    return 100 * (1 - static_cast<double>(within) / static_cast<double>(all.size()));
  };
  report.notes.push_back(
      fmt::format("flagged as outside what was learned: {:.1f} % of configurations of known families, {:.1f} % when "
                  "their family was "
                  "never seen",
                  share_outside(inside), share_outside(inside_unseen)));
  return report;
}

}  // namespace orrery::lab
