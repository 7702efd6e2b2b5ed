#include "simulate/speed_model.h"

#include <algorithm>

#include "schedule/interleaving.h"

namespace orrery::simulate {

using schedule::Allocation;
using schedule::ClusterView;
using schedule::JobIndex;

namespace {

// Machines beyond the fewest that could hold this many GPUs.
int extra_machines(const ClusterView& view, const Allocation& allocation) {
  if (allocation.size() <= 1) return 0;
  int largest = 1;
  for (const schedule::MachineView& machine : view.machines()) largest = std::max(largest, machine.gpus);
  const int fewest = (schedule::gpus_in(allocation) + largest - 1) / largest;
  return static_cast<int>(allocation.size()) - fewest;
}

}  // namespace

double SpeedModel::interleaved_share(const ClusterView& view, JobIndex job) const {
  std::vector<schedule::StageTimes> stages;
  for (const JobIndex one : view.group_of(job)) stages.push_back(schedule::stages_of(view.facts(one)));
  return stages.front().iteration_s / schedule::interleaved_iteration_s(stages);
}

double CurveSpeed::rate(const ClusterView& view, JobIndex job, const Allocation& allocation) const {
  const double scaled = scaling(view, job, allocation);
  if (options_.spread_cost == 0) return scaled;
  return scaled / (1 + options_.spread_cost * std::max(0, extra_machines(view, allocation)));
}

double CurveSpeed::scaling(const ClusterView& view, JobIndex job, const Allocation& allocation) const {
  const int gpus = schedule::gpus_in(allocation), asked = view.facts(job).gpus;
  const int servers = schedule::servers_in(allocation);
  if (servers > 0) return step_share(asked) / ps_speed().step_s(servers, gpus);
  return gpus == asked ? 1 : step_share(job, asked) / step_share(job, gpus);
}

schedule::PsSpeed CurveSpeed::ps_speed() const {
  const double serial = options_.serial_share;
  return {.a = 1 - serial, .b = serial / 2 - options_.growth, .c = serial / 2, .d = options_.growth};
}

double CurveSpeed::packed_share(const ClusterView& view, JobIndex job, JobIndex other) const {
  const double both = view.facts(job).gpu_utilisation + view.facts(other).gpu_utilisation;
  return std::min(1.0, 1 / both) * (1 - options_.sharing_overhead);
}

double CurveSpeed::batch_gain(const ClusterView&, JobIndex, const Allocation& allocation, double factor) const {
  // The parallel part of a step grows with the batch, the serial one does not; samples are worth less.
  const double serial = options_.serial_share, parallel = (1 - serial) / schedule::gpus_in(allocation);
  const double samples = factor * (parallel + serial) / (factor * parallel + serial);
  return samples * (options_.noise_scale + 1) / (options_.noise_scale + factor);
}

double CurveScaling::step_s(JobIndex job, int gpus) const {
  const int asked = view_.facts(job).gpus;
  if (speed_.has_measured()) return speed_.step_shares(job, gpus, asked);
  return speed_.step_share(gpus) / speed_.step_share(asked);
}

double CurveSpeed::step_shares(JobIndex job, int gpus, int asked) const {
  return step_share(job, gpus) / step_share(job, asked);
}

std::optional<schedule::PsSpeed> CurveScaling::ps_speed(JobIndex job) const {
  return speed_.ps_speed().times(1 / speed_.step_share(view_.facts(job).gpus));
}

double CurveScaling::steps_left(JobIndex job) const {
  // A job that has done all its predicted work and still runs is assumed to end soon.
  return std::max(1.0, schedule::to_seconds(view_.expected_left_ns(job)));
}

int CurveScaling::gpus_max(JobIndex job) const {
  return std::max(view_.facts(job).gpus, view_.facts(job).gpus_max);
}

}  // namespace orrery::simulate
