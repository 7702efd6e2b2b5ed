#include "predict/measured/measured_predictor.h"

#include <cmath>
#include <fmt/format.h>

namespace orrery::predict {

namespace {

using workload::Phase;

constexpr double kWider = 2;  // the interval of a run outside the domain, in logarithms

Status check(const workload::TrainingRun& run, const hardware::Placement& placement) {
  if (placement.device->kind != hardware::DeviceKind::kCpu) {
    return Error::unsupported(
        fmt::format("the model was learned on a processor, not on {}; give --device CPU", placement.device->name));
  }
  if (placement.devices != 1 || run.parallelism.microbatches != 1) {
    return Error::unsupported("the model was learned on one device and whole batches; give --count 1");
  }
  if (run.precision != Precision::kFp32) return Error::unsupported("the model was learned in fp32");
  return {};
}

Estimate<Seconds> scaled(const Estimate<Seconds>& time, double factor) {
  return {time.value * factor, time.low * factor, time.high * factor};
}

}  // namespace

Result<Prediction> MeasuredPredictor::predict(const workload::TrainingRun& run,
                                              const hardware::Placement& placement) const {
  ORRERY_TRY_VOID(check(run, placement));
  ORRERY_TRY(Prediction prediction, analytic_.predict(run, placement));
  const StepTimes times = model_.steps.predict(run);
  const auto steps = run.graph.execution_order();
  prediction.forward = prediction.backward = prediction.update = prediction.host_wait = Seconds(0);
  prediction.timeline.clear();
  Seconds start;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Seconds duration(times.seconds[i]);
    prediction.timeline.push_back({steps[i].node, steps[i].phase, start, duration, Seconds(0), Bound::kNothing});
    start += duration;
    (steps[i].phase == Phase::kForward    ? prediction.forward
     : steps[i].phase == Phase::kBackward ? prediction.backward
                                          : prediction.update) += duration;
  }
  const Seconds before = prediction.iteration.value;
  Interval interval = model_.intervals.interval(times.iteration, "");
  if (!times.in_domain()) {
    interval.low *= std::pow(interval.low / times.iteration, kWider - 1);
    interval.high *= std::pow(interval.high / times.iteration, kWider - 1);
    prediction.notes.push_back(
        fmt::format("outside what was learned: {:.0f} % of the time is in operators of sizes never "
                    "measured; the interval is wider",
                    100 * times.unknown_share));
  }
  prediction.iteration = {Seconds(times.iteration), Seconds(interval.low), Seconds(interval.high)};
  prediction.total_time = scaled(prediction.iteration, run.steps);
  prediction.samples_per_second = static_cast<double>(run.global_batch()) / times.iteration;
  if (prediction.cost) {
    const double price = prediction.cost->value.value() / (before.value() * run.steps);
    const auto cost = [&](Seconds total) { return Dollars(price * total.value()); };
    prediction.cost = {cost(prediction.total_time.value), cost(prediction.total_time.low),
                       cost(prediction.total_time.high)};
  }
  prediction.calibrated = true;
  prediction.made_by = fmt::format(
      "measured ({} iterations on {}, {} thread{}, {}; mean error {:.1f} % on those left out)", model_.iterations,
      model_.machine, model_.threads, model_.threads == 1 ? "" : "s", model_.library, 100 * model_.error);
  return prediction;
}

}  // namespace orrery::predict
