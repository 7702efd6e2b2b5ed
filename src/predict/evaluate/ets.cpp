#include "predict/evaluate/ets.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/random.h"
#include "predict/ets/launch_model.h"
#include "predict/evaluate/ets_traces.h"
#include "predict/evaluate/habitat_rows.h"
#include "predict/learn/conformal.h"

namespace orrery::predict {

namespace {

constexpr std::string_view kSet = "ets_traces";
constexpr double kMillisecond = 1e-3;  // of a microsecond

struct Published {
  std::string_view gpu;
  double error;
};
constexpr std::string_view kPublishedBy = "ETS, final run";
constexpr double kHabitat = 0.118;
constexpr std::array kPublished = {Published{"T4", 0.0727}, Published{"RTX2080Ti", 0.0728}};

DevicePeaks peaks_of(std::string_view gpu) {
  if (gpu == "RTX2080Ti")
    return {.flops_per_microsecond = 13.4e6, .bytes_per_microsecond = 6.16e5, .multiprocessors = 68};
  return {};  // any scale will do: the model learns the rest
}

// The traces of one GPU and what they need to be learned from.
class Traces {
 public:
  static Result<Traces> read(env::Files& files, const std::string& folder, const std::string& gpu) {
    ORRERY_TRY(LaunchTraces traces, read_launch_traces(files, folder, gpu));
    return Traces(std::move(traces), gpu);
  }

  const std::string& gpu() const { return gpu_; }
  const std::vector<LaunchTrace>& all() const { return traces_.traces; }
  WorkClass class_of(std::int32_t kind) const {
    const auto found = traces_.kinds.find(kind);
    return found == traces_.kinds.end() ? WorkClass::kElementwise : work_class_of(found->second);
  }

  template <class Keep>
  Result<LaunchModel> fit(const Keep& keep, const SuiteInput& input) const {
    std::vector<const LaunchTrace*> chosen;
    for (const LaunchTrace& trace : all()) {
      if (keep(trace)) chosen.push_back(&trace);
    }
    LaunchModelOptions options;
    options.peaks = peaks_of(gpu_);
    options.seed = input.seed;
    options.threads = input.threads;
    return LaunchModel::fit(
        chosen, [this](std::int32_t kind) { return class_of(kind); }, options);
  }

 private:
  Traces(LaunchTraces traces, std::string gpu) : traces_(std::move(traces)), gpu_(std::move(gpu)) {}

  LaunchTraces traces_;
  std::string gpu_;
};

// Which traces are left out together.
using FoldOf = std::function<std::string(const LaunchTrace&)>;

FoldOf by_configuration(std::uint64_t seed) {
  return [seed](const LaunchTrace& trace) { return std::to_string(configuration_fold(trace, seed)); };
}
std::string by_family(const LaunchTrace& trace) {
  return trace.family;
}

std::set<std::string> folds_of(const Traces& traces, const FoldOf& fold_of) {
  std::set<std::string> folds;
  for (const LaunchTrace& trace : traces.all()) folds.insert(fold_of(trace));
  return folds;
}

struct Outcome {
  const LaunchTrace* trace;
  std::string fold;
  double predicted = 0;
  bool in_domain = true;
};

Outcome outcome_of(const LaunchModel& model, const LaunchTrace& trace, const std::string& fold) {
  const LaunchPrediction prediction = model.predict(trace);
  return {&trace, fold, prediction.times.iteration, prediction.in_domain()};
}

// Predictions of every trace by a model that saw nothing of its fold.
Result<std::vector<Outcome>> predict_left_out(const Traces& traces, const FoldOf& fold_of, const SuiteInput& input) {
  std::vector<Outcome> outcomes;
  for (const std::string& fold : folds_of(traces, fold_of)) {
    ORRERY_TRY(const LaunchModel model,
               traces.fit([&](const LaunchTrace& trace) { return fold_of(trace) != fold; }, input));
    for (const LaunchTrace& trace : traces.all()) {
      if (fold_of(trace) == fold) outcomes.push_back(outcome_of(model, trace, fold));
    }
  }
  return outcomes;
}

// The interval of an outcome from the others' errors: those outside its own fold.
Result<Conformal> calibration(const std::vector<Outcome>& outcomes, const std::string& without_fold) {
  std::vector<CalibrationPair> pairs;
  for (const Outcome& outcome : outcomes) {
    if (outcome.trace->overlaps || outcome.fold == without_fold) continue;
    pairs.push_back({outcome.predicted, outcome.trace->iteration});
  }
  return Conformal::fit(pairs);
}

Case case_of(const Outcome& outcome, const Conformal& conformal, const std::string& group) {
  const Interval interval = conformal.interval(outcome.predicted, "");
  return {.group = outcome.trace->overlaps ? group + ", overlapping" : group,
          .measured = outcome.trace->iteration * kMillisecond,
          .predicted = outcome.predicted * kMillisecond,
          .low = interval.low * kMillisecond,
          .high = interval.high * kMillisecond,
          .in_domain = outcome.in_domain};
}

void note_domain(SuiteReport& report, const std::vector<Case>& cases, const std::string& gpu) {
  std::size_t inside = 0;
  for (const Case& one : cases) inside += one.in_domain ? 1 : 0;
  report.notes.push_back(
      fmt::format("{}: {} of {} cases were in the domain of what was learned", gpu, inside, cases.size()));
}

enum class Groups { kDevice, kFamily };

std::string group_name(const LaunchTrace& trace, Groups groups) {
  return groups == Groups::kDevice ? trace.gpu : fmt::format("{} {}", trace.gpu, trace.family);
}

Result<std::vector<Case>> cross_validate(const Traces& traces, const FoldOf& fold_of, Groups groups,
                                         const SuiteInput& input) {
  ORRERY_TRY(const std::vector<Outcome> outcomes, predict_left_out(traces, fold_of, input));
  std::vector<Case> cases;
  for (const std::string& fold : folds_of(traces, fold_of)) {
    ORRERY_TRY(const Conformal conformal, calibration(outcomes, fold));
    for (const Outcome& outcome : outcomes) {
      if (outcome.fold == fold) cases.push_back(case_of(outcome, conformal, group_name(*outcome.trace, groups)));
    }
  }
  return cases;
}

Result<std::vector<Case>> score_test(const Traces& train, const Traces& test, const FoldOf& fold_of, Groups groups,
                                     const SuiteInput& input) {
  ORRERY_TRY(const std::vector<Outcome> left_out, predict_left_out(train, fold_of, input));
  ORRERY_TRY(const Conformal conformal, calibration(left_out, "none of the folds"));
  std::map<std::string, std::vector<const LaunchTrace*>> tests;  // by the family that must not be learned from
  const std::set<std::string> families = folds_of(train, by_family);
  for (const LaunchTrace& trace : test.all()) {
    const bool leaves_out = groups == Groups::kFamily && families.contains(trace.family);
    tests[leaves_out ? trace.family : ""].push_back(&trace);
  }
  std::vector<Case> cases;
  for (const auto& entry : tests) {
    const std::string& family = entry.first;
    ORRERY_TRY(const LaunchModel model,
               train.fit([&](const LaunchTrace& trace) { return trace.family != family; }, input));
    for (const LaunchTrace* trace : entry.second) {
      cases.push_back(case_of(outcome_of(model, *trace, ""), conformal, group_name(*trace, groups)));
    }
  }
  return cases;
}

Result<SuiteReport> evaluate(const SuiteInput& input, const std::string& name, const FoldOf& fold_of, Groups groups) {
  const double start = input.now_s();
  SuiteReport report{.suite = name, .seed = input.seed};
  const std::string folder = training_folder(input, kSet);
  ORRERY_TRY(const std::vector<std::string> gpus, gpus_of(input.files, folder));
  for (const std::string& gpu : gpus) {
    const double begin = input.now_s();
    ORRERY_TRY(const Traces train, Traces::read(input.files, folder, gpu));
    std::vector<Case> cases;
    if (input.test.empty()) {
      ORRERY_TRY(cases, cross_validate(train, fold_of, groups, input));
    } else {
      ORRERY_TRY(const std::vector<std::string> tested, gpus_of(input.files, input.test));
      if (std::find(tested.begin(), tested.end(), gpu) == tested.end()) {
        report.notes.push_back(fmt::format("{}: not in {}", gpu, input.test));
        continue;
      }
      ORRERY_TRY(const Traces test, Traces::read(input.files, input.test, gpu));
      ORRERY_TRY(cases, score_test(train, test, fold_of, groups, input));
    }
    if (groups == Groups::kFamily) {
      std::vector<Case> whole = cases;
      for (Case& one : whole) one.group = one.group.ends_with("overlapping") ? gpu + ", overlapping" : gpu;
      report.add(whole, input.now_s() - begin);
    }
    report.add(cases, input.now_s() - begin);
    note_domain(report, cases, gpu);
  }
  for (const Published& published : kPublished) {
    if (groups == Groups::kDevice) report.publish(published.gpu, published.error, std::string(kPublishedBy));
  }
  report.notes.push_back(fmt::format("{} s in all", static_cast<int>(input.now_s() - start)));
  return report;
}

// The same whatever the GPU.
std::string configuration(const LaunchTrace& trace) {
  return fmt::format("{} {} {}", trace.model, trace.batch, trace.image);
}

// ets-p3: from one GPU's measured trace to the other's time.
struct Direction {
  const Traces* from;
  const Traces* to;
  std::vector<Outcome> outcomes{};
  std::string name() const { return fmt::format("{} to {}", from->gpu(), to->gpu()); }
};

// What `source` finds odd in traces that `keeps`, `target` is told.
template <class Keep>
void transfer(Direction& direction, const LaunchModel& source, const LaunchModel& target, const Keep& keeps,
              const std::string& fold) {
  std::map<std::string, const LaunchTrace*> targets;
  for (const LaunchTrace& trace : direction.to->all()) targets[configuration(trace)] = &trace;
  for (const LaunchTrace& trace : direction.from->all()) {
    const auto found = targets.find(configuration(trace));
    if (trace.overlaps || found == targets.end() || found->second->overlaps || !keeps(trace)) continue;
    const LaunchResiduals residuals = source.residuals(trace);
    const LaunchPrediction prediction = target.predict(trace, &residuals);
    direction.outcomes.push_back({found->second, fold, prediction.times.iteration, prediction.in_domain()});
  }
}

// Learned from two GPUs' traces in one folder, scored on those of another; intervals from `left_out`, what the same
// directions gave inside the first.
Status score_transfer(const std::array<const Traces*, 2>& train, const std::array<const Traces*, 2>& test,
                      const std::array<Direction, 2>& left_out, const SuiteInput& input, SuiteReport& report) {
  const auto everything = [](const LaunchTrace&) { return true; };
  ORRERY_TRY(const LaunchModel first, train[0]->fit(everything, input));
  ORRERY_TRY(const LaunchModel second, train[1]->fit(everything, input));
  for (std::size_t i = 0; i < 2; ++i) {
    const double begin = input.now_s();
    Direction direction{test[i], test[1 - i]};
    transfer(direction, i == 0 ? first : second, i == 0 ? second : first, everything, "");
    ORRERY_TRY(const Conformal conformal, calibration(left_out[i].outcomes, "none of the folds"));
    std::vector<Case> cases;
    for (const Outcome& outcome : direction.outcomes) cases.push_back(case_of(outcome, conformal, direction.name()));
    report.add(cases, input.now_s() - begin);
    report.publish(direction.name(), kHabitat, "Habitat");
  }
  return {};
}

Result<std::array<Direction, 2>> evaluate_transfer(const Traces& one, const Traces& other, const FoldOf& fold_of,
                                                   const std::string& kind, const SuiteInput& input,
                                                   SuiteReport& report) {
  const double begin = input.now_s();
  Direction there{&one, &other}, back{&other, &one};
  const std::set<std::string> folds = folds_of(one, fold_of);
  for (const std::string& fold : folds) {
    const auto keeps = [&](const LaunchTrace& trace) { return fold_of(trace) != fold; };
    ORRERY_TRY(const LaunchModel model_of_one, one.fit(keeps, input));
    ORRERY_TRY(const LaunchModel model_of_other, other.fit(keeps, input));
    const auto is_left_out = [&](const LaunchTrace& trace) { return !keeps(trace); };
    transfer(there, model_of_one, model_of_other, is_left_out, fold);
    transfer(back, model_of_other, model_of_one, is_left_out, fold);
  }
  std::array<Direction, 2> directions = {std::move(there), std::move(back)};
  for (const Direction& direction : directions) {
    const std::string group = fmt::format("{}, {}", direction.name(), kind);
    std::vector<Case> cases;
    for (const std::string& fold : folds) {
      ORRERY_TRY(const Conformal conformal, calibration(direction.outcomes, fold));
      for (const Outcome& outcome : direction.outcomes) {
        if (outcome.fold == fold) cases.push_back(case_of(outcome, conformal, group));
      }
    }
    report.add(cases, input.now_s() - begin);
    report.publish(group, kHabitat, "Habitat");
  }
  return directions;
}

}  // namespace

Result<SuiteReport> evaluate_ets_configurations(const SuiteInput& input) {
  return evaluate(input, "ets-p1", by_configuration(input.seed), Groups::kDevice);
}

Result<SuiteReport> evaluate_ets_families(const SuiteInput& input) {
  return evaluate(input, "ets-p2", by_family, Groups::kFamily);
}

Result<SuiteReport> evaluate_ets_devices(const SuiteInput& input) {
  SuiteReport report{.suite = "ets-p3", .seed = input.seed};
  const std::string folder = training_folder(input, kSet);
  ORRERY_TRY(const std::vector<std::string> gpus, gpus_of(input.files, folder));
  std::vector<Traces> traces;
  for (const std::string& gpu : gpus) {
    ORRERY_TRY(Traces one, Traces::read(input.files, folder, gpu));
    traces.push_back(std::move(one));
  }
  const FoldOf by_name = [seed = input.seed](const LaunchTrace& trace) {
    return std::to_string(Random(seed).split(configuration(trace)).below(kConfigurationFolds));
  };
  for (std::size_t i = 0; i < traces.size(); ++i) {
    for (std::size_t j = i + 1; j < traces.size(); ++j) {
      ORRERY_TRY(const auto left_out,
                 evaluate_transfer(traces[i], traces[j], by_name, "configurations", input, report));
      if (input.rivals && input.test.empty()) {
        ORRERY_TRY_VOID(add_habitat(
            {traces[i].all(), traces[j].all(), [&](std::int32_t kind) { return traces[i].class_of(kind); }, by_name},
            input, report));
      }
      if (input.test.empty()) {
        ORRERY_TRY(const auto ignored, evaluate_transfer(traces[i], traces[j], by_family, "families", input, report));
        continue;
      }
      ORRERY_TRY(const Traces test_of_one, Traces::read(input.files, input.test, traces[i].gpu()));
      ORRERY_TRY(const Traces test_of_other, Traces::read(input.files, input.test, traces[j].gpu()));
      report = SuiteReport{.suite = report.suite, .seed = report.seed};
      ORRERY_TRY_VOID(
          score_transfer({&traces[i], &traces[j]}, {&test_of_one, &test_of_other}, left_out, input, report));
    }
  }
  return report;
}

}  // namespace orrery::predict
