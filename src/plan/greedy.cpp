#include "plan/greedy.h"

#include <algorithm>
#include <array>
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

  Plan run() {
    for (const std::size_t job : by_pressure()) place(job);
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
    const auto choices = configurations(instance_.jobs[job]);
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
      const std::size_t node = *nodes.begin();
      nodes.erase(nodes.begin());
      free_[choice.gpu][static_cast<std::size_t>(size - choice.gpus)].insert(node);
      plan_.nodes[node].jobs.push_back({job, choice.gpus});
      return true;
    }
    return false;
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

}  // namespace orrery::plan
