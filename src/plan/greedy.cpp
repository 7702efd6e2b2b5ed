#include "plan/greedy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

namespace orrery::plan {

namespace {

struct Configuration {
  std::size_t gpu;  // index of the type of GPU
  int gpus;
  double time_s;
};

class Greedy {
 public:
  explicit Greedy(const Instance& instance) : instance_(instance), open_(instance.vm_types.size(), 0) {
    for (std::size_t vm = 0; vm < instance.vm_types.size(); ++vm) {
      const VmType& type = instance.vm_types[vm];
      const auto [entry, added] = gpu_index_.try_emplace(type.gpu, vms_.size());
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
  }

  Plan run() {
    for (const std::size_t job : by_pressure()) place(job);
    for (Node& node : plan_.nodes) shrink(node);
    for (Node& node : plan_.nodes) widen(node);
    return std::move(plan_);
  }

 private:
  std::vector<std::size_t> by_pressure() const {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t job = 0; job < instance_.jobs.size(); ++job) {
      double shortest = std::numeric_limits<double>::infinity();
      for (const auto& [gpu, times] : instance_.jobs[job].times_s)
        if (gpu_index_.contains(gpu)) shortest = std::min(shortest, *std::min_element(times.begin(), times.end()));
      order.emplace_back(instance_.jobs[job].due_s - shortest, job);
    }
    std::sort(order.begin(), order.end());
    std::vector<std::size_t> jobs;
    for (const auto& [slack, job] : order) jobs.push_back(job);
    return jobs;
  }

  std::vector<Configuration> configurations(const Job& job) const {
    std::vector<std::tuple<bool, double, std::size_t, int, double>> ranked;
    for (const auto& [name, times] : job.times_s) {
      const auto found = gpu_index_.find(name);
      if (found == gpu_index_.end()) continue;
      const std::size_t gpu = found->second;
      const int most = std::min(instance_.vm_types[vms_[gpu].front()].gpus, static_cast<int>(times.size()));
      for (int gpus = 1; gpus <= most; ++gpus) {
        const double time = times[static_cast<std::size_t>(gpus) - 1];
        if (!std::isfinite(time)) continue;
        const bool late = instance_.now_s + time > job.due_s;
        ranked.emplace_back(late, late ? time : usd_per_gpu_h_[gpu] * gpus * time, gpu, gpus, time);
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
    if (plan_.nodes.size() == static_cast<std::size_t>(instance_.nodes)) return false;
    for (const std::size_t vm : vms_[choice.gpu]) {
      const VmType& type = instance_.vm_types[vm];
      if (type.gpus < choice.gpus || open_[vm] == type.nodes_max) continue;
      ++open_[vm];
      free_[choice.gpu][static_cast<std::size_t>(type.gpus)].insert(plan_.nodes.size());
      plan_.nodes.push_back({vm});
      return true;
    }
    return false;
  }

  void shrink(Node& node) {
    const VmType& now = instance_.vm_types[node.vm];
    const int used = node.used_gpus();
    std::size_t best = node.vm;
    for (std::size_t vm = 0; vm < instance_.vm_types.size(); ++vm) {
      const VmType& type = instance_.vm_types[vm];
      const bool fits = type.gpu == now.gpu && type.gpus >= used && type.gpus <= used + 1 && type.gpus < now.gpus;
      if (fits && open_[vm] < type.nodes_max && type.price_usd_h < instance_.vm_types[best].price_usd_h) best = vm;
    }
    --open_[node.vm];
    ++open_[best];
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
  Plan plan_;
  std::map<std::string, std::size_t> gpu_index_;
  std::vector<std::vector<std::size_t>> vms_;                            // by type of GPU, the largest first
  std::vector<double> usd_per_gpu_h_;                                    // by type of GPU, the cheapest VM's
  std::vector<int> open_;                                                // nodes by VM type
  std::vector<std::array<std::set<std::size_t>, kVmGpusMax + 1>> free_;  // nodes by type of GPU and free GPUs
};

}  // namespace

Plan greedy_plan(const Instance& instance) {
  return Greedy(instance).run();
}

}  // namespace orrery::plan
