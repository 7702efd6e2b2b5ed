#include "predict/evaluate/scaling_suite.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>

#include "base/csv.h"
#include "base/random.h"
#include "base/text.h"
#include "predict/evaluate/gavel_table.h"
#include "predict/evaluate/left_out.h"
#include "predict/regression/python_literal.h"
#include "predict/scaling/placement_model.h"
#include "predict/scaling/ps_speed_model.h"

namespace orrery::predict {

namespace {

// --- scaling ---

// One model on one kind of machine.
struct PlacementTable {
  std::string model, machines;
  std::vector<std::string> placements;  // "442": replicas on each node
  std::vector<PlacementSample> samples;
};

Result<PlacementSample> sample_of(const std::string& placement, double batch, double seconds) {
  PlacementSample sample{
      .replicas = 0, .nodes = static_cast<double>(placement.size()), .fullest = 0, .batch = batch, .seconds = seconds};
  for (const char digit : placement) {
    if (digit < '1' || digit > '9') return Error::invalid(fmt::format("{} is not a placement", quote(placement)));
    sample.replicas += digit - '0';
    sample.fullest = std::max(sample.fullest, static_cast<double>(digit - '0'));
  }
  if (!(batch > 0 && seconds > 0)) return Error::invalid("a batch or a time that is not above 0");
  return sample;
}

Result<PlacementTable> read_table(env::Files& files, const std::string& folder, const std::string& model,
                                  const std::string& file) {
  ORRERY_TRY(const std::string text, read_data(files, folder + "/" + model, file));
  ORRERY_TRY(const CsvTable csv, parse_csv(text));
  constexpr std::string_view kPrefix = "placements-", kSuffix = ".csv";
  PlacementTable table{model, file.substr(kPrefix.size(), file.size() - kPrefix.size() - kSuffix.size()), {}, {}};
  std::vector<std::size_t> columns;
  for (const char* name : {"placement", "local_bsz", "step_time"}) {
    ORRERY_TRY(columns.emplace_back(), csv.column(name));
  }
  for (const CsvRow& row : csv.rows) {
    auto sample = sample_of(row.fields[columns[0]], parse_number(row.fields[columns[1]]).value_or(0),
                            parse_number(row.fields[columns[2]]).value_or(0));
    if (!sample) {
      return std::move(sample).error().with_context(fmt::format("{}/{}/{} line {}", folder, model, file, row.line));
    }
    table.placements.push_back(row.fields[columns[0]]);
    table.samples.push_back(*sample);
  }
  return table;
}

Result<std::vector<PlacementTable>> read_tables(env::Files& files, const std::string& folder) {
  const std::string measured = folder + "/measured";
  ORRERY_TRY(const std::vector<std::string> models, list_data(files, measured));
  std::vector<PlacementTable> tables;
  for (const std::string& model : models) {
    ORRERY_TRY(const std::vector<std::string> names, list_data(files, measured + "/" + model));
    for (const std::string& name : names) {
      if (!name.starts_with("placements-") || !name.ends_with(".csv")) continue;
      ORRERY_TRY(tables.emplace_back(), read_table(files, measured, model, name));
    }
  }
  return tables;
}

// Every placement by a model that saw none of its fold's.
Status leave_placements_out(const PlacementTable& table, std::uint64_t seed, std::vector<LeftOut>& out) {
  for (std::uint64_t number = 0; number < kRandomFolds; ++number) {
    const std::string fold = std::to_string(number);
    std::vector<PlacementSample> others;
    for (std::size_t i = 0; i < table.samples.size(); ++i) {
      if (random_fold(table.placements[i], seed) != fold) others.push_back(table.samples[i]);
    }
    if (others.size() < PlacementModel::kSamplesMin) continue;
    ORRERY_TRY(const PlacementModel model, PlacementModel::fit(others, seed));
    for (std::size_t i = 0; i < table.samples.size(); ++i) {
      if (random_fold(table.placements[i], seed) != fold) continue;
      out.push_back(left_out_of(table.machines, table.samples[i].seconds, model.seconds(table.samples[i]), fold));
    }
  }
  return {};
}

// --- ps-workers ---

struct PsRun {
  std::string model;
  PsSample sample;
};

Result<std::vector<PsRun>> read_runs(env::Files& files, const std::string& folder) {
  ORRERY_TRY(const std::string text, read_data(files, folder, "config_speed.txt"));
  std::vector<PsRun> runs;
  std::size_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    const auto row = parse_python_literal(trim(line));
    const auto wrong = [&] {
      return Error::invalid(fmt::format("{}/config_speed.txt line {}: not a run", folder, number));
    };
    if (!row || !row->is_array() || row->size() < 6 || !(*row)[0].is_string() || !(*row)[5].is_array()) return wrong();
    PsRun run{(*row)[0], {}};
    for (const std::size_t place : {3, 4}) {
      if (!(*row)[place].is_number()) return wrong();
    }
    run.sample.servers = (*row)[3];
    run.sample.workers = (*row)[4];
    double sum = 0;
    for (const auto& speed : (*row)[5]) {
      if (!speed.is_number()) return wrong();
      sum += speed.get<double>();
    }
    if (!(run.sample.servers >= 1 && run.sample.workers >= 1)) return wrong();
    if (!(sum > 0)) continue;  // a run that never got going
    run.sample.speed = sum / static_cast<double>((*row)[5].size());
    runs.push_back(std::move(run));
  }
  return runs;
}

constexpr std::size_t kKnownRuns = 10;
constexpr int kDraws = 3;
constexpr int kLessonDraws = 10;

using RunsByModel = std::map<std::string, std::vector<PsSample>>;

RunsByModel by_model(const std::vector<PsRun>& runs) {
  RunsByModel found;
  for (const PsRun& run : runs) found[run.model].push_back(run.sample);
  return found;
}

std::string place_of(const std::string& model, const PsSample& sample) {
  return fmt::format("{} {} {}", model, sample.servers, sample.workers);
}

// Ours and the formula alone, for pairs of servers and workers that were left out.
Status leave_configurations_out(const RunsByModel& models, const SuiteInput& input, std::vector<LeftOut>& ours,
                                std::vector<LeftOut>& formulas) {
  for (std::uint64_t number = 0; number < kRandomFolds; ++number) {
    const std::string fold = std::to_string(number);
    PsSpeedModel model_of_all;
    std::map<std::string, PsJob> jobs;
    int place = 0;
    for (const auto& [model, samples] : models) {
      std::vector<PsSample> known;
      for (const PsSample& sample : samples) {
        if (random_fold(place_of(model, sample), input.seed) != fold) known.push_back(sample);
      }
      ORRERY_TRY(PsJob job, PsJob::make(std::move(known), place++));
      for (const PsSample& sample : job.known) model_of_all.add(job, sample);
      jobs.emplace(model, std::move(job));
    }
    ORRERY_TRY_VOID(model_of_all.learn(input.seed, input.threads));
    for (const auto& [model, samples] : models) {
      const PsJob& job = jobs.at(model);
      for (const PsSample& sample : samples) {
        if (random_fold(place_of(model, sample), input.seed) != fold) continue;
        ours.push_back(left_out_of("configurations", 1 / sample.speed, model_of_all.seconds(job, sample), fold));
        formulas.push_back(left_out_of("configurations, Optimus's formula", 1 / sample.speed,
                                       1 / job.formula.speed(sample.servers, sample.workers), fold));
      }
    }
  }
  return {};
}

std::vector<PsSample> drawn(const std::vector<PsSample>& samples, Random random) {
  std::vector<PsSample> mixed = samples;
  for (std::size_t i = mixed.size(); i > 1; --i) std::swap(mixed[i - 1], mixed[random.below(i)]);
  mixed.resize(std::min(mixed.size(), kKnownRuns));
  return mixed;
}

bool is_among(const std::vector<PsSample>& known, const PsSample& sample) {
  return std::any_of(known.begin(), known.end(), [&](const PsSample& one) {
    return one.servers == sample.servers && one.workers == sample.workers;
  });
}

// A model of which ten runs are known, the rest of it and all others' runs having shaped what the formula misses.
Status leave_models_out(const RunsByModel& models, const SuiteInput& input, std::vector<LeftOut>& ours,
                        std::vector<LeftOut>& formulas) {
  const auto draw_of = [&](const std::string& model, int draw) {
    return Random(input.seed).split(model).split(static_cast<std::uint64_t>(draw));
  };
  for (const auto& [left_out, samples] : models) {
    PsSpeedModel model_of_all;
    for (const auto& [model, others] : models) {
      for (int draw = 0; model != left_out && draw < kLessonDraws; ++draw) {
        ORRERY_TRY(const PsJob job, PsJob::make(drawn(others, draw_of(model, draw))));
        for (const PsSample& sample : others) model_of_all.add(job, sample);
      }
    }
    ORRERY_TRY_VOID(model_of_all.learn(input.seed, input.threads));
    for (int draw = 0; draw < kDraws; ++draw) {
      ORRERY_TRY(const PsJob job, PsJob::make(drawn(samples, draw_of(left_out, draw))));
      for (const PsSample& sample : samples) {
        if (is_among(job.known, sample)) continue;
        ours.push_back(
            left_out_of("models, ten runs known", 1 / sample.speed, model_of_all.seconds(job, sample), left_out));
        formulas.push_back(left_out_of("models, ten runs known, Optimus's formula", 1 / sample.speed,
                                       1 / job.formula.speed(sample.servers, sample.workers), left_out));
      }
    }
  }
  return {};
}

Status add_calibrated(SuiteReport& report, const std::vector<LeftOut>& left_out, double seconds) {
  ORRERY_TRY(const std::vector<Case> cases, calibrated_cases(left_out));
  report.add(cases, seconds);
  return {};
}

}  // namespace

Result<SuiteReport> run_scaling_suite(const SuiteInput& input) {
  const double begin = input.now_s();
  SuiteReport report{.suite = "scaling", .seed = input.seed};
  ORRERY_TRY(const std::vector<PlacementTable> train,
             read_tables(input.files, training_folder(input, "sched_pollux_sia")));
  std::vector<LeftOut> left_out;
  for (const PlacementTable& table : train) ORRERY_TRY_VOID(leave_placements_out(table, input.seed, left_out));
  if (input.test.empty()) {
    ORRERY_TRY_VOID(add_calibrated(report, left_out, input.now_s() - begin));
    report.add_total(input.now_s() - begin);
    if (!input.train.empty()) return report;  // a folder of placements only
    ORRERY_TRY(const std::vector<Case> gavel, gavel_cases(input.files, training_folder(input, "sched_gavel")));
    report.add(gavel, input.now_s() - begin);
    return report;
  }
  ORRERY_TRY(const Conformal conformal, calibrate(left_out));
  ORRERY_TRY(const std::vector<PlacementTable> test, read_tables(input.files, input.test));
  std::vector<Case> cases;
  for (const PlacementTable& table : test) {
    const auto same = std::find_if(train.begin(), train.end(), [&](const PlacementTable& other) {
      return other.model == table.model && other.machines == table.machines;
    });
    std::vector<LeftOut> tested;
    if (same == train.end()) {  // machines of which nothing was learned: from the rest of their own table
      ORRERY_TRY_VOID(leave_placements_out(table, input.seed, tested));
    } else {
      ORRERY_TRY(const PlacementModel model, PlacementModel::fit(same->samples, input.seed));
      for (const PlacementSample& sample : table.samples) {
        tested.push_back(left_out_of(table.machines, sample.seconds, model.seconds(sample), ""));
      }
    }
    for (const LeftOut& one : tested) cases.push_back(with_interval(one.one, conformal));
  }
  report.add(cases, input.now_s() - begin);
  report.add_total(input.now_s() - begin);
  return report;
}

Result<SuiteReport> run_ps_workers_suite(const SuiteInput& input) {
  const double begin = input.now_s();
  SuiteReport report{.suite = "ps-workers", .seed = input.seed};
  ORRERY_TRY(std::vector<PsRun> runs, read_runs(input.files, training_folder(input, "driple/ps_worker_speed")));
  if (!input.test.empty()) {
    report.notes.push_back("runs of both folders, left out in turn");
    ORRERY_TRY(const std::vector<PsRun> more, read_runs(input.files, input.test));
    runs.insert(runs.end(), more.begin(), more.end());
  }
  const RunsByModel models = by_model(runs);
  std::vector<LeftOut> ours, formulas;
  ORRERY_TRY_VOID(leave_configurations_out(models, input, ours, formulas));
  ORRERY_TRY_VOID(add_calibrated(report, ours, input.now_s() - begin));
  ORRERY_TRY_VOID(add_calibrated(report, formulas, input.now_s() - begin));
  ours.clear();
  formulas.clear();
  ORRERY_TRY_VOID(leave_models_out(models, input, ours, formulas));
  ORRERY_TRY_VOID(add_calibrated(report, ours, input.now_s() - begin));
  ORRERY_TRY_VOID(add_calibrated(report, formulas, input.now_s() - begin));
  return report;
}

}  // namespace orrery::predict
