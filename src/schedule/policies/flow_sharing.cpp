#include "schedule/policies/flow_sharing.h"

namespace orrery::schedule {

namespace {

constexpr int kMissesMax = 64;

struct SharingGroup {
  int host = 0;
  int gpus = 0;
  InterleavingTable::Group group = 0;
  double worth_s = 0;  // sum of value x speed x iteration alone: worth x iteration of all
  bool is_closed = false;
};

class Sharing {
 public:
  Sharing(std::span<const SharingJob> jobs, InterleavingTable& table) : table_(table) {
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      if (jobs[j].gpus == 0) continue;
      groups_.push_back({static_cast<int>(j), jobs[j].gpus, table.alone(jobs[j].kind), worth_s(jobs[j], jobs[j].gpus)});
    }
  }

  // The place of the host it joins; -1: none.
  int join(const SharingJob& job) {
    SharingGroup* best = nullptr;
    double best_gain = 0;
    for (SharingGroup& group : groups_) {
      const bool stays = group.host == job.beside;
      if (job.must_stay ? !stays : group.is_closed || group.gpus > job.speedup->most()) continue;
      const InterleavingTable::Group next = table_.with(group.group, job.kind);
      if (next == InterleavingTable::kNone && job.must_stay) {
        // It runs there, whatever is known of its memory since; no other job can join them.
        group.is_closed = true;
        return group.host;
      }
      if (next == InterleavingTable::kNone) continue;
      const double own = worth_s(job, group.gpus) * (stays ? 1 : 1 - job.change);
      const double gain =
          (group.worth_s + own) / table_.iteration_s(next) - group.worth_s / table_.iteration_s(group.group);
      if (!job.must_stay && gain <= best_gain) continue;
      best = &group;
      best_gain = gain;
    }
    if (best == nullptr) return -1;
    best->worth_s += worth_s(job, best->gpus);
    best->group = table_.with(best->group, job.kind);
    return best->host;
  }

 private:
  // Of a job on this many GPUs, times its iteration alone.
  double worth_s(const SharingJob& job, int gpus) const {
    return job.value * job.speedup->at(gpus) * table_.stages(job.kind).iteration_s;
  }

  InterleavingTable& table_;
  std::vector<SharingGroup> groups_;
};

}  // namespace

std::vector<int> share_gpus(std::span<const SharingJob> jobs, InterleavingTable& table) {
  Sharing sharing(jobs, table);
  std::vector<int> hosts(jobs.size(), -1);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (jobs[j].must_stay) hosts[j] = sharing.join(jobs[j]);
  }
  int misses = 0;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const SharingJob& job = jobs[j];
    if (job.gpus > 0 || job.must_stay || (misses >= kMissesMax && job.beside < 0)) continue;
    hosts[j] = sharing.join(job);
    misses += hosts[j] < 0 ? 1 : 0;
  }
  return hosts;
}

}  // namespace orrery::schedule
