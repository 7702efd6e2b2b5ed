#include "predict/measured/measured_predictor.h"

#include <cmath>
#include <fmt/format.h>

namespace orrery::predict {

namespace {

constexpr double kWider = 2;  // the interval of a run outside the domain, in logarithms

}  // namespace

Status MeasuredPredictor::check(const workload::TrainingRun& run, const hardware::Placement& placement) const {
  const std::string& device = model_.machine.device;
  if (placement.device != hardware::find_device_or_null(device)) {
    return Error::unsupported(fmt::format("the model was learned on {}, not on {}; give --device {}", device,
                                          placement.device->name, device));
  }
  const bool on_host = placement.device->kind == hardware::DeviceKind::kCpu;
  if (on_host && (placement.devices != 1 || run.parallelism.microbatches != 1)) {
    return Error::unsupported("the model was learned on one device and whole batches; give --count 1");
  }
  if (run.precision != Precision::kFp32) return Error::unsupported("the model was learned in fp32");
  return {};
}

Result<Prediction> MeasuredPredictor::predict(const workload::TrainingRun& run,
                                              const hardware::Placement& placement) const {
  ORRERY_TRY_VOID(check(run, placement));
  double unknown_share = 0, unknown_motifs = 0;
  bool in_domain = true;
  const AnalyticPredictor composer([&](const workload::TrainingRun& micro) {
    StepTimes times = model_.steps.predict(micro);
    unknown_share = times.unknown_share;
    unknown_motifs = times.unknown_motifs;
    in_domain = times.in_domain();
    const Interval interval = model_.intervals.interval(1, "");
    const double power = in_domain ? 1 : kWider;
    return LearnedTimes{std::move(times.seconds), std::pow(interval.low, power), std::pow(interval.high, power)};
  });
  ORRERY_TRY(Prediction prediction, composer.predict(run, placement));
  if (!in_domain) {
    prediction.notes.push_back(fmt::format(
        "outside what was learned: {:.0f} % of the time is in operators of sizes never measured, {:.0f} % of "
        "the operators are joined in ways never measured; the interval is wider",
        100 * unknown_share, 100 * unknown_motifs));
  }
  prediction.calibrated = true;
  if (placement.devices > 1)
    prediction.notes.push_back("one device was measured; the network between devices is formulas");
  const MeasuredMachine& machine = model_.machine;
  prediction.predictor = name();
  prediction.made_by = fmt::format(
      "measured ({} iterations on {}, {} thread{}, {}; mean error {:.1f} % on those left out)", model_.iterations,
      machine.name, machine.threads, machine.threads == 1 ? "" : "s", machine.library, 100 * model_.error);
  return prediction;
}

}  // namespace orrery::predict
