#include "lab/experiments/saturation.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>

#include "base/parallel.h"
#include "base/random.h"
#include "base/text.h"
#include "simulate/data_file.h"

namespace orrery::lab {

namespace {

constexpr double kNumberMax = 1e9;

Result<std::int64_t> whole_field(const CsvTable& table, const CsvRow& row, std::string_view column) {
  ORRERY_TRY(const double value, number_field(table, row, column));
  if (value < 0 || value > kNumberMax) {
    return Error::invalid(fmt::format("line {}: {} is out of range", row.line, column));
  }
  return static_cast<std::int64_t>(value);
}

class ModelNames {
 public:
  int number(const std::string& name) {
    return numbers_.try_emplace(name, static_cast<int>(numbers_.size())).first->second;
  }

 private:
  std::map<std::string, int> numbers_;
};

Result<std::vector<FractionMachine>> read_machines(env::Files& files, const std::string& path, ModelNames& models) {
  ORRERY_TRY(const CsvTable table, read_csv_file(files, path));
  std::vector<FractionMachine> machines;
  for (const CsvRow& row : table.rows) {
    FractionMachine& machine = machines.emplace_back();
    ORRERY_TRY(machine.cpus, whole_field(table, row, "cpu_milli"));
    ORRERY_TRY(machine.memory, whole_field(table, row, "memory_mib"));
    ORRERY_TRY(const std::int64_t gpus, whole_field(table, row, "gpu"));
    ORRERY_TRY(const std::string model, text_field(table, row, "model"));
    if (gpus > 1024) return Error::invalid(fmt::format("{}: line {}: more than 1024 GPUs", path, row.line));
    machine.gpus.assign(static_cast<std::size_t>(gpus), kWholeGpu);
    machine.model = models.number(model);
  }
  return machines;
}

Result<std::vector<FractionTask>> read_tasks(env::Files& files, const std::string& path, ModelNames& models) {
  ORRERY_TRY(const CsvTable table, read_csv_file(files, path));
  const bool has_models = std::find(table.header.begin(), table.header.end(), "gpu_spec") != table.header.end();
  std::vector<FractionTask> tasks;
  for (const CsvRow& row : table.rows) {
    FractionTask& task = tasks.emplace_back();
    ORRERY_TRY(task.cpus, whole_field(table, row, "cpu_milli"));
    ORRERY_TRY(task.memory, whole_field(table, row, "memory_mib"));
    ORRERY_TRY(const std::int64_t gpus, whole_field(table, row, "num_gpu"));
    ORRERY_TRY(const std::int64_t milli, whole_field(table, row, "gpu_milli"));
    if (gpus > 1024 || milli > kWholeGpu || (gpus > 1 && milli != kWholeGpu) || (gpus > 0 && milli == 0)) {
      return Error::invalid(fmt::format("{}: line {}: expected part of one GPU or whole GPUs", path, row.line));
    }
    task.gpus = static_cast<int>(gpus);
    task.milli = gpus == 0 ? 0 : static_cast<int>(milli);
    if (!has_models) continue;
    ORRERY_TRY(const std::string spec, text_field(table, row, "gpu_spec"));
    for (const std::string& name : split(spec, '|')) {
      if (!name.empty()) task.models.push_back(models.number(name));
    }
    std::sort(task.models.begin(), task.models.end());
  }
  return tasks;
}

class Saturation {
 public:
  Saturation(const SaturationInput& input, const SaturationOptions& options, FractionRule rule, std::uint64_t seed)
      : input_(input),
        options_(options),
        rule_(rule),
        cluster_(input.machines, mix_of(input.tasks)),
        random_(Random(seed).split("tasks")) {}

  SaturationRun run() {
    SaturationRun result;
    const auto all = static_cast<double>(cluster_.free_milli());
    double asked = 0;
    for (const double demand : options_.demands) {
      while (asked < demand * all) asked += arrive();
      result.unallocated.push_back(static_cast<double>(cluster_.free_milli()) / all);
    }
    if (options_.moves_max > 0) {
      result.moves = cluster_.defragment(placed_, options_.moves_max);
      for (const FractionTask& task : refused_) try_place(task);
    }
    result.after_moves = static_cast<double>(cluster_.free_milli()) / all;
    return result;
  }

 private:
  double arrive() {
    const FractionTask& task = input_.tasks[random_.below(input_.tasks.size())];
    if (!try_place(task)) refused_.push_back(task);
    return task.gpu_milli();
  }

  bool try_place(const FractionTask& task) {
    const auto place = cluster_.find(task, rule_);
    if (!place) return false;
    cluster_.take(task, *place);
    placed_.push_back({task, *place});
    return true;
  }

  const SaturationInput& input_;
  const SaturationOptions& options_;
  FractionRule rule_;
  FractionCluster cluster_;
  Random random_;
  std::vector<FractionCluster::Placed> placed_;
  std::vector<FractionTask> refused_;
};

}  // namespace

Result<SaturationInput> read_saturation(env::Files& files, const std::string& machines, const std::string& pods) {
  ModelNames models;
  SaturationInput input;
  ORRERY_TRY(input.machines, read_machines(files, machines, models));
  ORRERY_TRY(input.tasks, read_tasks(files, pods, models));
  const bool any_gpu =
      std::any_of(input.machines.begin(), input.machines.end(), [](const auto& m) { return !m.gpus.empty(); });
  const bool any_task = std::any_of(input.tasks.begin(), input.tasks.end(), [](const auto& t) { return t.gpus > 0; });
  if (!any_gpu) return Error::invalid(machines + ": no machine has a GPU");
  if (!any_task) return Error::invalid(pods + ": no pod asks for a GPU");
  return input;
}

Result<std::vector<SaturationRun>> run_saturation(const SaturationInput& input, const SaturationOptions& options) {
  struct Case {
    std::string name;
    FractionRule rule;
    std::uint64_t seed;
  };
  std::vector<Case> cases;
  for (const std::string& name : options.rules) {
    ORRERY_TRY(const FractionRule rule, fraction_rule(name));
    for (int seed = 1; seed <= options.seeds; ++seed) cases.push_back({name, rule, static_cast<std::uint64_t>(seed)});
  }
  std::vector<SaturationRun> runs(cases.size());
  run_parallel(cases.size(), options.threads, [&](std::size_t i) {
    runs[i] = Saturation(input, options, cases[i].rule, cases[i].seed).run();
    runs[i].rule = cases[i].name;
    runs[i].seed = cases[i].seed;
  });
  return runs;
}

Table to_table(const std::vector<SaturationRun>& runs, const SaturationOptions& options) {
  std::vector<Column> columns = {{"rule", "rule"}};
  for (const double demand : options.demands) {
    columns.push_back({fmt::format("unallocated_at_{:.0f}", 100 * demand),
                       fmt::format("free at {:.0f} %", 100 * demand), CellFormat::kPercent});
  }
  columns.push_back({"moves", "moves", CellFormat::kNumber});
  columns.push_back({"after_moves", "free after moves", CellFormat::kPercent});
  columns.push_back({"below_best_fit", "below best-fit", CellFormat::kPercent});
  columns.push_back({"moved_below_best_fit", "with moves", CellFormat::kPercent});
  Table table(std::move(columns));
  const auto mean = [&](const std::string& rule, const auto& value) {
    double sum = 0;
    int count = 0;
    for (const SaturationRun& run : runs) {
      if (run.rule != rule) continue;
      sum += value(run);
      ++count;
    }
    return sum / std::max(1, count);
  };
  const double best_fit = mean("best-fit", [](const SaturationRun& run) { return run.unallocated.back(); });
  for (const std::string& rule : options.rules) {
    std::vector<Cell> cells = {rule};
    for (std::size_t d = 0; d < options.demands.size(); ++d) {
      cells.emplace_back(mean(rule, [d](const SaturationRun& run) { return run.unallocated[d]; }));
    }
    cells.emplace_back(mean(rule, [](const SaturationRun& run) { return static_cast<double>(run.moves); }));
    const double last = mean(rule, [](const SaturationRun& run) { return run.unallocated.back(); });
    const double moved = mean(rule, [](const SaturationRun& run) { return run.after_moves; });
    cells.emplace_back(moved);
    cells.push_back(best_fit > 0 ? Cell(1 - last / best_fit) : Cell());
    cells.push_back(best_fit > 0 ? Cell(1 - moved / best_fit) : Cell());
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace orrery::lab
