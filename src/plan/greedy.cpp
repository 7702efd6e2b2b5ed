#include "plan/greedy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "plan/limits.h"

namespace orrery::plan {

namespace {

struct Configuration {
  std::size_t gpu;  // index of the type of GPU
  int gpus;
  double time_s;
};

class Greedy {
 public:
  explicit Greedy(const Instance& instance) : instance_(instance), limits_(instance) {
    std::map<std::string, std::size_t> gpu_index;
    for (std::size_t vm = 0; vm < instance.vm_types.size(); ++vm) {
      const VmType& type = instance.vm_types[vm];
      const auto [entry, added] = gpu_index.try_emplace(kind_of(type), vms_.size());
      if (added) {
        vms_.emplace_back();
        usd_per_gpu_h_.push_back(std::numeric_limits<double>::infinity());
      }
      vms_[entry->second].push_back(vm);
      usd_per_gpu_h_[entry->second] = std::min(usd_per_gpu_h_[entry->second], type.price_usd_h / type.gpus);
    }
    for (auto& vms : vms_) {
      std::stable_sort(vms.begin(), vms.end(), [&](std::size_t a, std::size_t b) {
        return instance.vm_types[a].gpus > instance.vm_types[b].gpus;
      });
    }
    free_.resize(vms_.size());
    plan_.nodes = kept_nodes(instance);
    for (std::size_t n = 0; n < plan_.nodes.size(); ++n) {
      const VmType& type = instance.vm_types[plan_.nodes[n].vm];
      limits_.open(plan_.nodes[n].vm);
      free_[gpu_index.at(kind_of(type))][static_cast<std::size_t>(type.gpus - plan_.nodes[n].used_gpus())].insert(n);
    }
  }

  // Leaves choices to chance from now on; both are borrowed.
  void draw_with(const GreedyChance& chance, Random& random) {
    chance_ = &chance;
    random_ = &random;
  }

  Plan run() {
    std::vector<std::size_t> order = by_pressure();
    if (random_ != nullptr) swap_neighbours(order);
    for (const std::size_t job : order) place(job);
    for (Node& node : plan_.nodes) shrink(node);
    for (Node& node : plan_.nodes) widen(node);
    return std::move(plan_);
  }

 private:
  // GPUs on which a job takes the same time whatever the VM type.
  static std::string kind_of(const VmType& type) {
    return type.spot ? fmt::format("{}\n{}", type.gpu, type.name) : fmt::format("{}\n{}", type.gpu, type.memory_gib);
  }
  const VmType& largest(std::size_t gpu) const { return instance_.vm_types[vms_[gpu].front()]; }

  std::vector<std::size_t> by_pressure() const {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t job = 0; job < instance_.jobs.size(); ++job) {
      if (instance_.jobs[job].is_pinned()) continue;
      double shortest = std::numeric_limits<double>::infinity();
      for (std::size_t gpu = 0; gpu < vms_.size(); ++gpu)
        for (int gpus = 1; gpus <= largest(gpu).gpus; ++gpus)
          if (const auto time = time_s(instance_.jobs[job], largest(gpu), gpus)) shortest = std::min(shortest, *time);
      order.emplace_back(instance_.jobs[job].due_s - shortest, job);
    }
    std::sort(order.begin(), order.end());
    std::vector<std::size_t> jobs;
    for (const auto& [slack, job] : order) jobs.push_back(job);
    return jobs;
  }

  void swap_neighbours(std::vector<std::size_t>& order) const {
    for (std::size_t i = 1; i < order.size(); ++i) {
      const bool heavier = instance_.jobs[order[i - 1]].weight_usd_s > instance_.jobs[order[i]].weight_usd_s;
      if (random_->uniform() < 0.5 + (heavier ? chance_->swap : -chance_->swap)) std::swap(order[i - 1], order[i]);
    }
  }

  // Draws one of the best `share` of this many; the first without chance.
  std::size_t drawn(double share, std::size_t count) const {
    const auto best = static_cast<std::uint64_t>(std::lround(share * static_cast<double>(count)));
    return best < 2 ? 0 : random_->below(best);
  }

  std::vector<Configuration> configurations(const Job& job) const {
    std::vector<std::tuple<bool, double, std::size_t, int, double>> ranked;
    for (std::size_t gpu = 0; gpu < vms_.size(); ++gpu) {
      for (int gpus = 1; gpus <= largest(gpu).gpus; ++gpus) {
        const auto time = time_s(job, largest(gpu), gpus);
        if (!time) continue;
        const bool late = instance_.now_s + *time > job.due_s;
        ranked.emplace_back(late, late ? *time : usd_per_gpu_h_[gpu] * gpus * *time, gpu, gpus, *time);
      }
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<Configuration> sorted;
    for (const auto& [late, rank, gpu, gpus, time] : ranked) sorted.push_back({gpu, gpus, time});
    return sorted;
  }

  void place(std::size_t job) {
    auto choices = configurations(instance_.jobs[job]);
    if (random_ != nullptr && !choices.empty()) {
      const auto first = static_cast<std::ptrdiff_t>(drawn(chance_->configurations, choices.size()));
      std::rotate(choices.begin(), choices.begin() + first, choices.begin() + first + 1);
    }
    for (const Configuration& choice : choices) {
      if (place_on_open(job, choice)) return;
      if (open_node(choice)) {
        place_on_open(job, choice);
        return;
      }
    }
  }

  bool place_on_open(std::size_t job, const Configuration& choice) {
    for (int size = choice.gpus; size <= kVmGpusMax; ++size) {
      std::set<std::size_t>& nodes = free_[choice.gpu][static_cast<std::size_t>(size)];
      if (nodes.empty()) continue;
      if (random_ != nullptr) return place_on_some(job, choice, size);
      const std::size_t node = *nodes.begin();
      nodes.erase(nodes.begin());
      put(job, node, choice, size);
      return true;
    }
    return false;
  }

  // On one of the fullest nodes with enough free GPUs; the first of them has this many.
  bool place_on_some(std::size_t job, const Configuration& choice, int free_least) {
    std::size_t count = 0;
    for (int size = free_least; size <= kVmGpusMax; ++size)
      count += free_[choice.gpu][static_cast<std::size_t>(size)].size();
    std::size_t skip = drawn(chance_->nodes, count);
    int size = free_least;
    while (skip >= free_[choice.gpu][static_cast<std::size_t>(size)].size())
      skip -= free_[choice.gpu][static_cast<std::size_t>(size++)].size();
    std::set<std::size_t>& nodes = free_[choice.gpu][static_cast<std::size_t>(size)];
    const auto chosen = std::next(nodes.begin(), static_cast<std::ptrdiff_t>(skip));
    const std::size_t node = *chosen;
    nodes.erase(chosen);
    put(job, node, choice, size);
    return true;
  }

  void put(std::size_t job, std::size_t node, const Configuration& choice, int free) {
    free_[choice.gpu][static_cast<std::size_t>(free - choice.gpus)].insert(node);
    plan_.nodes[node].jobs.push_back({job, choice.gpus});
  }

  bool open_node(const Configuration& choice) {
    for (const std::size_t vm : vms_[choice.gpu]) {
      const VmType& type = instance_.vm_types[vm];
      if (type.gpus < choice.gpus || !limits_.may_open(vm)) continue;
      limits_.open(vm);
      free_[choice.gpu][static_cast<std::size_t>(type.gpus)].insert(plan_.nodes.size());
      plan_.nodes.push_back({vm});
      return true;
    }
    return false;
  }

  bool is_pinned(const RunningJob& one) const { return instance_.jobs[one.job].is_pinned(); }

  void shrink(Node& node) {
    if (std::any_of(node.jobs.begin(), node.jobs.end(), [&](const RunningJob& one) { return is_pinned(one); })) return;
    const VmType& now = instance_.vm_types[node.vm];
    const std::string kind = kind_of(now);
    const int used = node.used_gpus();
    if (used == now.gpus) return;
    std::size_t best = node.vm;
    for (std::size_t vm = 0; vm < instance_.vm_types.size(); ++vm) {
      const VmType& type = instance_.vm_types[vm];
      const bool fits = kind_of(type) == kind && type.gpus >= used && type.gpus <= used + 1 && type.gpus < now.gpus;
      if (fits && limits_.may_become(node.vm, vm) && type.price_usd_h < instance_.vm_types[best].price_usd_h) best = vm;
    }
    limits_.close(node.vm);
    limits_.open(best);
    node.vm = best;
  }

  void widen(Node& node) const {
    const VmType& type = instance_.vm_types[node.vm];
    const int idle = type.gpus - node.used_gpus();
    if (idle == 0) return;
    RunningJob* best = nullptr;
    double most = 0;
    for (RunningJob& one : node.jobs) {
      const Job& job = instance_.jobs[one.job];
      if (is_pinned(one)) continue;
      const auto wider = time_s(job, type, one.gpus + idle);
      if (!wider) continue;
      const double gain = *time_s(job, type, one.gpus) - *wider;
      if (gain <= most) continue;
      most = gain;
      best = &one;
    }
    if (best != nullptr) best->gpus += idle;
  }

  const Instance& instance_;
  const GreedyChance* chance_ = nullptr;
  Random* random_ = nullptr;
  NodeLimits limits_;
  Plan plan_;
  std::vector<std::vector<std::size_t>> vms_;                            // by type of GPU, the largest first
  std::vector<double> usd_per_gpu_h_;                                    // by type of GPU, the cheapest VM's
  std::vector<std::array<std::set<std::size_t>, kVmGpusMax + 1>> free_;  // nodes by type of GPU and free GPUs
};

}  // namespace

Plan greedy_plan(const Instance& instance) {
  return Greedy(instance).run();
}

Plan random_greedy_plan(const Instance& instance, const GreedyChance& chance, Random& random) {
  Greedy greedy(instance);
  greedy.draw_with(chance, random);
  return greedy.run();
}

}  // namespace orrery::plan
