#include "predict/neural/ets_network_model.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/random.h"
#include "base/statistics.h"
#include "base/text.h"
#include "predict/analytic/roofline.h"
#include "predict/learn/sealed.h"
#include "predict/neural/weights.h"

namespace orrery::predict {

namespace {

constexpr SealedKind kKind{"orrery-ets", 1, "ETS network", "orrery fit --form ets-network"};
constexpr std::size_t kTextMax = 4096;
constexpr std::size_t kIterationsMin = 20;
constexpr std::uint64_t kParts = 5;  // one of them is left out
constexpr double kShortest = 1e-8;   // seconds; no step is shorter
constexpr double kMicrosecond = 1e-6;

bool is_left_out(const EtsLesson& lesson, std::uint64_t seed) {
  return Random(seed).split("left out").split(lesson.key).below(kParts) == 0;
}

void add_known(const EtsLesson& lesson, const StepScale& scale, KnownSteps& known) {
  const StepFeatures features(lesson.run, scale);
  known.add_motifs(lesson.run.graph);
  for (const std::size_t step : lesson.rows.steps) {
    const StepTime& time = lesson.steps[step];
    known.add(features.likeness(step), features.prior(step),
              std::max(kShortest, kMicrosecond * (time.execution + time.gap)));
  }
}

// The median step of each phase.
std::array<double, 3> median_steps(const std::vector<const EtsLesson*>& lessons) {
  std::array<std::vector<double>, 3> times;
  for (const EtsLesson* lesson : lessons) {
    for (std::size_t row = 0; row < lesson->rows.steps.size(); ++row) {
      const LaunchTimes& measured = lesson->rows.trace.times[row];
      times[static_cast<std::size_t>(lesson->rows.trace.operators[row].phase)].push_back(
          kMicrosecond * (measured.device + measured.gap));
    }
  }
  std::array<double, 3> medians{};
  for (std::size_t i = 0; i < times.size(); ++i) medians[i] = times[i].empty() ? 0 : median(times[i]);
  return medians;
}

// The factor that makes sums right, of iterations learned from: some of them, since each takes a while.
Result<double> factor_of(const SequenceModel& network, const EtsNetworkModel& model,
                         const std::vector<const EtsLesson*>& lessons, const hardware::Device& device) {
  constexpr std::size_t kMost = 150;
  const std::size_t every = std::max<std::size_t>(1, lessons.size() / kMost);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < lessons.size(); i += every) {
    ORRERY_TRY(const EtsTimes times, ets_times(network, model.known, model.scale, lessons[i]->run, device));
    ratios.push_back(kMicrosecond * lessons[i]->rows.trace.iteration / times.iteration);
  }
  return median(ratios);
}

}  // namespace

Result<EtsTimes> ets_times(const SequenceModel& network, const KnownSteps& known, const EtsScale& scale,
                           const workload::TrainingRun& run, const hardware::Device& device) {
  const GraphRows rows = graph_rows(run, device.kind);
  ORRERY_TRY(const SequencePrediction predicted, network.predict(rows.trace));
  const StepFeatures features(run, scale_of(device));
  const auto steps = features.steps();
  EtsTimes times{.seconds = std::vector<double>(steps.size()), .learned = std::vector<bool>(steps.size(), true)};
  double by_formulas = 0, formula_steps = 0;
  for (std::size_t row = 0; row < rows.steps.size(); ++row) {
    const std::size_t step = rows.steps[row];
    double seconds = std::max(kShortest, scale.factor * kMicrosecond * (predicted.execution[row] + predicted.gap[row]));
    const bool counts = known.is_known(features.likeness(step), features.prior(step), seconds);
    if (!counts) {
      const auto cost = workload::operator_cost(run.graph, steps[step], run.cost_options());
      const workload::Operator& op = run.graph[steps[step].op];
      seconds = std::max(roofline_time(device, run.precision, run.graph, op, cost, 1).time.value(),
                         scale.floors[static_cast<std::size_t>(steps[step].phase)]);
      by_formulas += seconds;
      formula_steps += 1;
    }
    times.seconds[step] = seconds;
    times.learned[step] = counts;
    times.iteration += seconds;
  }
  times.formula_steps = formula_steps / static_cast<double>(rows.steps.size());
  times.formula_share = times.iteration > 0 ? by_formulas / times.iteration : 1;
  times.unknown_motifs = known.unknown_motifs(run.graph);
  return times;
}

Result<EtsNetworkModel> fit_ets_network(const EtsLessons& lessons, const SequenceOptions& options,
                                        const TrainingWatch& watch) {
  const hardware::Device* device = hardware::find_device_or_null(lessons.machine.device);
  if (device == nullptr) return Error::invalid(fmt::format("unknown device {}", quote(lessons.machine.device)));
  if (lessons.lessons.size() < kIterationsMin) {
    return Error::invalid(
        fmt::format("{} iterations that can be learned from; {} are needed", lessons.lessons.size(), kIterationsMin));
  }
  EtsNetworkModel model{.machine = lessons.machine, .was_profiled = lessons.was_profiled};
  std::vector<const LaunchTrace*> traces;
  std::vector<const EtsLesson*> learned, left_out;
  for (const EtsLesson& lesson : lessons.lessons) {
    if (is_left_out(lesson, options.seed)) {
      left_out.push_back(&lesson);
      continue;
    }
    traces.push_back(&lesson.rows.trace);
    learned.push_back(&lesson);
    add_known(lesson, scale_of(*device), model.known);
  }
  if (left_out.empty()) return Error::invalid("no iteration is left out to measure errors on; try another --seed");
  model.known.settle();
  ORRERY_TRY(const SequenceModel network, SequenceModel::fit(traces, graph_row_kinds(), options, watch));
  model.weights = network.weights();
  model.weights.gpu = lessons.machine.device;
  if (lessons.was_profiled) model.scale.floors = median_steps(learned);
  ORRERY_TRY(model.scale.factor, factor_of(network, model, learned, *device));
  std::vector<CalibrationPair> pairs;
  for (const EtsLesson* lesson : left_out) {
    ORRERY_TRY(const EtsTimes times, ets_times(network, model.known, model.scale, lesson->run, *device));
    const double measured = kMicrosecond * lesson->rows.trace.iteration;
    pairs.push_back({times.iteration, measured});
    model.error += std::abs(times.iteration / measured - 1) / static_cast<double>(left_out.size());
  }
  model.left_out = left_out.size();
  ORRERY_TRY(model.intervals, Conformal::fit(pairs));
  return model;
}

std::string to_bytes(const EtsNetworkModel& model) {
  ByteWriter body;
  body.text(model.machine.device);
  body.text(model.machine.name);
  body.text(model.machine.library);
  body.u32(model.machine.threads);
  body.u8(model.was_profiled ? 1 : 0);
  body.u64(model.left_out);
  body.f64(model.error);
  model.intervals.write(body);
  model.known.write(body);
  body.f64(model.scale.factor);
  for (const double floor : model.scale.floors) body.f64(floor);
  body.text(to_bytes(model.weights));
  return seal(kKind, body.bytes());
}

Result<EtsNetworkModel> parse_ets_network(std::string_view bytes) {
  ORRERY_TRY(const std::string_view body, unseal(kKind, bytes));
  ByteReader in(body);
  EtsNetworkModel model;
  ORRERY_TRY(model.machine.device, in.text(kTextMax));
  ORRERY_TRY(model.machine.name, in.text(kTextMax));
  ORRERY_TRY(model.machine.library, in.text(kTextMax));
  ORRERY_TRY(model.machine.threads, in.u32());
  ORRERY_TRY(const std::uint8_t was_profiled, in.u8());
  if (was_profiled > 1) return Error::invalid("neither with a profiler nor without");
  model.was_profiled = was_profiled == 1;
  ORRERY_TRY(model.left_out, in.u64());
  ORRERY_TRY(model.error, in.f64());
  if (!(model.error >= 0)) return Error::invalid("an error below 0");
  ORRERY_TRY(model.intervals, Conformal::read(in));
  ORRERY_TRY(model.known, KnownSteps::read(in));
  ORRERY_TRY(model.scale.factor, in.f64());
  if (!(model.scale.factor > 0 && std::isfinite(model.scale.factor))) return Error::invalid("a factor not above 0");
  for (double& floor : model.scale.floors) {
    ORRERY_TRY(floor, in.f64());
    if (!(floor >= 0 && std::isfinite(floor))) return Error::invalid("a time below 0");
  }
  ORRERY_TRY(const std::string weights, in.text(body.size()));
  if (!in.at_end()) return Error::invalid("bytes behind its end");
  ORRERY_TRY(model.weights, parse_sequence_weights(weights));
  return model;
}

Result<std::unique_ptr<EtsNetworkPredictor>> EtsNetworkPredictor::make(EtsNetworkModel model) {
  if (hardware::find_device_or_null(model.machine.device) == nullptr) {
    return Error::invalid(fmt::format("a network of {}, which is no known device", quote(model.machine.device)));
  }
  ORRERY_TRY(SequenceModel network, SequenceModel::make(model.weights));
  return std::unique_ptr<EtsNetworkPredictor>(new EtsNetworkPredictor(std::move(model), std::move(network)));
}

Result<Prediction> EtsNetworkPredictor::predict(const workload::TrainingRun& run,
                                                const hardware::Placement& placement) const {
  const hardware::Device* device = hardware::find_device_or_null(model_.machine.device);
  if (placement.device != device) {
    return Error::unsupported(fmt::format("the network was learned on {}, not on {}; give --device {}", device->name,
                                          placement.device->name, device->name));
  }
  if (run.precision != Precision::kFp32) return Error::unsupported("the network was learned in fp32");
  EtsTimes times;
  Status asked;
  const AnalyticPredictor composer([&](const workload::TrainingRun& micro) {
    auto found = ets_times(network_, model_.known, model_.scale, micro, *device);
    const std::size_t steps = micro.graph.execution_order().size();
    if (!found) {
      asked = std::move(found).error();
      return LearnedTimes{std::vector<double>(steps), std::vector<bool>(steps)};
    }
    times = std::move(*found);
    const Interval interval = model_.intervals.interval(1, "");
    return LearnedTimes{times.seconds, times.learned, times.in_domain(), interval.low, interval.high};
  });
  auto composed = composer.predict(run, placement);
  ORRERY_TRY_VOID(std::move(asked));
  ORRERY_TRY(Prediction prediction, std::move(composed));
  prediction.predictor = name();
  prediction.made_by = fmt::format(
      "ets-network ({} of {} operators and {} steps of training on {}; mean error {:.1f} % on {} iterations left out)",
      to_string(model_.weights.network.structure), model_.weights.network.length, model_.weights.training.steps,
      model_.machine.name, 100 * model_.error, model_.left_out);
  if (!prediction.in_domain) {
    prediction.notes.push_back(fmt::format(
        "outside what was learned: {:.0f} % of the operators are by formulas, {:.0f} % are joined in ways never "
        "measured; the interval is at least that of the formulas",
        100 * times.formula_steps, 100 * times.unknown_motifs));
  }
  if (model_.was_profiled) {
    prediction.notes.emplace_back(
        "the time of an iteration under the profiler of the traces, which slows the host several times; without it "
        "small models are faster");
  }
  if (placement.devices > 1)
    prediction.notes.emplace_back("one device was measured; the network between devices is formulas");
  return prediction;
}

}  // namespace orrery::predict
