#include "plan/limits.h"

#include <algorithm>
#include <fmt/format.h>

namespace orrery::plan {

std::vector<Node> kept_nodes(const Instance& instance) {
  std::map<std::string, Node> nodes;
  for (std::size_t i = 0; i < instance.jobs.size(); ++i) {
    const Job& job = instance.jobs[i];
    if (!job.is_pinned()) continue;
    Node& node = nodes[job.pinned_on];
    node.vm = job.held->first;
    node.jobs.push_back({i, job.held->second});
  }
  std::vector<Node> kept;
  for (auto& [name, node] : nodes) kept.push_back(std::move(node));
  return kept;
}

namespace {

double rent_usd(const Instance& instance, const Node& node) {
  const VmType& type = instance.vm_types[node.vm];
  const double gpu_usd_s = type.price_usd_h / 3600 / type.gpus;
  double sum = gpu_usd_s * (type.gpus - node.used_gpus()) * instance.horizon_s;
  for (const RunningJob& one : node.jobs)
    sum += gpu_usd_s * one.gpus * time_s(instance.jobs[one.job], type, one.gpus).value_or(0);
  return sum;
}

Status check_machine(const Instance& instance, const Node& node) {
  const VmType& type = instance.vm_types[node.vm];
  const std::string& name = instance.jobs[node.jobs.front().job].pinned_on;
  for (const RunningJob& one : node.jobs)
    if (instance.jobs[one.job].held->first != node.vm)
      return Error::infeasible(fmt::format("pinned_on: machine \"{}\" is a {} for one job and a {} for another", name,
                                           instance.vm_types[instance.jobs[one.job].held->first].name, type.name));
  if (node.used_gpus() > type.gpus)
    return Error::infeasible(
        fmt::format("pinned_on: machine \"{}\": pinned jobs hold {} GPUs, a {} has {}: {} too many", name,
                    node.used_gpus(), type.name, type.gpus, node.used_gpus() - type.gpus));
  return {};
}

// The limit that the machines break, as text; empty if none.
std::string broken_limit(const Instance& instance, const std::vector<Node>& kept) {
  if (kept.size() > static_cast<std::size_t>(instance.nodes))
    return fmt::format("nodes: {} machines have pinned jobs, {} may be open: {} too many", kept.size(), instance.nodes,
                       kept.size() - static_cast<std::size_t>(instance.nodes));
  std::vector<int> open(instance.vm_types.size(), 0);
  for (const Node& node : kept) ++open[node.vm];
  for (std::size_t vm = 0; vm < open.size(); ++vm) {
    const VmType& type = instance.vm_types[vm];
    if (open[vm] > type.nodes_max)
      return fmt::format("max_nodes of {}: {} machines have pinned jobs, {} may be open: {} too many", type.name,
                         open[vm], type.nodes_max, open[vm] - type.nodes_max);
  }
  for (const Quota& quota : instance.quotas) {
    int gpus = 0;
    for (const std::size_t vm : quota.vms) gpus += open[vm] * instance.vm_types[vm].gpus;
    if (gpus > quota.gpus_max)
      return fmt::format("quota \"{}\": machines with pinned jobs have {} GPUs, {} are allowed: {} too many",
                         quota.name, gpus, quota.gpus_max, gpus - quota.gpus_max);
  }
  return {};
}

}  // namespace

Status check_pinned(const Instance& instance) {
  const std::vector<Node> kept = kept_nodes(instance);
  double rent = 0;
  for (const Node& node : kept) {
    ORRERY_TRY_VOID(check_machine(instance, node));
    rent += rent_usd(instance, node);
  }
  const std::string broken = broken_limit(instance, kept);
  if (!broken.empty()) return Error::infeasible(broken);
  if (rent > instance.budget_usd)
    return Error::infeasible(
        fmt::format("budget_usd: machines with pinned jobs cost {:.2f} USD, {:.2f} are allowed: {:.2f} "
                    "too much",
                    rent, instance.budget_usd, rent - instance.budget_usd));
  return {};
}

NodeLimits::NodeLimits(const Instance& instance)
    : instance_(&instance),
      open_(instance.vm_types.size(), 0),
      quota_gpus_(instance.quotas.size(), 0),
      quotas_of_(instance.vm_types.size()) {
  for (std::size_t q = 0; q < instance.quotas.size(); ++q)
    for (const std::size_t vm : instance.quotas[q].vms) quotas_of_[vm].push_back(q);
}

bool NodeLimits::may_open(std::size_t vm) const {
  if (open_nodes_ >= instance_->nodes || open_[vm] >= instance_->vm_types[vm].nodes_max) return false;
  return std::all_of(quotas_of_[vm].begin(), quotas_of_[vm].end(), [&](std::size_t quota) {
    return quota_gpus_[quota] + instance_->vm_types[vm].gpus <= instance_->quotas[quota].gpus_max;
  });
}

bool NodeLimits::may_become(std::size_t from, std::size_t to) {
  close(from);
  const bool may = may_open(to);
  open(from);
  return may;
}

void NodeLimits::open(std::size_t vm) {
  ++open_nodes_;
  ++open_[vm];
  for (const std::size_t quota : quotas_of_[vm]) quota_gpus_[quota] += instance_->vm_types[vm].gpus;
}

void NodeLimits::close(std::size_t vm) {
  --open_nodes_;
  --open_[vm];
  for (const std::size_t quota : quotas_of_[vm]) quota_gpus_[quota] -= instance_->vm_types[vm].gpus;
}

}  // namespace orrery::plan
