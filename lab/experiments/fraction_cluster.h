#pragma once
// Machines whose GPUs are allocated in thousandths, and rules that place a task. A task wants processors, memory and
// either part of one GPU or some whole GPUs, perhaps of certain models only.
//
// Fragmentation of a machine (FGD, ATC'23): the free capacity of its GPUs that a task drawn from the usual mix could
// not use. A task that does not run there (processors, memory, GPUs or model) could use nothing; any other could use
// the GPUs on which as much is free as it wants of each. The mean over the mix is the fragmentation.
//   first-fit   the first machine with enough capacity
//   best-fit    the machine with least free: the sum over processors, memory and GPUs of what is free / the most that
//               any machine has
//   fgd         the machine whose fragmentation grows least (fragmentation gradient descent)
// Of the GPUs of a machine first-fit takes the first with enough capacity, best-fit the fullest, fgd the one it grows
// least with. Ties: the lower machine, then the lower GPU.
// defragment() moves tasks, each time the one whose move lowers the sum of fragmentation most, until none does or as
// many as allowed have moved. Gradients are kept by machine and kind of task and computed again when the machine
// changes: O(machines) per task, and O(kinds x GPUs) for every machine changed since a task of this kind came last.
// Source: Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent"
// (USENIX ATC 2023).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/lab.h"

namespace orrery::lab {

inline constexpr int kWholeGpu = 1000;

struct FractionMachine {
  std::int64_t cpus = 0, memory = 0;  // free, in thousandths and MiB
  std::vector<int> gpus{};            // free of each, in thousandths
  int model = 0;
};

struct FractionTask {
  std::int64_t cpus = 0, memory = 0;
  int gpus = 0;               // with more than one, whole ones
  int milli = 0;              // of each GPU
  std::vector<int> models{};  // on which it runs; empty: any

  int gpu_milli() const { return gpus * milli; }
  friend auto operator<=>(const FractionTask&, const FractionTask&) = default;
};

// A kind of task and how often it comes; the sum over a mix is 1.
struct MixedTask {
  FractionTask task;
  double share = 0;
};
using TaskMix = std::vector<MixedTask>;

TaskMix mix_of(const std::vector<FractionTask>& tasks);

double fragmentation(const FractionMachine& machine, const TaskMix& mix);

enum class FractionRule { kFirstFit, kBestFit, kGradient };
Result<FractionRule> fraction_rule(std::string_view name);

struct FractionPlace {
  int machine = -1;
  std::vector<int> gpus{};
};

class FractionCluster {
 public:
  FractionCluster(std::vector<FractionMachine> machines, TaskMix mix);

  // Where the rule puts the task; no value if it fits nowhere.
  std::optional<FractionPlace> find(const FractionTask& task, FractionRule rule);
  void take(const FractionTask& task, const FractionPlace& place) { change(task, place, -1); }
  void give(const FractionTask& task, const FractionPlace& place) { change(task, place, +1); }

  const std::vector<FractionMachine>& machines() const { return machines_; }
  double fragmentation_milli() const;  // of all machines
  std::int64_t free_milli() const;

  struct Placed {
    FractionTask task;
    FractionPlace place;
  };
  // Returns how many moved.
  int defragment(std::vector<Placed>& placed, int moves_max);

 private:
  struct Gradient {
    std::int64_t version = -1;  // of the machine
    double value = 0;
    int gpu = -1;  // -1: it does not fit; of tasks with whole GPUs any number
  };

  Gradient& gradient(std::size_t kind, std::size_t machine);
  std::size_t kind_of(const FractionTask& task);
  std::optional<FractionPlace> steepest(const FractionTask& task, int without, double* value);
  double removal(const Placed& placed);
  void change(const FractionTask& task, const FractionPlace& place, int sign);

  std::vector<FractionMachine> machines_;
  TaskMix mix_;
  std::vector<std::int64_t> versions_;  // by machine, grows with every change
  std::vector<double> fragmentation_;   // by machine
  std::map<FractionTask, std::size_t> kinds_;
  std::vector<std::vector<Gradient>> gradients_;  // by kind and machine
  std::vector<FractionTask> kind_tasks_;
  std::int64_t cpus_max_ = 1, memory_max_ = 1, gpus_max_ = 1;
};

}  // namespace orrery::lab
