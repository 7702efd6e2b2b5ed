#pragma once
// The servers of Gandiva: which jobs belong to which, and where a new one should go (Algorithm 1). It makes no
// decisions.

#include <deque>
#include <vector>

#include "schedule/state_archive.h"

namespace orrery::schedule {

inline constexpr std::int32_t kAnyType = -1;

struct GandivaServer {
  int gpus = 0;
  std::int32_t type = 0;  // of its devices
  bool up = true;
  int affinity = 0;                 // GPUs per job of its class; 0: none
  int load = 0;                     // GPUs of all its jobs, running or not
  std::deque<JobIndex> ring;        // jobs that do not run, next to run first
  std::vector<JobIndex> running{};  // in the order in which they started
  bool changed = true;              // since fill() looked at it
  JobIndex large = kNoJob;          // a job of several servers, which takes turns with the ring

  bool over_subscribed() const { return load > gpus || (large != kNoJob && has_jobs()); }
  bool has_jobs() const { return !ring.empty() || !running.empty(); }
  int room() const { return large != kNoJob || !up ? 0 : gpus - load; }
};

class GandivaServers {
 public:
  void update(const ClusterView& view);

  IndexedVector<MachineIndex, GandivaServer>& all() { return servers_; }
  GandivaServer& at(MachineIndex server) { return servers_[server]; }

  // All of one type of devices, or of any.
  // GPUs of the largest server.
  int largest(std::int32_t type) const;
  // Step 1 of gandiva.h without defragmentation: a server with enough free GPUs, or kNoMachine.
  MachineIndex with_room(int gpus, std::int32_t type) const;
  // The least loaded server that could hold it when others are suspended; kNoMachine if none is large enough.
  MachineIndex to_share(int gpus, std::int32_t type) const;
  // The fewest servers that together hold `gpus`, none with a large job; empty if there are not enough.
  std::vector<MachineIndex> for_large(int gpus, std::int32_t type) const;
  // GPUs of all jobs over GPUs of a server.
  double load_share(MachineIndex server) const;

  void add(MachineIndex server, JobIndex job, int gpus);
  void remove(MachineIndex server, JobIndex job, int gpus);
  // From the ring to the running jobs, and back to its end.
  void start(MachineIndex server, JobIndex job);
  void suspend(MachineIndex server, JobIndex job);

  // Servers with jobs; what the view says of machines is taken from there. Large jobs are the policy's to enter.
  void exchange(StateArchive& state);

 private:
  IndexedVector<MachineIndex, GandivaServer> servers_;
};

}  // namespace orrery::schedule
