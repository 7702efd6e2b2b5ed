#include "lab/experiments/fraction_cluster.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "base/check.h"
#include "base/text.h"

namespace orrery::lab {

namespace {

constexpr double kGain = 1e-6;  // a move that lowers fragmentation by less is not worth it

std::int64_t free_on(const FractionMachine& machine) {
  return std::accumulate(machine.gpus.begin(), machine.gpus.end(), std::int64_t{0});
}

bool has_others(const FractionMachine& machine, const FractionTask& task) {
  if (machine.cpus < task.cpus || machine.memory < task.memory) return false;
  return task.models.empty() || std::find(task.models.begin(), task.models.end(), machine.model) != task.models.end();
}

int usable_gpus(const FractionMachine& machine, int milli) {
  return static_cast<int>(
      std::count_if(machine.gpus.begin(), machine.gpus.end(), [milli](int free) { return free >= milli; }));
}

bool fits(const FractionMachine& machine, const FractionTask& task) {
  return has_others(machine, task) && usable_gpus(machine, task.milli) >= task.gpus;
}

void change_machine(FractionMachine& machine, const FractionTask& task, const std::vector<int>& gpus, int sign) {
  machine.cpus += sign * task.cpus;
  machine.memory += sign * task.memory;
  for (const int gpu : gpus) machine.gpus[static_cast<std::size_t>(gpu)] += sign * task.milli;
}

// The GPUs of a task whose first GPU is `gpu`: for several, the first ones with enough capacity.
std::vector<int> gpus_of(const FractionMachine& machine, const FractionTask& task, int gpu) {
  if (task.gpus == 0) return {};
  if (task.gpus == 1) return {gpu};
  std::vector<int> result;
  for (std::size_t g = 0; g < machine.gpus.size() && static_cast<int>(result.size()) < task.gpus; ++g) {
    if (machine.gpus[g] >= task.milli) result.push_back(static_cast<int>(g));
  }
  return result;
}

}  // namespace

TaskMix mix_of(const std::vector<FractionTask>& tasks) {
  std::map<FractionTask, double> counts;
  for (const FractionTask& task : tasks) ++counts[task];
  TaskMix mix;
  for (const auto& [task, count] : counts) mix.push_back({task, count / static_cast<double>(tasks.size())});
  return mix;
}

double fragmentation(const FractionMachine& machine, const TaskMix& mix) {
  const auto free = static_cast<double>(free_on(machine));
  if (free == 0) return 0;
  double result = 0;
  for (const MixedTask& kind : mix) {
    if (kind.task.gpus == 0 || !fits(machine, kind.task)) {
      result += kind.share * free;
      continue;
    }
    int useless = 0;
    for (const int gpu : machine.gpus) useless += gpu < kind.task.milli ? gpu : 0;
    result += kind.share * useless;
  }
  return result;
}

Result<FractionRule> fraction_rule(std::string_view name) {
  if (name == "first-fit") return FractionRule::kFirstFit;
  if (name == "best-fit") return FractionRule::kBestFit;
  if (name == "fgd") return FractionRule::kGradient;
  const std::vector<std::string> names = {"first-fit", "best-fit", "fgd"};
  return Error::not_found(
      fmt::format("no rule {}{} (rules: {})", quote(name), did_you_mean(name, names), fmt::join(names, ", ")));
}

FractionCluster::FractionCluster(std::vector<FractionMachine> machines, TaskMix mix)
    : machines_(std::move(machines)), mix_(std::move(mix)), versions_(machines_.size(), 0) {
  for (const FractionMachine& machine : machines_) {
    fragmentation_.push_back(fragmentation(machine, mix_));
    cpus_max_ = std::max(cpus_max_, machine.cpus);
    memory_max_ = std::max(memory_max_, machine.memory);
    gpus_max_ = std::max(gpus_max_, free_on(machine));
  }
}

std::size_t FractionCluster::kind_of(const FractionTask& task) {
  const auto [found, is_new] = kinds_.try_emplace(task, kind_tasks_.size());
  if (is_new) {
    kind_tasks_.push_back(task);
    gradients_.emplace_back(machines_.size());
  }
  return found->second;
}

FractionCluster::Gradient& FractionCluster::gradient(std::size_t kind, std::size_t machine) {
  Gradient& kept = gradients_[kind][machine];
  if (kept.version == versions_[machine]) return kept;
  kept = {versions_[machine], 0, -1};
  const FractionTask& task = kind_tasks_[kind];
  FractionMachine& there = machines_[machine];
  if (!fits(there, task)) return kept;
  const std::size_t choices = task.gpus == 1 ? there.gpus.size() : 1;
  for (std::size_t g = 0; g < choices; ++g) {
    if (task.gpus == 1 && there.gpus[g] < task.milli) continue;
    // GPUs with the same free capacity are alike.
    const auto same = std::find(there.gpus.begin(), there.gpus.end(), there.gpus.empty() ? 0 : there.gpus[g]);
    if (task.gpus == 1 && same - there.gpus.begin() < static_cast<std::ptrdiff_t>(g)) continue;
    const std::vector<int> gpus = gpus_of(there, task, static_cast<int>(g));
    change_machine(there, task, gpus, -1);
    const double value = fragmentation(there, mix_) - fragmentation_[machine];
    change_machine(there, task, gpus, +1);
    if (kept.gpu >= 0 && value >= kept.value) continue;
    kept.value = value;
    kept.gpu = static_cast<int>(g);
  }
  return kept;
}

std::optional<FractionPlace> FractionCluster::steepest(const FractionTask& task, int without, double* value) {
  const std::size_t kind = kind_of(task);
  std::optional<FractionPlace> best;
  double least = 0;
  for (std::size_t m = 0; m < machines_.size(); ++m) {
    if (static_cast<int>(m) == without) continue;
    const Gradient& there = gradient(kind, m);
    if (there.gpu < 0 || (best && there.value >= least)) continue;
    least = there.value;
    best = FractionPlace{static_cast<int>(m), {there.gpu}};
  }
  if (best) best->gpus = gpus_of(machines_[static_cast<std::size_t>(best->machine)], task, best->gpus.front());
  if (value != nullptr) *value = least;
  return best;
}

std::optional<FractionPlace> FractionCluster::find(const FractionTask& task, FractionRule rule) {
  if (rule == FractionRule::kGradient) return steepest(task, -1, nullptr);
  int best = -1;
  double least = 0;
  for (std::size_t m = 0; m < machines_.size(); ++m) {
    const FractionMachine& machine = machines_[m];
    if (!fits(machine, task)) continue;
    const double left = static_cast<double>(machine.cpus) / static_cast<double>(cpus_max_) +
                        static_cast<double>(machine.memory) / static_cast<double>(memory_max_) +
                        static_cast<double>(free_on(machine)) / static_cast<double>(gpus_max_);
    if (best >= 0 && left >= least) continue;
    best = static_cast<int>(m);
    least = left;
    if (rule == FractionRule::kFirstFit) break;
  }
  if (best < 0) return std::nullopt;
  const FractionMachine& machine = machines_[static_cast<std::size_t>(best)];
  int gpu = -1;
  for (std::size_t g = 0; g < machine.gpus.size() && task.gpus == 1; ++g) {
    if (machine.gpus[g] < task.milli) continue;
    const bool fuller = gpu >= 0 && machine.gpus[g] < machine.gpus[static_cast<std::size_t>(gpu)];
    if (gpu < 0 || (fuller && rule == FractionRule::kBestFit)) gpu = static_cast<int>(g);
  }
  return FractionPlace{best, gpus_of(machine, task, gpu)};
}

void FractionCluster::change(const FractionTask& task, const FractionPlace& place, int sign) {
  const auto m = static_cast<std::size_t>(place.machine);
  FractionMachine& machine = machines_[m];
  change_machine(machine, task, place.gpus, sign);
  ORRERY_CHECK(machine.cpus >= 0 && machine.memory >= 0);
  for (const int gpu : place.gpus) {
    const int left = machine.gpus[static_cast<std::size_t>(gpu)];
    ORRERY_CHECK(left >= 0 && left <= kWholeGpu);
  }
  ++versions_[m];
  fragmentation_[m] = fragmentation(machine, mix_);
}

double FractionCluster::fragmentation_milli() const {
  return std::accumulate(fragmentation_.begin(), fragmentation_.end(), 0.0);
}

std::int64_t FractionCluster::free_milli() const {
  std::int64_t free = 0;
  for (const FractionMachine& machine : machines_) free += free_on(machine);
  return free;
}

// How much the fragmentation of its machine falls when the task leaves; below 0: it grows.
double FractionCluster::removal(const Placed& placed) {
  const auto m = static_cast<std::size_t>(placed.place.machine);
  change_machine(machines_[m], placed.task, placed.place.gpus, +1);
  const double after = fragmentation(machines_[m], mix_);
  change_machine(machines_[m], placed.task, placed.place.gpus, -1);
  return fragmentation_[m] - after;
}

int FractionCluster::defragment(std::vector<Placed>& placed, int moves_max) {
  struct Kept {
    std::int64_t version = -1;
    double value = 0;
  };
  std::vector<Kept> removals(placed.size());
  int moves = 0;
  for (; moves < moves_max; ++moves) {
    // Where each kind would go does not depend on the task; the case of the task's own machine is handled below.
    std::map<FractionTask, double> growth;
    std::size_t best = placed.size();
    double most = kGain;
    for (std::size_t i = 0; i < placed.size(); ++i) {
      const std::int64_t version = versions_[static_cast<std::size_t>(placed[i].place.machine)];
      if (removals[i].version != version) removals[i] = {version, removal(placed[i])};
      const auto [found, is_new] = growth.try_emplace(placed[i].task, 0);
      if (is_new) {
        double value = 0;
        found->second = steepest(placed[i].task, -1, &value) ? value : 1e300;
      }
      if (removals[i].value - found->second <= most) continue;
      double value = 0;
      if (!steepest(placed[i].task, placed[i].place.machine, &value) || removals[i].value - value <= most) continue;
      most = removals[i].value - value;
      best = i;
    }
    if (best == placed.size()) break;
    Placed& moved = placed[best];
    const FractionPlace to = *steepest(moved.task, moved.place.machine, nullptr);
    give(moved.task, moved.place);
    take(moved.task, to);
    moved.place = to;
  }
  return moves;
}

}  // namespace orrery::lab
