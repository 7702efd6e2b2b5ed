#pragma once
// What was decided: the nodes that are open, and which jobs run on them with how many GPUs. Jobs on no node are
// postponed.

#include <cstddef>
#include <vector>

namespace orrery::plan {

struct RunningJob {
  std::size_t job = 0;  // index in Instance::jobs
  int gpus = 1;

  friend bool operator==(const RunningJob&, const RunningJob&) = default;
};

struct Node {
  std::size_t vm = 0;  // index in Instance::vm_types
  std::vector<RunningJob> jobs{};

  int used_gpus() const {
    int used = 0;
    for (const RunningJob& one : jobs) used += one.gpus;
    return used;
  }
  friend bool operator==(const Node&, const Node&) = default;
};

struct Plan {
  std::vector<Node> nodes;

  friend bool operator==(const Plan&, const Plan&) = default;
};

}  // namespace orrery::plan
