#include "lab/evaluate/ets_faithful_suite.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <optional>

#include "base/parallel.h"
#include "base/random.h"
#include "lab/evaluate/shared_progress.h"
#include "predict/learn/conformal.h"
#include "predict/neural/weights.h"
#include "predict/readers/ets_traces.h"

namespace orrery::lab {

namespace {

constexpr std::string_view kSet = "ets_traces";
constexpr std::uint64_t kFoldScored = 0;
constexpr std::uint64_t kCalibrationPart = 10;  // one in so many of the traces learned from
constexpr double kMillisecond = 1e-3;           // of a microsecond
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Published {
  std::string_view gpu;
  double error;
};
constexpr Published kPublished[] = {{"T4", 0.0727}, {"RTX2080Ti", 0.0728}};

// The traces of one GPU by what they are used for.
struct Split {
  std::vector<const LaunchTrace*> learned, calibration, scored;
};

Split split_of(const LaunchTraces& train, const LaunchTraces* test, std::uint64_t seed) {
  Split split;
  for (const LaunchTrace& trace : train.traces) {
    if (test == nullptr && configuration_fold(trace, seed) == kFoldScored) {
      split.scored.push_back(&trace);
    } else if (Random(seed).split("calibration").split(trace.id).below(kCalibrationPart) == 0) {
      split.calibration.push_back(&trace);
    } else {
      split.learned.push_back(&trace);
    }
  }
  if (test == nullptr) return split;
  for (const LaunchTrace& trace : test->traces) split.scored.push_back(&trace);
  return split;
}

struct GpuResult {
  std::vector<Case> cases;
  std::vector<std::string> notes;
  double seconds = 0;
};

class FaithfulGpu {
 public:
  FaithfulGpu(const SuiteInput& input, std::string gpu, SequenceOptions options, SharedProgress& progress)
      : input_(input), gpu_(std::move(gpu)), options_(options), progress_(progress) {}

  Result<GpuResult> run(const std::string& folder) {
    const double begin = input_.now_s();
    ORRERY_TRY(const LaunchTraces train, read_launch_traces(input_.files, folder, gpu_));
    std::optional<LaunchTraces> test;
    if (!input_.test.empty()) {
      ORRERY_TRY(test, read_launch_traces(input_.files, input_.test, gpu_));
    }
    const Split split = split_of(train, test ? &*test : nullptr, input_.seed);
    ORRERY_TRY(const SequenceModel model, model_of(split.learned, train.kinds));
    const double trained = input_.now_s();
    ORRERY_TRY_VOID(score(model, split));
    result_.seconds = input_.now_s() - begin;
    note(model.weights(), split, input_.now_s() - trained);
    return std::move(result_);
  }

 private:
  Result<SequenceModel> model_of(const std::vector<const LaunchTrace*>& traces,
                                 const std::map<std::int32_t, std::string>& kinds) {
    const SuiteTraining& how = input_.training;
    const std::string path = fmt::format("{}/{}.model", how.keep, gpu_);
    if (!how.keep.empty() && input_.files.exists(path)) return read_model(path, fingerprint_of(traces, options_));
    TrainingWatch watch{.progress = progress_.part(), .now_s = input_.now_s, .seconds_max = how.seconds_max};
    if (!how.keep.empty()) {
      ORRERY_TRY_VOID(input_.files.make_directory(how.keep));
      watch.files = &input_.files;
      watch.checkpoint = fmt::format("{}/{}.training", how.keep, gpu_);
    }
    ORRERY_TRY(SequenceModel model, SequenceModel::fit(traces, kinds, options_, watch));
    if (!how.keep.empty() && model.weights().training.steps == options_.steps) {
      ORRERY_TRY_VOID(input_.files.write_atomically(path, to_bytes(model.weights())));
      ORRERY_TRY_VOID(input_.files.remove(watch.checkpoint));
    }
    return model;
  }

  Result<SequenceModel> read_model(const std::string& path, std::uint64_t fingerprint) {
    ORRERY_TRY(const std::string bytes, input_.files.read(path, kWeightsMax));
    auto weights = parse_sequence_weights(bytes);
    if (!weights) return std::move(weights).error().with_context(path);
    if (weights->fingerprint != fingerprint) {
      return Error::invalid(fmt::format(
          "{} was learned from other traces or with other options; remove it or keep this elsewhere", path));
    }
    return SequenceModel::make(std::move(*weights));
  }

  Status score(const SequenceModel& model, const Split& split) {
    std::vector<CalibrationPair> pairs;
    for (const LaunchTrace* trace : split.calibration) {
      if (trace->overlaps) continue;
      ORRERY_TRY(const SequencePrediction prediction, model.predict(*trace));
      pairs.push_back({prediction.iteration, trace->iteration});
    }
    std::optional<Conformal> conformal;
    if (!pairs.empty()) {
      ORRERY_TRY(conformal, Conformal::fit(pairs));
    }
    for (const LaunchTrace* trace : split.scored) {
      ORRERY_TRY(const SequencePrediction prediction, model.predict(*trace));
      const Interval interval = conformal ? conformal->interval(prediction.iteration, "") : Interval{kNan, kNan};
      result_.cases.push_back({.group = trace->overlaps ? gpu_ + ", overlapping" : gpu_,
                               .measured = trace->iteration * kMillisecond,
                               .predicted = prediction.iteration * kMillisecond,
                               .low = interval.low * kMillisecond,
                               .high = interval.high * kMillisecond});
    }
    return {};
  }

  void note(const SequenceWeights& weights, const Split& split, double predicting_s) {
    const double seen = static_cast<double>(weights.training.steps) * options_.rows_per_step;
    const double per_epoch = static_cast<double>(weights.operators) * options_.width / options_.stride;
    result_.notes.push_back(fmt::format(
        "{}: {} of {} steps in {:.0f} s on one thread: {:.1f} times through {} traces ({} operators); {} parameters, "
        "last loss {:.3f}; {:.0f} ms to predict a trace",
        gpu_, weights.training.steps, options_.steps, weights.training.seconds, seen / per_epoch, weights.traces,
        weights.operators, weights.parameters.size(), weights.training.loss,
        1e3 * predicting_s /
            static_cast<double>(std::max<std::size_t>(1, split.scored.size() + split.calibration.size()))));
  }

  const SuiteInput& input_;
  std::string gpu_;
  SequenceOptions options_;
  SharedProgress& progress_;
  GpuResult result_;
};

}  // namespace

Result<SuiteReport> run_ets_faithful_suite(const SuiteInput& input) {
  SuiteReport report{.suite = "ets-faithful", .seed = input.seed};
  SequenceOptions options = input.training.sequence;
  options.seed = input.seed;
  options.threads = 1;
  if (input.training.steps > 0) options.steps = input.training.steps;
  ORRERY_TRY_VOID(validate(options));
  const std::string folder = training_folder(input, kSet);
  ORRERY_TRY(std::vector<std::string> gpus, gpus_of(input.files, folder));
  if (!input.test.empty()) {
    ORRERY_TRY(const std::vector<std::string> tested, gpus_of(input.files, input.test));
    std::erase_if(gpus,
                  [&](const std::string& gpu) { return std::find(tested.begin(), tested.end(), gpu) == tested.end(); });
  }
  SharedProgress progress(input.training.progress, gpus.size() * options.steps);
  std::vector<std::optional<Result<GpuResult>>> results(gpus.size());
  run_parallel(gpus.size(), input.threads,
               [&](std::size_t i) { results[i] = FaithfulGpu(input, gpus[i], options, progress).run(folder); });
  for (auto& result : results) {
    ORRERY_TRY(const GpuResult one, std::move(*result));
    report.add(one.cases, one.seconds);
    report.notes.insert(report.notes.end(), one.notes.begin(), one.notes.end());
  }
  for (const Published& published : kPublished) report.publish(published.gpu, published.error, "ETS, final run");
  report.notes.push_back(fmt::format(
      "{}, {} layers of {}, windows of {} every {}, loss {}, {} learning rate {}", to_string(options.structure),
      options.layers, options.hidden, options.width, options.stride, to_string(options.loss),
      options.schedule == LearningRate::kFalling ? "falling" : "constant", options.learning_rate));
  return report;
}

}  // namespace orrery::lab
