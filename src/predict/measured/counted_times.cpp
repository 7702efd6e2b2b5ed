#include "predict/measured/counted_times.h"

#include "predict/analytic/roofline.h"

namespace orrery::predict {

CountedTimes counted_times(const StepModel& model, const workload::TrainingRun& run, const hardware::Device& device) {
  StepTimes times = model.predict(run);
  CountedTimes counted{.unknown_motifs = times.unknown_motifs};
  const bool is_host = device.kind == hardware::DeviceKind::kCpu;
  const auto steps = run.graph.execution_order();
  double all = 0, by_formulas = 0, unlike = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto cost = workload::operator_cost(run.graph, steps[i], run.cost_options());
    const bool counts = times.learned[i] || (is_host && times.related[i]);
    counted.learned.push_back(counts);
    if (!counts && is_host) times.seconds[i] = times.typical[i];
    if (!counts && !is_host) {
      const workload::Operator& op = run.graph[steps[i].op];
      times.seconds[i] = roofline_time(device, run.precision, run.graph, op, cost, 1).time.value();
    }
    if (cost.kernels <= 0 && !is_host) continue;  // a view: nothing runs
    all += times.seconds[i];
    if (!counts) by_formulas += times.seconds[i];
    if (!times.learned[i]) unlike += times.seconds[i];
  }
  counted.seconds = std::move(times.seconds);
  counted.formula_share = all > 0 ? by_formulas / all : 1;
  counted.unlike_share = all > 0 ? unlike / all : 1;
  return counted;
}

double sum_like(const CountedTimes& times, const MeasuredSteps& measured) {
  double sum = 0;
  for (std::size_t step = 0; step < times.seconds.size(); ++step) {
    if (measured.seconds[step] > 0) sum += times.seconds[step];
  }
  return sum;
}

}  // namespace orrery::predict
