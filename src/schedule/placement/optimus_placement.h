#pragma once
// Placement of parameter servers and workers (Optimus): on the fewest servers, evenly.
//
// 1. Jobs by increasing number of tasks; servers by used CPU, the freest first.
// 2. For k = 1, 2, …: parameter servers and workers go round-robin to the first k servers. The smallest k that fits
//    wins.
// 3. If none does, tasks go wherever they fit, parameter servers and workers in turn; the job runs if at least one
//    of each is placed, else it waits.
// Equal numbers of both on the fewest servers cross the network least. Ties: earlier job; lower server.

#include <cstdint>
#include <set>
#include <vector>

#include "schedule/allocation.h"
#include "schedule/policies/optimus_ps.h"

namespace orrery::schedule {

struct PsPlace {
  MachineIndex server{};
  PsTasks tasks{};
};

class OptimusPlacement {
 public:
  // Servers with their capacity of each resource.
  explicit OptimusPlacement(IndexedVector<MachineIndex, PsDemand> servers);

  // Places all jobs from scratch. `tasks` by job; places_of() returns the places.
  void place_all(const std::vector<PsJob>& jobs, const std::vector<PsTasks>& tasks);
  // Places only these jobs; all others stay.
  void place_again(const std::vector<PsJob>& jobs, const std::vector<PsTasks>& tasks,
                   const std::vector<std::size_t>& changed);

  const std::vector<PsPlace>& places_of(std::size_t job) const { return places_[job]; }
  // No server holds more than its capacity.
  bool is_sound() const;

 private:
  struct Spot {
    double used = 0;
    MachineIndex server{};
    friend bool operator<(const Spot& a, const Spot& b) {
      return a.used != b.used ? a.used < b.used : a.server < b.server;
    }
  };
  bool fits(MachineIndex server, const PsJob& job, const PsTasks& tasks) const;
  void put(std::size_t index, MachineIndex server, const PsTasks& tasks, double sign);
  void place(std::size_t index, const PsJob& job, const PsTasks& tasks);
  bool place_evenly(std::size_t index, const PsJob& job, const PsTasks& tasks);
  void place_anywhere(std::size_t index, const PsJob& job, const PsTasks& tasks);
  void give_back(std::size_t index);

  IndexedVector<MachineIndex, PsDemand> capacity_, used_;
  std::set<Spot> order_;  // by used CPU
  std::vector<std::vector<PsPlace>> places_;
  struct Demands {
    PsDemand server{}, worker{};
  };
  std::vector<Demands> held_;        // of the tasks in places_, by job
  std::vector<MachineIndex> first_;  // the first servers of order_, while trying
};

}  // namespace orrery::schedule
