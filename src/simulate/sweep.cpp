#include "simulate/sweep.h"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/parallel.h"
#include "base/text.h"

namespace orrery::simulate {

namespace {

constexpr Bytes kSweepBytesMax = mebibytes(256);
constexpr std::string_view kSetup = "setup", kRowBegin = R"({"setup":)";

std::string line_of(const Summary& summary, const std::string& fingerprint) {
  nlohmann::ordered_json row;
  row[std::string(kSetup)] = fingerprint;
  const auto parsed = nlohmann::ordered_json::parse(to_table({summary}).to_json());
  for (const auto& field : parsed.front().items()) row[field.key()] = field.value();
  return row.dump() + "\n";
}

// Rows of one setup that are in a file; a file that is not there has none. A last line that was cut off is taken out.
Result<std::vector<Summary>> read_rows(const std::string& file, const std::string& fingerprint, env::Files& files) {
  std::vector<Summary> rows;
  if (!files.exists(file)) return rows;
  ORRERY_TRY(std::string text, files.read(file, kSweepBytesMax));
  const std::size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  const std::string rest = text.substr(whole);
  std::size_t number = 0;
  const auto not_ours = [&] {
    return Error::invalid(fmt::format("{}:{}: not a row of a sweep; give another file", file, number));
  };
  text.resize(whole);
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    const auto row = nlohmann::json::parse(line, nullptr, false);
    if (!row.is_object() || !row.contains(kSetup) || !row[std::string(kSetup)].is_string()) {
      return not_ours();
    }
    if (row[std::string(kSetup)] != fingerprint) continue;
    auto summary = summary_of_json(line);
    if (!summary) return std::move(summary).error().with_context(fmt::format("{}:{}", file, number));
    rows.push_back(std::move(*summary));
  }
  if (rest.empty()) return rows;
  // Whatever is not the beginning of a row of ours must not be lost.
  if (!rest.starts_with(kRowBegin.substr(0, rest.size()))) return not_ours();
  ORRERY_TRY_VOID(files.write_atomically(file, text));
  return rows;
}

const Summary* find_row(const std::vector<Summary>& rows, std::string_view policy, std::uint64_t seed) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Summary& s) { return s.policy == policy && s.seed == seed; });
  return found == rows.end() ? nullptr : &*found;
}

Status keep(env::AppendLog& log, const Summary& summary, const SweepInput& input) {
  Status kept = log.append(line_of(summary, input.fingerprint));
  if (kept) kept = log.sync();
  if (!kept) return std::move(kept).error().with_context(input.file);
  return {};
}

}  // namespace

Result<SweepResult> run_sweep(const SweepInput& input, env::Files& files, const std::function<void()>& done) {
  std::vector<Summary> known;
  std::unique_ptr<env::AppendLog> log;
  if (!input.file.empty()) {
    ORRERY_TRY(known, read_rows(input.file, input.fingerprint, files));
    ORRERY_TRY(log, files.open_log(input.file));
  }
  const auto seeds = static_cast<std::size_t>(input.seeds);
  const std::size_t count = input.policies.size() * seeds;
  std::vector<std::optional<Summary>> rows(count);
  std::vector<std::size_t> missing;
  SweepResult result;
  for (std::size_t i = 0; i < count; ++i) {
    const Summary* found = find_row(known, input.policies[i / seeds], input.first_seed + i % seeds);
    if (found == nullptr) {
      missing.push_back(i);
      continue;
    }
    rows[i] = *found;
    ++result.kept;
    if (done) done();
  }
  std::mutex lock;
  std::optional<Error> failed;  // to keep a row
  std::vector<std::optional<Error>> refused(count);
  run_parallel(missing.size(), input.threads, [&](std::size_t m) {
    {
      const std::lock_guard<std::mutex> guard(lock);
      if (failed) return;
    }
    const std::size_t i = missing[m];
    const std::uint64_t seed = input.first_seed + i % seeds;
    const RunSetup setup = input.setup(seed);
    auto run = run_policy(input.job_trace, setup, input.policies[i / seeds]);
    const std::lock_guard<std::mutex> guard(lock);
    if (!run) {
      refused[i] = std::move(run).error();
      if (done) done();
      return;
    }
    int gpus = 0;
    for (const schedule::MachineView& machine : setup.machines) gpus += machine.gpus;
    Summary summary = summarise(input.job_trace, *run, gpus, input.gpu_price);
    summary.seed = seed;
    if (log) {
      Status kept = keep(*log, summary, input);
      if (!kept && !failed) failed = std::move(kept).error();
    }
    rows[i] = std::move(summary);
    if (done) done();
  });
  if (failed) return std::move(*failed);
  for (std::size_t i = 0; i < count; ++i) {
    if (rows[i]) result.rows.push_back(std::move(*rows[i]));
    if (refused[i]) {
      result.failures.push_back({input.policies[i / seeds], input.first_seed + i % seeds, std::move(*refused[i])});
    }
  }
  return result;
}

Result<std::vector<SweepRun>> missing_runs(const SweepInput& input, env::Files& files) {
  ORRERY_TRY(const std::vector<Summary> known, read_rows(input.file, input.fingerprint, files));
  std::vector<SweepRun> missing;
  for (const std::string& policy : input.policies) {
    for (int i = 0; i < input.seeds; ++i) {
      const std::uint64_t seed = input.first_seed + static_cast<std::uint64_t>(i);
      if (find_row(known, policy, seed) == nullptr) missing.push_back({policy, seed});
    }
  }
  return missing;
}

Status adopt_rows(const SweepInput& input, env::Files& files, const std::string& from) {
  ORRERY_TRY(std::vector<Summary> known, read_rows(input.file, input.fingerprint, files));
  ORRERY_TRY(const std::vector<Summary> rows, read_rows(from, input.fingerprint, files));
  ORRERY_TRY(const std::unique_ptr<env::AppendLog> log, files.open_log(input.file));
  for (const Summary& row : rows) {
    if (find_row(known, row.policy, row.seed) != nullptr) continue;
    ORRERY_TRY_VOID(keep(*log, row, input));
    known.push_back(row);
  }
  return {};
}

Table spread_table(const std::vector<Summary>& rows) {
  Table table({{"policy", "policy"},
               {"seeds", "seeds", CellFormat::kInteger},
               {"mean_s", "mean", CellFormat::kSeconds},
               {"mean_low_s", "lowest", CellFormat::kSeconds},
               {"mean_high_s", "highest", CellFormat::kSeconds},
               {"p99_s", "p99", CellFormat::kSeconds},
               {"queueing_s", "queueing", CellFormat::kSeconds},
               {"makespan_s", "makespan", CellFormat::kSeconds},
               {"utilisation", "GPUs used", CellFormat::kPercent},
               {"late", "late", CellFormat::kNumber}});
  for (std::size_t begin = 0; begin < rows.size();) {
    std::size_t end = begin;
    while (end < rows.size() && rows[end].policy == rows[begin].policy) ++end;
    const auto count = static_cast<double>(end - begin);
    const auto mean = [&](double Summary::*value) {
      double sum = 0;
      for (std::size_t i = begin; i < end; ++i) sum += rows[i].*value;
      return sum / count;
    };
    double low = rows[begin].mean_s, high = low, late = 0;
    for (std::size_t i = begin; i < end; ++i) {
      low = std::min(low, rows[i].mean_s);
      high = std::max(high, rows[i].mean_s);
      late += static_cast<double>(rows[i].late);
    }
    table.add({rows[begin].policy, static_cast<std::int64_t>(end - begin), mean(&Summary::mean_s), low, high,
               mean(&Summary::p99_s), mean(&Summary::queueing_s), mean(&Summary::makespan_s),
               mean(&Summary::utilisation), late / count});
    begin = end;
  }
  return table;
}

}  // namespace orrery::simulate
