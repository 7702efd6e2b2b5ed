#pragma once
// How many machines may be open: of all types, of each, and of those that share a quota of GPUs. Machines with pinned
// jobs are open whatever is decided.

#include "plan/instance.h"
#include "plan/plan.h"

namespace orrery::plan {

// Machines with pinned jobs, by their name; pinned jobs only.
std::vector<Node> kept_nodes(const Instance& instance);

// Whether the machines that must stay can: kInfeasible says which limit they break and by how much.
Status check_pinned(const Instance& instance);

// Counts open machines. The instance is borrowed.
class NodeLimits {
 public:
  explicit NodeLimits(const Instance& instance);

  bool may_open(std::size_t vm) const;
  // Whether a machine that is open may become one of another type.
  bool may_become(std::size_t from, std::size_t to);
  void open(std::size_t vm);
  void close(std::size_t vm);
  int open_nodes() const { return open_nodes_; }

 private:
  const Instance* instance_;
  int open_nodes_ = 0;
  std::vector<int> open_;                            // by VM type
  std::vector<int> quota_gpus_;                      // open, by quota
  std::vector<std::vector<std::size_t>> quotas_of_;  // by VM type
};

}  // namespace orrery::plan
