#include "plan/node_milp.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace orrery::plan {

std::optional<NodeMilp> NodeMilp::make(const LinearCosts& costs) {
  const std::size_t of_node = costs.node_usd.size() + costs.jobs() * costs.slots.size();
  if (static_cast<std::size_t>(costs.nodes_max) * of_node > kNodeMilpColumnsMax) return std::nullopt;
  return NodeMilp(costs);
}

NodeMilp::NodeMilp(const LinearCosts& costs) : costs_(&costs) {
  for (const double postponed : costs.postponed_usd) {
    constant_usd_ += postponed;
    job_rows_.push_back(milp_.add_row(RowSense::kAtMost, 1));
  }
  for (const int most : costs.vm_nodes_max) type_rows_.push_back(milp_.add_row(RowSense::kAtMost, most));
  if (costs.running_min > 0) running_row_ = milp_.add_row(RowSense::kAtLeast, static_cast<double>(costs.running_min));
  if (!costs.one_of.empty()) one_of_row_ = milp_.add_row(RowSense::kAtLeast, 1);
  for (int node = 0; node < costs.nodes_max; ++node) add_node(node);
}

void NodeMilp::add_node(int node) {
  const std::size_t one_type = milp_.add_row(RowSense::kAtMost, 1);
  std::vector<std::size_t> gpus;  // rows, by type
  for (std::size_t vm = 0; vm < costs_->node_usd.size(); ++vm) {
    gpus.push_back(milp_.add_row(RowSense::kAtMost, 0));
    milp_.columns.push_back(
        {costs_->node_usd[vm], 1, {{one_type, 1}, {type_rows_[vm], 1}, {gpus[vm], -costs_->vm_gpus[vm]}}});
    runs_.emplace_back();
  }
  for (std::size_t job = 0; job < costs_->jobs(); ++job) {
    for (std::size_t slot = 0; slot < costs_->slots.size(); ++slot) {
      const double cost = costs_->at(job, slot);
      if (cost == kNever) continue;
      MilpColumn column{cost - costs_->postponed_usd[job],
                        1,
                        {{job_rows_[job], 1}, {gpus[costs_->slots[slot].vm], costs_->slots[slot].gpus}}};
      if (running_row_) column.entries.emplace_back(*running_row_, 1);
      const std::size_t entry = job * costs_->slots.size() + slot;
      const bool ends_first = std::find(costs_->one_of.begin(), costs_->one_of.end(), entry) != costs_->one_of.end();
      if (one_of_row_ && ends_first) column.entries.emplace_back(*one_of_row_, 1);
      milp_.columns.push_back(std::move(column));
      runs_.push_back(Run{node, job, slot});
    }
  }
}

Plan NodeMilp::plan_of(std::span<const double> values) const {
  std::map<int, Node> nodes;
  for (std::size_t i = 0; i < std::min(values.size(), runs_.size()); ++i) {
    if (!runs_[i] || std::lround(values[i]) == 0) continue;
    const Slot& slot = costs_->slots[runs_[i]->slot];
    Node& node = nodes[runs_[i]->node];
    node.vm = slot.vm;
    node.jobs.push_back({runs_[i]->job, slot.gpus});
  }
  Plan plan;
  for (auto& [index, node] : nodes) plan.nodes.push_back(std::move(node));
  return plan;
}

}  // namespace orrery::plan
