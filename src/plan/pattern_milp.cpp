#include "plan/pattern_milp.h"

#include <cmath>

namespace orrery::plan {

PatternMilp::PatternMilp(const LinearCosts& costs, const std::vector<bool>& open) : costs_(costs) {
  for (const double cost : costs.postponed_usd) constant_usd_ += cost;
  for (std::size_t job = 0; job < costs.jobs(); ++job) milp_.add_row(RowSense::kAtMost, 1);
  first_slot_row_ = milp_.rows.size();
  for (std::size_t slot = 0; slot < costs.slots.size(); ++slot) milp_.add_row(RowSense::kAtMost, 0);
  add_nodes();
  add_jobs(open);
}

void PatternMilp::add_nodes() {
  const std::size_t nodes_row = milp_.add_row(RowSense::kAtMost, costs_.nodes_max);
  for (std::size_t vm = 0; vm < costs_.node_usd.size(); ++vm) {
    const int most = costs_.vm_nodes_max[vm];
    const bool limited = most < costs_.nodes_max;
    const std::size_t limit_row = limited ? milp_.add_row(RowSense::kAtMost, most) : 0;
    for (Partition& parts : partitions(costs_.vm_gpus[vm])) {
      MilpColumn column{costs_.node_usd[vm], static_cast<double>(most), {{nodes_row, 1}}};
      if (limited) column.entries.emplace_back(limit_row, 1);
      for (std::size_t i = 0; i < parts.size(); ++i)
        if (parts[i] > 0) column.entries.emplace_back(first_slot_row_ + costs_.first_slot[vm] + i, -parts[i]);
      milp_.columns.push_back(std::move(column));
      cuts_.push_back({vm, std::move(parts)});
    }
  }
}

void PatternMilp::add_jobs(const std::vector<bool>& open) {
  const bool must_run = costs_.running_min > 0;
  const std::size_t running_row =
      must_run ? milp_.add_row(RowSense::kAtLeast, static_cast<double>(costs_.running_min)) : 0;
  const std::size_t one_row = costs_.one_of.empty() ? 0 : milp_.add_row(RowSense::kAtLeast, 1);
  std::vector<bool> is_one(costs_.job_usd.size(), false);
  for (const std::size_t entry : costs_.one_of) is_one[entry] = true;
  for (std::size_t entry = 0; entry < costs_.job_usd.size(); ++entry) {
    const std::size_t job = entry / costs_.slots.size();
    const std::size_t slot = entry % costs_.slots.size();
    const double gain = costs_.job_usd[entry] - costs_.postponed_usd[job];
    if (costs_.job_usd[entry] == kNever || (!open.empty() && !open[entry])) continue;
    if (gain >= 0 && !must_run) continue;  // waiting is as good, and leaves the slot to others
    MilpColumn column{gain, 1, {{job, 1}, {first_slot_row_ + slot, 1}}};
    if (must_run) column.entries.emplace_back(running_row, 1);
    if (is_one[entry]) column.entries.emplace_back(one_row, 1);
    milp_.columns.push_back(std::move(column));
    entries_.push_back(entry);
  }
}

std::optional<Plan> PatternMilp::plan_of(std::span<const double> values) const {
  if (values.size() != milp_.columns.size()) return std::nullopt;
  std::vector<std::vector<std::size_t>> waiting(costs_.slots.size());  // jobs by the slot they got, last first
  for (std::size_t i = entries_.size(); i-- > 0;) {
    if (std::lround(values[cuts_.size() + i]) != 1) continue;
    waiting[entries_[i] % costs_.slots.size()].push_back(entries_[i] / costs_.slots.size());
  }
  Plan plan;
  for (std::size_t i = 0; i < cuts_.size(); ++i) {
    for (long n = std::lround(values[i]); n > 0; --n) {
      Node node{cuts_[i].vm};
      for (std::size_t size = cuts_[i].parts.size(); size-- > 0;) {
        auto& jobs = waiting[costs_.first_slot[cuts_[i].vm] + size];
        for (int part = cuts_[i].parts[size]; part > 0 && !jobs.empty(); --part) {
          node.jobs.push_back({jobs.back(), static_cast<int>(size) + 1});
          jobs.pop_back();
        }
      }
      if (!node.jobs.empty()) plan.nodes.push_back(std::move(node));
    }
  }
  for (const auto& jobs : waiting)
    if (!jobs.empty()) return std::nullopt;
  return plan;
}

}  // namespace orrery::plan
