#include "predict/operators/operator_predictor.h"

#include <fmt/format.h>
#include <map>
#include <tuple>

#include "predict/analytic/roofline.h"

namespace orrery::predict {

namespace {

constexpr double kLeastShare = 0.5;  // of an iteration's time that must be in learned operators

double roofline_seconds(const workload::TrainingRun& run, const workload::PhaseStep& step,
                        const hardware::Device& device) {
  const auto cost = workload::operator_cost(run.graph, step, run.cost_options());
  return roofline_time(device, run.precision, run.graph, run.graph.node(step.node), cost, 1).time.value();
}

// Times of operators on one device. Layers repeat, so each kind of work is predicted once.
class DeviceTimes {
 public:
  DeviceTimes(const OperatorModel& model, const hardware::Device& device, std::string_view excluded)
      : model_(model), device_(device), facts_(facts_of(device)), excluded_(excluded) {}

  double seconds(const workload::TrainingRun& run, const workload::PhaseStep& step) {
    const std::vector<GraphWork> works = known_operators(run.graph, step);
    if (works.empty()) return roofline_seconds(run, step, device_);
    double sum = 0;
    for (const GraphWork& work : works) {
      const OperatorShape& shape = work.shape;
      const auto [known, is_new] =
          seconds_.try_emplace({work.operator_class, shape.name, shape.b, shape.m, shape.n, shape.k});
      if (is_new) known->second = model_.time_ms(work, facts_, excluded_) * 1e-3;
      sum += known->second;
    }
    return sum;
  }

 private:
  using Key = std::tuple<OperatorClass, std::string, double, double, double, double>;

  const OperatorModel& model_;
  const hardware::Device& device_;
  DeviceFacts facts_;
  std::string_view excluded_;
  std::map<Key, double> seconds_;
};

// By the roofline, which needs no model.
double learned_share(const workload::TrainingRun& run, const hardware::Device& device) {
  double learned = 0, all = 0;
  for (const workload::PhaseStep& step : run.graph.execution_order()) {
    const double seconds = roofline_seconds(run, step, device);
    all += seconds;
    if (!known_operators(run.graph, step).empty()) learned += seconds;
  }
  return all > 0 ? learned / all : 0;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

Status OperatorPredictor::check(const workload::TrainingRun& run, const hardware::Placement& placement) {
  if (placement.device->kind != hardware::DeviceKind::kGpu)
    return Error::unsupported("operators were measured on GPUs");
  if (run.precision != Precision::kFp32) return Error::unsupported("operators were measured in fp32");
  const double share = learned_share(run, *placement.device);
  if (share < kLeastShare) {
    return Error::unsupported(
        fmt::format("{:.0f} % of the time is in operators that were not measured", 100 * (1 - share)));
  }
  return {};
}

Result<Prediction> OperatorPredictor::predict(const workload::TrainingRun& run,
                                              const hardware::Placement& placement) const {
  ORRERY_TRY_VOID(check(run, placement));
  const AnalyticPredictor composer([&](const workload::TrainingRun& micro) {
    DeviceTimes times(model_, *placement.device, excluded_);
    LearnedTimes learned{.low = model_.ratios().low, .high = model_.ratios().high};
    for (const auto& step : micro.graph.execution_order()) learned.seconds.push_back(times.seconds(micro, step));
    return learned;
  });
  ORRERY_TRY(Prediction prediction, composer.predict(run, placement));
  const std::string_view device = placement.device->name;
  prediction.predictor = name();
  prediction.calibrated = true;
  prediction.made_by = fmt::format("operators (measured on {}; {:.0f} % of the time is in them)",
                                   listed(model_.devices()), 100 * learned_share(run, *placement.device));
  if (!model_.is_measured(device) || device == excluded_) {
    prediction.notes.push_back(fmt::format(
        "outside what was measured: no operator was measured on {}; times come from the other GPUs", device));
  }
  prediction.notes.emplace_back("the interval is that of single operators; whole iterations are usually nearer");
  return prediction;
}

}  // namespace orrery::predict
