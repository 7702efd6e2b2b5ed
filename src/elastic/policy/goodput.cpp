#include "elastic/policy/goodput.h"

#include <algorithm>

namespace orrery::elastic {

Proposal Goodput::after_step(const Observation& observation) {
  const std::optional<double> noise = observation.noise_scale();
  if (observation.step % options_.every != 0 || !noise || !observation.step_time.terms()) return {};
  const auto goodput = [&](double workers, double batch) {
    const double time_s = observation.step_time.time_s(workers, batch).value_or(0);
    return time_s > 0 ? batch / time_s * (*noise + observation.first_batch) / (*noise + batch) : 0;
  };
  const double now = goodput(observation.workers, observation.batch);
  double best = now, workers = observation.workers, batch = observation.batch;
  for (const double n : {observation.workers - 1, observation.workers, observation.workers + 1}) {
    if (n < 1 || n > options_.workers_max) continue;
    for (const double b : {observation.batch / 2, observation.batch, 2 * observation.batch}) {
      if (b < observation.first_batch || b < n || b > options_.batch_max || goodput(n, b) <= best) continue;
      best = goodput(n, b);
      workers = n;
      batch = b;
    }
  }
  if (best <= (1 + options_.gain) * now) return {};
  Proposal proposal;
  if (workers != observation.workers) proposal.values[kWorkersValue] = workers;
  if (batch != observation.batch) proposal.values[kBatchValue] = batch;
  return proposal;
}

}  // namespace orrery::elastic
