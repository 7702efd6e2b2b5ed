#include "simulate/perturbed_scaling.h"

#include <algorithm>

#include "base/random.h"

namespace orrery::simulate {

using schedule::JobIndex;

namespace {
// Drawn for values that are not a number of GPUs.
constexpr int kOfSteps = 0, kOfServers = -1;
}  // namespace

double PerturbedScaling::sign(JobIndex job, int what) const {
  const auto key = std::uint64_t{job.place()} << 32 | static_cast<std::uint32_t>(what);
  return mix64(mix64(seed_) ^ key) % 2 == 0 ? 1 : -1;
}

double PerturbedScaling::step_s(JobIndex job, int gpus) const {
  return truth_.step_s(job, gpus) / (1 + errors_.speed * sign(job, gpus));
}

std::optional<schedule::PsSpeed> PerturbedScaling::ps_speed(JobIndex job) const {
  const auto truth = truth_.ps_speed(job);
  if (!truth) return std::nullopt;
  return truth->times(1 / (1 + errors_.speed * sign(job, kOfServers)));
}

double PerturbedScaling::steps_left(JobIndex job) const {
  const double work = schedule::to_seconds(view_.facts(job).work_ns);
  const double done = work > 0 ? schedule::to_seconds(view_.done_ns(job)) / work : 1;
  const double unknown = std::clamp(1 - done, 0.0, 1.0);
  return std::max(1.0, truth_.steps_left(job) * (1 + errors_.convergence * unknown * sign(job, kOfSteps)));
}

}  // namespace orrery::simulate
