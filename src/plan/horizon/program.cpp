#include "plan/horizon/program.h"

#include <algorithm>
#include <cmath>

namespace orrery::plan::horizon {

Program::Program(const Problem& problem, const Configurations& configurations,
                 const std::function<bool(std::size_t, const Start&)>& open)
    : problem_(problem), configurations_(configurations) {
  find_kinds();
  add_rows();
  add_configurations(open);
  add_cuts();
  constant_usd_ = configurations.left_out_usd() * static_cast<double>(problem.tasks.size());
}

bool Program::alike(std::size_t a, std::size_t b) const {
  const Task& one = problem_.tasks[a];
  const Task& other = problem_.tasks[b];
  if (one.modes.size() != other.modes.size()) return false;
  for (std::size_t m = 0; m < one.modes.size(); ++m) {
    const Mode& x = one.modes[m];
    const Mode& y = other.modes[m];
    if (x.vm != y.vm || x.gpus != y.gpus || x.machines != y.machines || x.time_s != y.time_s) return false;
    for (int k = 0; k < problem_.periods; ++k)
      if (configurations_.usd(a, m, k) != configurations_.usd(b, m, k)) return false;
  }
  return true;
}

void Program::find_kinds() {
  for (std::size_t task = 0; task < problem_.tasks.size(); ++task) {
    const auto found =
        std::find_if(kinds_.begin(), kinds_.end(), [&](const auto& kind) { return alike(kind.front(), task); });
    if (found != kinds_.end())
      found->push_back(task);
    else
      kinds_.push_back({task});
  }
}

void Program::add_rows() {
  for (const auto& kind : kinds_) milp_.add_row(RowSense::kAtMost, static_cast<double>(kind.size()));
  first_part_row_ = milp_.rows.size();
  for (const VmType& type : problem_.vm_types) {
    first_part_.push_back(parts_);
    parts_ += static_cast<std::size_t>(type.gpus);
    partitions_.push_back(partitions(type.gpus));
  }
  for (std::size_t i = 0; i < parts_ * static_cast<std::size_t>(problem_.periods); ++i)
    milp_.add_row(RowSense::kAtMost, 0);
  for (const Budget& budget : problem_.budgets) budget_rows_.push_back(milp_.add_row(RowSense::kAtMost, budget.most));
}

std::size_t Program::part_row(std::size_t vm, int gpus, int period) const {
  return first_part_row_ + static_cast<std::size_t>(period) * parts_ + first_part_[vm] +
         static_cast<std::size_t>(gpus) - 1;
}

void Program::add_configurations(const std::function<bool(std::size_t, const Start&)>& open) {
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
    const std::size_t task = kinds_[kind].front();
    const auto count = static_cast<double>(kinds_[kind].size());
    for (std::size_t m = 0; m < problem_.tasks[task].modes.size(); ++m) {
      const Mode& mode = problem_.tasks[task].modes[m];
      for (int k = 0; k < problem_.periods; ++k) {
        const double usd = configurations_.usd(task, m, k);
        if (usd == kNever || !open(task, {m, k})) continue;
        MilpColumn column{usd - configurations_.left_out_usd(), count, {{kind, 1}}};
        for (int t = k; t < k + configurations_.length(task, m); ++t)
          column.entries.emplace_back(part_row(mode.vm, mode.gpus, t), mode.machines);
        for (std::size_t b = 0; b < budget_rows_.size(); ++b)
          if (const double busy = busy_of(problem_, problem_.budgets[b].tariff, mode, k); busy > 0)
            column.entries.emplace_back(budget_rows_[b], busy);
        milp_.columns.push_back(std::move(column));
        configuration_columns_.push_back({kind, {m, k}});
      }
    }
  }
}

void Program::add_cuts() {
  for (int t = 0; t < problem_.periods; ++t) {
    const std::size_t nodes_row = milp_.add_row(RowSense::kAtMost, problem_.nodes);
    std::vector<std::size_t> quota_rows;
    for (const Quota& quota : problem_.quotas) quota_rows.push_back(milp_.add_row(RowSense::kAtMost, quota.gpus_max));
    for (std::size_t vm = 0; vm < problem_.vm_types.size(); ++vm) {
      const VmType& type = problem_.vm_types[vm];
      const int most = std::min(problem_.nodes, type.nodes_max);
      const bool limited = most < problem_.nodes;
      const std::size_t limit_row = limited ? milp_.add_row(RowSense::kAtMost, most) : 0;
      for (const Partition& parts : partitions_[vm]) {
        MilpColumn column{problem_.tariff.machine[problem_.at(vm, t)], static_cast<double>(most), {{nodes_row, 1}}};
        if (limited) column.entries.emplace_back(limit_row, 1);
        for (std::size_t q = 0; q < quota_rows.size(); ++q) {
          const auto& vms = problem_.quotas[q].vms;
          if (std::find(vms.begin(), vms.end(), vm) != vms.end()) column.entries.emplace_back(quota_rows[q], type.gpus);
        }
        for (std::size_t b = 0; b < budget_rows_.size(); ++b)
          if (const double used = problem_.budgets[b].tariff.machine[problem_.at(vm, t)]; used > 0)
            column.entries.emplace_back(budget_rows_[b], used);
        for (std::size_t size = 0; size < parts.size(); ++size)
          if (parts[size] > 0) column.entries.emplace_back(part_row(vm, static_cast<int>(size) + 1, t), -parts[size]);
        milp_.columns.push_back(std::move(column));
        cut_columns_.push_back({vm, t, &parts});
      }
    }
  }
}

std::vector<Node> Program::nodes_at(int period, const std::vector<std::optional<Start>>& starts,
                                    const std::vector<double>& values, bool& fits) const {
  std::vector<std::vector<std::size_t>> waiting(parts_);
  for (std::size_t task = starts.size(); task-- > 0;) {
    if (!starts[task]) continue;
    const Mode& mode = problem_.tasks[task].modes[starts[task]->mode];
    if (period < starts[task]->period ||
        period >= starts[task]->period + configurations_.length(task, starts[task]->mode))
      continue;
    auto& tasks = waiting[first_part_[mode.vm] + static_cast<std::size_t>(mode.gpus) - 1];
    tasks.insert(tasks.end(), static_cast<std::size_t>(mode.machines), task);
  }
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < cut_columns_.size(); ++i) {
    const CutColumn& cut = cut_columns_[i];
    if (cut.period != period) continue;
    for (long n = std::lround(values[configuration_columns_.size() + i]); n > 0; --n) {
      Node node{cut.vm};
      for (std::size_t size = cut.parts->size(); size-- > 0;) {
        auto& tasks = waiting[first_part_[cut.vm] + size];
        for (int part = (*cut.parts)[size]; part > 0 && !tasks.empty(); --part) {
          node.jobs.push_back({tasks.back(), static_cast<int>(size) + 1});
          tasks.pop_back();
        }
      }
      if (!node.jobs.empty()) nodes.push_back(std::move(node));
    }
  }
  fits = fits && std::all_of(waiting.begin(), waiting.end(), [](const auto& tasks) { return tasks.empty(); });
  return nodes;
}

std::optional<Schedule> Program::schedule_of(const std::vector<double>& values) const {
  Schedule schedule;
  schedule.starts.resize(problem_.tasks.size());
  std::vector<std::size_t> next(kinds_.size(), 0);
  for (std::size_t i = 0; i < configuration_columns_.size(); ++i) {
    const ConfigurationColumn& configuration = configuration_columns_[i];
    for (long n = std::lround(values[i]); n > 0; --n) {
      if (next[configuration.kind] == kinds_[configuration.kind].size()) return std::nullopt;
      schedule.starts[kinds_[configuration.kind][next[configuration.kind]++]] = configuration.start;
    }
  }
  bool fits = true;
  for (int t = 0; t < problem_.periods; ++t) schedule.nodes.push_back(nodes_at(t, schedule.starts, values, fits));
  if (!fits) return std::nullopt;
  return schedule;
}

}  // namespace orrery::plan::horizon
