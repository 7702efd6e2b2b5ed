#include "profile/distributed/worker.h"

#include "base/statistics.h"

namespace orrery::profile {

namespace {

Result<WorkerStep> train_step(Executor& executor, Exchange& exchange, std::vector<float>& parameters,
                              const env::Clock& clock) {
  WorkerStep step;
  step.start = clock.monotonic();
  ORRERY_TRY(step.loss, executor.compute_gradients());
  ORRERY_TRY(const std::vector<float> gradients, executor.gradients());
  step.computed = clock.monotonic();
  ORRERY_TRY_VOID(exchange.step(gradients, parameters));
  ORRERY_TRY_VOID(executor.set_parameters(parameters));
  step.end = clock.monotonic();
  return step;
}

std::optional<Traffic> difference(const std::optional<Traffic>& after, const std::optional<Traffic>& before) {
  if (!after || !before) return std::nullopt;
  return Traffic{after->in - before->in, after->out - before->out};
}

template <class Part>
Seconds median_of(const std::vector<WorkerStep>& steps, Part part) {
  std::vector<double> values;
  for (const WorkerStep& step : steps) values.push_back(part(step).value());
  return Seconds(median(values));
}

}  // namespace

Seconds median_step(const std::vector<WorkerStep>& steps) {
  return median_of(steps, [](const WorkerStep& step) { return step.end - step.start; });
}

Seconds median_computing(const std::vector<WorkerStep>& steps) {
  return median_of(steps, [](const WorkerStep& step) { return step.computed - step.start; });
}

Result<WorkerReport> train(Executor& executor, Exchange& exchange, int steps, const env::Clock& clock) {
  ORRERY_TRY(std::vector<float> parameters, executor.parameters());
  ORRERY_TRY_VOID(exchange.start(parameters));
  ORRERY_TRY_VOID(executor.set_parameters(parameters));
  const auto before = exchange.traffic();
  WorkerReport report;
  for (int i = 0; i < steps; ++i) {
    ORRERY_TRY(const WorkerStep step, train_step(executor, exchange, parameters, clock));
    report.steps.push_back(step);
  }
  report.traffic = difference(exchange.traffic(), before);
  ORRERY_TRY_VOID(exchange.finish());
  return report;
}

}  // namespace orrery::profile
