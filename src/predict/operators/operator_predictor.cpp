#include "predict/operators/operator_predictor.h"

#include <fmt/format.h>
#include <map>
#include <tuple>

#include "predict/analytic/roofline.h"

namespace orrery::predict {

namespace {

constexpr double kMillisecond = 1e-3;
// A learned time counts if it is at most this many times longer or shorter than the roofline's.
constexpr double kRooflineFactor = 4;

bool is_near(double learned, double physical) {
  return learned <= kRooflineFactor * physical && physical <= kRooflineFactor * learned;
}

constexpr double kLeastShare = 0.5;  // of an iteration's time that must be in learned operators

double roofline_seconds(const workload::TrainingRun& run, const workload::PhaseStep& step,
                        const hardware::Device& device) {
  const auto cost = workload::operator_cost(run.graph, step, run.cost_options());
  return roofline_time(device, run.precision, run.graph, run.graph[step.op], cost, 1).time.value();
}

// Times of operators on one device. Layers repeat, so each kind of work is predicted once.
class DeviceTimes {
 public:
  DeviceTimes(const OperatorModel& model, const hardware::Device& device, std::string_view excluded)
      : model_(model), device_(device), facts_(facts_of(device)), excluded_(excluded) {}

  // A step's learned time counts if all of its operators are inside what was measured and their sum is near the
  // roofline; otherwise it takes the roofline.
  void add(const workload::TrainingRun& run, const workload::PhaseStep& step, LearnedTimes& learned) {
    const double roofline = roofline_seconds(run, step, device_);
    const std::vector<GraphWork> works = known_operators(run.graph, step);
    bool counts = !works.empty();
    double sum = 0;
    for (const GraphWork& work : works) {
      const EnsembleAnswer& answer = answer_of(work);
      counts &= answer.inside;
      sum += answer.time_ms * kMillisecond;
    }
    counts &= is_near(sum, roofline);
    learned.seconds.push_back(counts ? sum : roofline);
    learned.learned.push_back(counts);
  }

 private:
  using Key = std::tuple<OperatorClass, std::string, double, double, double, double>;

  const EnsembleAnswer& answer_of(const GraphWork& work) {
    const OperatorShape& shape = work.shape;
    const auto [known, is_new] =
        answers_.try_emplace({work.operator_class, shape.name, shape.b, shape.m, shape.n, shape.k});
    if (is_new) known->second = model_.answer(work, facts_, excluded_);
    return known->second;
  }

  const OperatorModel& model_;
  const hardware::Device& device_;
  DeviceFacts facts_;
  std::string_view excluded_;
  std::map<Key, EnsembleAnswer> answers_;
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
  const std::string_view device = placement.device->name;
  const bool was_measured = model_.is_measured(device) && device != excluded_;
  const AnalyticPredictor composer([&](const workload::TrainingRun& micro) {
    DeviceTimes times(model_, *placement.device, excluded_);
    LearnedTimes learned{.in_domain = was_measured, .low = model_.ratios().low, .high = model_.ratios().high};
    for (const auto& step : micro.graph.execution_order()) times.add(micro, step, learned);
    return learned;
  });
  ORRERY_TRY(Prediction prediction, composer.predict(run, placement));
  prediction.predictor = name();
  prediction.made_by = fmt::format("operators (measured on {}; {:.0f} % of the time is in them)",
                                   listed(model_.devices()), 100 * prediction.learned_share);
  if (!was_measured) {
    prediction.notes.push_back(fmt::format(
        "outside what was measured: no operator was measured on {}; times come from the other GPUs", device));
  }
  if (prediction.learned_share < 1 - kLargePart) {
    prediction.notes.push_back(
        fmt::format("{:.0f} % of the time is by formulas (operators, sizes or waits that were not measured)",
                    100 * (1 - prediction.learned_share)));
  }
  prediction.notes.emplace_back(prediction.in_domain
                                    ? "the interval is that of single operators; whole iterations are usually nearer"
                                    : "the interval is at least that of the formulas");
  return prediction;
}

}  // namespace orrery::predict
