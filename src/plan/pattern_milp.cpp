#include "plan/pattern_milp.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace orrery::plan {

PatternMilp::PatternMilp(const LinearCosts& costs, const std::vector<bool>& open) : costs_(costs) {
  for (const double cost : costs.postponed_usd) constant_usd_ += cost;
  for (const Node& node : costs.kept) constant_usd_ += costs.node_usd[node.vm];
  for (std::size_t job = 0; job < costs.jobs(); ++job) milp_.add_row(RowSense::kAtMost, 1);
  first_slot_row_ = milp_.rows.size();
  for (std::size_t slot = 0; slot < costs.slots.size(); ++slot) milp_.add_row(RowSense::kAtMost, 0);
  if (costs.has_budget())
    budget_row_ = milp_.add_row(RowSense::kAtMost, costs.instance->budget_usd - total_rent_usd(costs, {costs.kept}));
  add_nodes();
  add_kept();
  add_jobs(open);
  add_spreads();
}

void PatternMilp::add_nodes() {
  const std::size_t nodes_row = milp_.add_row(RowSense::kAtMost, costs_.nodes_max);
  const std::vector<std::vector<std::size_t>> quota_rows = add_quotas();
  for (std::size_t vm = 0; vm < costs_.node_usd.size(); ++vm) {
    const int most = costs_.vm_nodes_max[vm];
    const bool limited = most < costs_.nodes_max;
    const std::size_t limit_row = limited ? milp_.add_row(RowSense::kAtMost, most) : 0;
    for (Partition& parts : partitions(costs_.vm_gpus[vm])) {
      MilpColumn column{costs_.node_usd[vm], static_cast<double>(most), {{nodes_row, 1}}};
      if (limited) column.entries.emplace_back(limit_row, 1);
      for (const std::size_t row : quota_rows[vm]) column.entries.emplace_back(row, costs_.vm_gpus[vm]);
      if (budget_row_) column.entries.emplace_back(*budget_row_, costs_.node_usd[vm]);
      add_cut({vm, std::move(parts)}, std::move(column));
    }
  }
}

// A row for each quota; by VM type the rows it is in.
std::vector<std::vector<std::size_t>> PatternMilp::add_quotas() {
  std::vector<std::vector<std::size_t>> rows(costs_.node_usd.size());
  for (const Quota& quota : costs_.instance->quotas) {
    int left = quota.gpus_max;
    for (const Node& node : costs_.kept)
      if (std::find(quota.vms.begin(), quota.vms.end(), node.vm) != quota.vms.end()) left -= costs_.vm_gpus[node.vm];
    const std::size_t row = milp_.add_row(RowSense::kAtMost, left);
    for (const std::size_t vm : quota.vms) rows[vm].push_back(row);
  }
  return rows;
}

// The free GPUs of machines that stay cost nothing more; machines of a type with as many free GPUs are alike.
void PatternMilp::add_kept() {
  std::map<std::pair<std::size_t, int>, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < costs_.kept.size(); ++i)
    if (const int free = costs_.free_gpus(costs_.kept[i]); free > 0) alike[{costs_.kept[i].vm, free}].push_back(i);
  for (auto& [what, nodes] : alike) {
    const auto count = static_cast<double>(nodes.size());
    const std::size_t row = milp_.add_row(RowSense::kAtMost, count);
    for (Partition& parts : partitions(what.second))
      add_cut({what.first, std::move(parts), nodes}, {0, count, {{row, 1}}});
  }
}

void PatternMilp::add_cut(Cut cut, MilpColumn column) {
  for (std::size_t i = 0; i < cut.parts.size(); ++i)
    if (cut.parts[i] > 0) column.entries.emplace_back(first_slot_row_ + costs_.first_slot[cut.vm] + i, -cut.parts[i]);
  milp_.columns.push_back(std::move(column));
  cuts_.push_back(std::move(cut));
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
    if (costs_.is_pinned(job)) continue;  // is where it is
    const double rent = budget_row_ ? costs_.rent_usd[entry] : 0;
    // Waiting is as good, and leaves the slot to others; unless idle GPUs cost budget.
    if (gain >= 0 && !must_run && rent >= 0) continue;
    MilpColumn column{gain, 1, {{job, 1}, {first_slot_row_ + slot, 1}}};
    if (rent != 0) column.entries.emplace_back(*budget_row_, rent);
    if (must_run) column.entries.emplace_back(running_row, 1);
    if (is_one[entry]) column.entries.emplace_back(one_row, 1);
    milp_.columns.push_back(std::move(column));
    entries_.push_back(entry);
  }
}

void PatternMilp::add_spreads() {
  for (std::size_t i = 0; i < costs_.spreads.size(); ++i) {
    const auto& [spread, usd, rent] = costs_.spreads[i];
    const double gain = usd - costs_.postponed_usd[spread.job];
    if (gain >= 0 && (!budget_row_ || rent >= 0)) continue;
    const std::size_t slot = costs_.slot_of(spread.vm, costs_.vm_gpus[spread.vm]);
    MilpColumn column{gain, 1, {{spread.job, 1}, {first_slot_row_ + slot, static_cast<double>(spread.machines)}}};
    if (budget_row_) column.entries.emplace_back(*budget_row_, rent);
    milp_.columns.push_back(std::move(column));
    spreads_.push_back(i);
  }
}

std::optional<Plan> PatternMilp::plan_of(std::span<const double> values) const {
  if (values.size() != milp_.columns.size()) return std::nullopt;
  std::vector<std::vector<std::size_t>> waiting(costs_.slots.size());  // jobs by the slot they got, last first
  for (std::size_t i = entries_.size(); i-- > 0;) {
    if (std::lround(values[cuts_.size() + i]) != 1) continue;
    waiting[entries_[i] % costs_.slots.size()].push_back(entries_[i] / costs_.slots.size());
  }
  for (std::size_t i = 0; i < spreads_.size(); ++i) {
    if (std::lround(values[cuts_.size() + entries_.size() + i]) != 1) continue;
    const Spread& spread = costs_.spreads[spreads_[i]].spread;
    auto& jobs = waiting[costs_.slot_of(spread.vm, costs_.vm_gpus[spread.vm])];
    jobs.insert(jobs.end(), static_cast<std::size_t>(spread.machines), spread.job);
  }
  Plan plan{costs_.kept};
  std::vector<bool> is_cut(costs_.kept.size(), false);
  for (std::size_t i = 0; i < cuts_.size(); ++i) {
    for (long n = std::lround(values[i]); n > 0; --n) {
      const auto kept = std::find_if(cuts_[i].kept.begin(), cuts_[i].kept.end(), [&](auto k) { return !is_cut[k]; });
      const bool is_new = cuts_[i].kept.empty();
      if (!is_new && kept == cuts_[i].kept.end()) return std::nullopt;
      if (is_new)
        plan.nodes.push_back({cuts_[i].vm});
      else
        is_cut[*kept] = true;
      Node& node = is_new ? plan.nodes.back() : plan.nodes[*kept];
      for (std::size_t size = cuts_[i].parts.size(); size-- > 0;) {
        auto& jobs = waiting[costs_.first_slot[cuts_[i].vm] + size];
        for (int part = cuts_[i].parts[size]; part > 0 && !jobs.empty(); --part) {
          node.jobs.push_back({jobs.back(), static_cast<int>(size) + 1});
          jobs.pop_back();
        }
      }
    }
  }
  std::erase_if(plan.nodes, [](const Node& node) { return node.jobs.empty(); });
  for (const auto& jobs : waiting)
    if (!jobs.empty()) return std::nullopt;
  return plan;
}

}  // namespace orrery::plan
