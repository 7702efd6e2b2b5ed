#include "lab/evaluate/polimi_runs.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/csv.h"
#include "base/text.h"
#include "predict/operators/device_facts.h"
#include "predict/operators/operator_data.h"
#include "predict/readers/data_files.h"

namespace orrery::lab {

namespace {

constexpr double kOtherCellsWeight = 0.3;

struct Board {
  double gflops;
  const char* gpu;
  int host;
};
constexpr Board kBoards[] = {{1195, "P600", 0}, {5591, "K80", 1}, {7365, "M60", 1}, {11339, "GTX 1080 Ti", 0}};

struct Column {
  const char* name;
  double MeasuredRun::*field;
  bool is_needed;
};
constexpr Column kColumns[] = {
    {"GPU number(9)", &MeasuredRun::gpus, false},      {"Network depth(11)", &MeasuredRun::modules, false},
    {"batch size(13)", &MeasuredRun::batch, true},     {"Real Iterations Number(15)", &MeasuredRun::iterations, true},
    {"CPU threads(19)", &MeasuredRun::threads, false}, {"overall execution time(31)", &MeasuredRun::seconds, true}};
constexpr const char* kBoardColumn = "GFlops(7)";
constexpr double kThreads = 4;

Status set_board(double gflops, std::size_t line, PolimiRun& run) {
  for (const Board& board : kBoards) {
    if (board.gflops != gflops) continue;
    ORRERY_TRY(const hardware::Device* device, hardware::find_device(board.gpu));
    run.gpu = board.gpu;
    run.run.peak = facts_of(*device).usable_peak;
    run.run.host = board.host;
    return {};
  }
  return Error::invalid(fmt::format("line {}: {}: {} is none of the four boards", line, kBoardColumn, gflops));
}

template <class Keep>
std::vector<MeasuredRun> those(std::span<const MeasuredRun> runs, Keep keep) {
  std::vector<MeasuredRun> kept;
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(kept), keep);
  return kept;
}

// Known and asked on the two sides of a bound; none if a side is empty.
std::optional<RunSplit> split_above(std::span<const MeasuredRun> known, std::span<const MeasuredRun> asked,
                                    double MeasuredRun::*field, double bound) {
  RunSplit split;
  split.known = those(known, [&](const MeasuredRun& run) { return run.*field <= bound; });
  split.asked = those(asked, [&](const MeasuredRun& run) { return run.*field > bound; });
  if (split.known.empty() || split.asked.empty()) return std::nullopt;
  split.weights.assign(split.known.size(), 1);
  return split;
}

// The same with the largest value there is held back, if `others` different ones are known.
std::optional<RunSplit> split_largest(std::span<const MeasuredRun> known, std::span<const MeasuredRun> asked,
                                      double MeasuredRun::*field, std::size_t others) {
  std::set<double> values;
  for (const MeasuredRun& run : known) values.insert(run.*field);
  for (const MeasuredRun& run : asked) values.insert(run.*field);
  if (values.size() <= others) return std::nullopt;
  return split_above(known, asked, field, *std::next(values.rbegin()));
}

}  // namespace

Result<std::vector<PolimiRun>> parse_polimi_runs(std::string_view csv) {
  ORRERY_TRY(const CsvTable table, parse_csv(csv));
  const auto has = [&](const char* name) {
    return std::find(table.header.begin(), table.header.end(), name) != table.header.end();
  };
  for (const Column& column : kColumns) {
    if (!column.is_needed) continue;
    ORRERY_TRY([[maybe_unused]] const std::size_t place, table.column(column.name));
  }
  std::vector<PolimiRun> runs;
  for (const CsvRow& row : table.rows) {
    PolimiRun& run = runs.emplace_back();
    run.run.threads = kThreads;
    for (const Column& column : kColumns) {
      if (!has(column.name)) continue;
      ORRERY_TRY(run.run.*column.field, positive_field(table, row, column.name));
    }
    if (has(kBoardColumn)) {
      ORRERY_TRY(const double gflops, positive_field(table, row, kBoardColumn));
      ORRERY_TRY_VOID(set_board(gflops, row.line, run));
    }
  }
  return runs;
}

Result<std::vector<PolimiRun>> read_polimi_runs(env::Files& files, const std::string& folder, const std::string& file) {
  ORRERY_TRY(const std::string csv, read_data(files, folder, file));
  auto runs = parse_polimi_runs(csv);
  if (!runs) return std::move(runs).error().with_context(folder + "/" + file);
  return runs;
}

std::vector<CellSplit> largest_batch_splits(std::span<const MeasuredRun> known, std::span<const MeasuredRun> asked) {
  std::map<double, double> largest;  // batch, by GPUs
  for (const auto& runs : {known, asked}) {
    for (const MeasuredRun& run : runs) largest[run.gpus] = std::max(largest[run.gpus], run.batch);
  }
  const std::vector<MeasuredRun> smaller =
      those(known, [&](const MeasuredRun& run) { return run.batch < largest.at(run.gpus); });
  std::vector<CellSplit> cells;
  for (const auto& one : largest) {
    const double gpus = one.first, batch = one.second;  // clang 14 cannot capture structured bindings
    CellSplit cell{gpus, {smaller, {}, {}}};
    bool is_known = false;
    for (const MeasuredRun& run : smaller) {
      is_known = is_known || run.gpus == gpus;
      cell.split.weights.push_back(run.gpus == gpus ? 1 : kOtherCellsWeight);
    }
    cell.split.asked = those(asked, [&](const MeasuredRun& run) { return run.gpus == gpus && run.batch == batch; });
    if (is_known && !cell.split.asked.empty()) cells.push_back(std::move(cell));
  }
  return cells;
}

std::optional<RunSplit> most_gpus_split(std::span<const MeasuredRun> known, std::span<const MeasuredRun> asked) {
  auto split = split_largest(known, asked, &MeasuredRun::gpus, 2);
  if (!split) return std::nullopt;
  for (std::size_t i = 0; i < split->known.size(); ++i) split->weights[i] = std::sqrt(split->known[i].gpus);
  return split;
}

std::optional<RunSplit> modules_split(std::span<const MeasuredRun> known, std::span<const MeasuredRun> asked,
                                      double modules_max) {
  return split_above(known, asked, &MeasuredRun::modules, modules_max);
}

std::optional<RunSplit> fastest_gpu_split(std::span<const MeasuredRun> known, std::span<const MeasuredRun> asked) {
  auto split = split_largest(known, asked, &MeasuredRun::peak, 2);
  if (!split) return std::nullopt;
  std::map<double, double> counts;
  for (const MeasuredRun& run : split->known) counts[run.peak] += 1;
  for (std::size_t i = 0; i < split->known.size(); ++i) split->weights[i] = 1 / std::sqrt(counts[split->known[i].peak]);
  return split;
}

}  // namespace orrery::lab
