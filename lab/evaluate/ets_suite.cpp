#include "lab/evaluate/ets_suite.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/random.h"
#include "lab/evaluate/habitat_rows.h"
#include "lab/evaluate/left_out.h"
#include "lab/methods/launch_model.h"
#include "predict/readers/ets_traces.h"

namespace orrery::lab {

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

// The traces of one GPU and what they need to be learned from.
class Traces {
 public:
  static Result<Traces> read(env::Files& files, const std::string& folder, const std::string& gpu) {
    ORRERY_TRY(LaunchTraces traces, read_launch_traces(files, folder, gpu));
    return Traces(std::move(traces), gpu);
  }

  const std::string& gpu() const { return gpu_; }
  const std::vector<LaunchTrace>& all() const { return traces_.traces; }
  WorkClass class_of(std::int32_t kind) const { return traces_.class_of(kind); }

  template <class Keep>
  Result<LaunchModel> fit(const Keep& keep, const SuiteInput& input,
                          std::span<const LaunchTrace* const> asked = {}) const {
    std::vector<const LaunchTrace*> chosen;
    for (const LaunchTrace& trace : all()) {
      if (keep(trace)) chosen.push_back(&trace);
    }
    LaunchModelOptions options;
    options.peaks = peaks_of(gpu_);
    options.seed = input.seed;
    options.threads = input.threads;
    auto model = LaunchModel::fit(
        chosen, [this](std::int32_t kind) { return class_of(kind); }, options, asked);
    input.report_fit();
    return model;
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

// What a model says of one trace; its truth is in the trace.
LeftOut left_out_of(const LaunchPrediction& prediction, const LaunchTrace& trace, const std::string& group,
                    const std::string& fold = {}) {
  LeftOut left_out;
  left_out.one = {.group = trace.overlaps ? group + ", overlapping" : group,
                  .measured = trace.iteration * kMillisecond,
                  .predicted = prediction.times.iteration * kMillisecond,
                  .in_domain = prediction.in_domain()};
  left_out.fold = fold;
  left_out.calibrates = !trace.overlaps;
  return left_out;
}

enum class Groups { kDevice, kFamily };

std::string group_of(const LaunchTrace& trace, Groups groups) {
  return groups == Groups::kDevice ? trace.gpu : fmt::format("{} {}", trace.gpu, trace.family);
}

struct Answers {
  std::vector<LeftOut> left_out;
  std::vector<Case> replayed;  // what the queue makes of measured times: the least error the model could reach
};

// Every trace by a model that saw nothing of its fold.
Result<Answers> predict_left_out(const Traces& traces, const FoldOf& fold_of, Groups groups, const SuiteInput& input) {
  Answers answers;
  for (const std::string& fold : folds_of(traces, fold_of)) {
    std::vector<const LaunchTrace*> asked;
    for (const LaunchTrace& trace : traces.all()) {
      if (fold_of(trace) == fold) asked.push_back(&trace);
    }
    ORRERY_TRY(const LaunchModel model,
               traces.fit([&](const LaunchTrace& trace) { return fold_of(trace) != fold; }, input, asked));
    for (const LaunchTrace* trace : asked) {
      const LaunchPrediction prediction = model.predict(*trace);
      answers.left_out.push_back(left_out_of(prediction, *trace, group_of(*trace, groups), fold));
      if (trace->overlaps) continue;
      answers.replayed.push_back(
          {.measured = trace->iteration, .predicted = model.replay(*trace, prediction).iteration});
    }
  }
  return answers;
}

void note_replay(SuiteReport& report, const std::vector<Case>& replayed, const std::string& gpu) {
  report.notes.push_back(
      fmt::format("{}: measured times run through the launch queue give the iteration to {:.2f} %, {} traces", gpu,
                  100 * score_of(replayed).mre, replayed.size()));
}

void note_domain(SuiteReport& report, const std::vector<Case>& cases, const std::string& gpu) {
  std::size_t inside = 0;
  for (const Case& one : cases) inside += one.in_domain.value_or(false) ? 1 : 0;
  report.notes.push_back(
      fmt::format("{}: {} of {} cases were in the domain of what was learned", gpu, inside, cases.size()));
}

Folds folds_by(Groups groups) {
  return groups == Groups::kFamily ? Folds::kUnlike : Folds::kAlike;
}

Result<std::vector<Case>> cross_validate(const Traces& traces, const FoldOf& fold_of, Groups groups,
                                         const SuiteInput& input, SuiteReport& report) {
  ORRERY_TRY(const Answers answers, predict_left_out(traces, fold_of, groups, input));
  note_replay(report, answers.replayed, traces.gpu());
  return calibrated_cases(answers.left_out, folds_by(groups));
}

Result<std::vector<Case>> score_test(const Traces& train, const Traces& test, const FoldOf& fold_of, Groups groups,
                                     const SuiteInput& input) {
  ORRERY_TRY(const Answers inside, predict_left_out(train, fold_of, groups, input));
  ORRERY_TRY(const Conformal conformal, calibrate(inside.left_out, folds_by(groups)));
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
               train.fit([&](const LaunchTrace& trace) { return trace.family != family; }, input, entry.second));
    for (const LaunchTrace* trace : entry.second) {
      const LeftOut tested = left_out_of(model.predict(*trace), *trace, group_of(*trace, groups));
      cases.push_back(with_interval(tested.one, conformal));
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
      ORRERY_TRY(cases, cross_validate(train, fold_of, groups, input, report));
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
  std::vector<LeftOut> left_out{};
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
    LeftOut left_out;
    left_out.one = {.group = direction.name(),
                    .measured = found->second->iteration * kMillisecond,
                    .predicted = prediction.times.iteration * kMillisecond,
                    .in_domain = prediction.in_domain()};
    left_out.fold = fold;
    direction.left_out.push_back(std::move(left_out));
  }
}

// There and back between two GPUs.
using Directions = std::array<Direction, 2>;
using Pair = std::array<const Traces*, 2>;

// Every trace by models that saw nothing of its fold.
Result<Directions> transfer_left_out(const Pair& pair, const FoldOf& fold_of, const SuiteInput& input) {
  Directions directions = {Direction{pair[0], pair[1]}, Direction{pair[1], pair[0]}};
  for (const std::string& fold : folds_of(*pair[0], fold_of)) {
    const auto keeps = [&](const LaunchTrace& trace) { return fold_of(trace) != fold; };
    const auto is_left_out = [&](const LaunchTrace& trace) { return fold_of(trace) == fold; };
    ORRERY_TRY(const LaunchModel first, pair[0]->fit(keeps, input));
    ORRERY_TRY(const LaunchModel second, pair[1]->fit(keeps, input));
    transfer(directions[0], first, second, is_left_out, fold);
    transfer(directions[1], second, first, is_left_out, fold);
  }
  return directions;
}

// Learned from all of two GPUs' traces, asked about others.
Result<Directions> transfer_test(const Pair& train, const Pair& test, const SuiteInput& input) {
  const auto everything = [](const LaunchTrace&) { return true; };
  ORRERY_TRY(const LaunchModel first, train[0]->fit(everything, input));
  ORRERY_TRY(const LaunchModel second, train[1]->fit(everything, input));
  Directions directions = {Direction{test[0], test[1]}, Direction{test[1], test[0]}};
  transfer(directions[0], first, second, everything, "");
  transfer(directions[1], second, first, everything, "");
  return directions;
}

Status report_left_out(const Pair& pair, const FoldOf& fold_of, Folds folds, const SuiteInput& input,
                       SuiteReport& report) {
  const double begin = input.now_s();
  ORRERY_TRY(const Directions directions, transfer_left_out(pair, fold_of, input));
  for (const Direction& direction : directions) {
    ORRERY_TRY(std::vector<Case> cases, calibrated_cases(direction.left_out, folds));
    const std::string group =
        fmt::format("{}, {}", direction.name(), folds == Folds::kUnlike ? "families" : "configurations");
    for (Case& one : cases) one.group = group;
    report.add(cases, input.now_s() - begin);
    report.publish(group, kHabitat, "Habitat");
  }
  return {};
}

// Intervals from what was left out inside `train`.
Status report_test(const Pair& train, const Pair& test, const FoldOf& fold_of, const SuiteInput& input,
                   SuiteReport& report) {
  const double begin = input.now_s();
  ORRERY_TRY(const Directions left_out, transfer_left_out(train, fold_of, input));
  ORRERY_TRY(const Directions tested, transfer_test(train, test, input));
  for (std::size_t i = 0; i < tested.size(); ++i) {
    ORRERY_TRY(const Conformal conformal, calibrate(left_out[i].left_out));
    std::vector<Case> cases;
    for (const LeftOut& one : tested[i].left_out) cases.push_back(with_interval(one.one, conformal));
    report.add(cases, input.now_s() - begin);
    report.publish(tested[i].name(), kHabitat, "Habitat");
  }
  return {};
}

}  // namespace

Result<SuiteReport> run_ets_configurations_suite(const SuiteInput& input) {
  return evaluate(input, "ets-p1", by_configuration(input.seed), Groups::kDevice);
}

Result<SuiteReport> run_ets_families_suite(const SuiteInput& input) {
  return evaluate(input, "ets-p2", by_family, Groups::kFamily);
}

Result<SuiteReport> run_ets_devices_suite(const SuiteInput& input) {
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
      const Pair pair = {&traces[i], &traces[j]};
      if (input.baselines && input.test.empty()) {
        ORRERY_TRY_VOID(add_habitat(
            {traces[i].all(), traces[j].all(), [&](std::int32_t kind) { return traces[i].class_of(kind); }, by_name},
            input, report));
      }
      if (input.test.empty()) {
        ORRERY_TRY_VOID(report_left_out(pair, by_name, Folds::kAlike, input, report));
        ORRERY_TRY_VOID(report_left_out(pair, by_family, Folds::kUnlike, input, report));
        continue;
      }
      ORRERY_TRY(const Traces first, Traces::read(input.files, input.test, traces[i].gpu()));
      ORRERY_TRY(const Traces second, Traces::read(input.files, input.test, traces[j].gpu()));
      ORRERY_TRY_VOID(report_test(pair, {&first, &second}, by_name, input, report));
    }
  }
  return report;
}

}  // namespace orrery::lab
