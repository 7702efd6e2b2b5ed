#include "predict/measured/measured_predictor.h"

#include <fmt/format.h>

#include "predict/measured/counted_times.h"

namespace orrery::predict {

namespace {

std::string outside_note(const CountedTimes& counted, const Prediction& prediction) {
  std::string why =
      fmt::format("{:.0f} % of the time is by formulas (operators, sizes or waits that were not measured)",
                  100 * (1 - prediction.learned_share));
  if (counted.unknown_motifs > kUnknownMotifsMax) {
    why += fmt::format(", {:.0f} % of the operators are joined in ways never measured", 100 * counted.unknown_motifs);
  }
  return "outside what was learned: " + why + "; the interval is that of the formulas";
}

}  // namespace

Status MeasuredPredictor::check(std::string_view device, const workload::TrainingRun& run,
                                const hardware::Placement& placement) {
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
  ORRERY_TRY_VOID(check(model_.machine.device, run, placement));
  CountedTimes counted;
  const AnalyticPredictor composer([&](const workload::TrainingRun& micro) {
    counted = counted_times(model_.steps, micro, *placement.device);
    const Interval interval = model_.intervals.interval(1, "");
    return LearnedTimes{counted.seconds, counted.learned, counted.in_domain(), interval.low, interval.high};
  });
  ORRERY_TRY(Prediction prediction, composer.predict(run, placement));
  if (!prediction.in_domain) prediction.notes.push_back(outside_note(counted, prediction));
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
