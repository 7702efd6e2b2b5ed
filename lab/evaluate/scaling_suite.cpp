#include "lab/evaluate/scaling_suite.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "base/csv.h"
#include "base/random.h"
#include "base/text.h"
#include "lab/evaluate/gavel_table.h"
#include "lab/evaluate/left_out.h"
#include "lab/methods/placement_model.h"
#include "lab/methods/ps_speed_model.h"
#include "predict/regression/python_literal.h"

namespace orrery::lab {

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
constexpr std::uint64_t kDraws = 5;

using Runs = std::vector<PsRun>;

std::string fold_of(const PsRun& run, std::uint64_t seed) {
  return random_fold(fmt::format("{} {} {}", run.job, run.sample.servers, run.sample.workers), seed);
}

Runs runs_of(const Runs& runs, const std::string& job) {
  Runs found;
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(found), [&](const PsRun& run) { return run.job == job; });
  return found;
}

std::set<std::string> jobs_of(const Runs& runs) {
  std::set<std::string> jobs;
  for (const PsRun& run : runs) jobs.insert(run.job);
  return jobs;
}

Result<PsFormula> formula_of(const Runs& runs) {
  std::vector<PsSample> samples;
  for (const PsRun& run : runs) samples.push_back(run.sample);
  return PsFormula::fit(samples, Synchrony::kSynchronous, BatchRule::kPerWorker);
}

// A run that was not known, by our model and by its job's formula alone.
struct SpeedCases {
  std::vector<LeftOut> ours{}, formulas{};

  void add(const std::string& group, const PsRun& run, const PsSpeedModel& model, const PsFormula& formula,
           const std::string& fold) {
    const double measured = 1 / run.sample.speed;
    ours.push_back(left_out_of(group, measured, model.seconds(run.job, run.sample.servers, run.sample.workers), fold));
    formulas.push_back(left_out_of(group + ", Optimus's formula", measured,
                                   1 / formula.speed(run.sample.servers, run.sample.workers), fold));
  }
};

// Pairs of servers and workers left out, of jobs of which others are known.
Result<SpeedCases> leave_configurations_out(const Runs& runs, const SuiteInput& input) {
  SpeedCases cases;
  for (std::uint64_t number = 0; number < kRandomFolds; ++number) {
    const std::string fold = std::to_string(number);
    Runs known, unknown;
    for (const PsRun& run : runs) (fold_of(run, input.seed) == fold ? unknown : known).push_back(run);
    ORRERY_TRY(const PsSpeedModel model, PsSpeedModel::fit(known));
    for (const std::string& job : jobs_of(unknown)) {
      ORRERY_TRY(const PsFormula formula, formula_of(runs_of(known, job)));
      for (const PsRun& run : runs_of(unknown, job)) cases.add("configurations", run, model, formula, fold);
    }
  }
  return cases;
}

// Every job that is asked about, of which ten runs are known, beside all runs of `others` that are not its own.
using Choose = std::function<std::vector<std::size_t>(const Runs& all, std::uint64_t draw)>;
Result<SpeedCases> leave_jobs_out(const Runs& asked, const Runs& others, const std::string& group, const Choose& choose,
                                  std::uint64_t draws) {
  SpeedCases cases;
  for (const std::string& job : jobs_of(asked)) {
    const Runs all = runs_of(asked, job);
    for (std::uint64_t draw = 0; draw < draws; ++draw) {
      const std::vector<std::size_t> chosen = choose(all, draw);
      Runs own, unknown, known;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const bool is_chosen = std::find(chosen.begin(), chosen.end(), i) != chosen.end();
        (is_chosen ? own : unknown).push_back(all[i]);
      }
      std::copy_if(others.begin(), others.end(), std::back_inserter(known),
                   [&](const PsRun& run) { return run.job != job; });
      known.insert(known.end(), own.begin(), own.end());
      ORRERY_TRY(const PsSpeedModel model, PsSpeedModel::fit(known));
      ORRERY_TRY(const PsFormula formula, formula_of(own));
      for (const PsRun& run : unknown) cases.add(group, run, model, formula, job);
    }
  }
  return cases;
}

Choose drawn_at_random(std::uint64_t seed) {
  return [seed](const Runs& all, std::uint64_t draw) {
    Random random = Random(seed).split(all.front().job).split(draw);
    std::vector<std::size_t> mixed(all.size());
    std::iota(mixed.begin(), mixed.end(), 0);
    for (std::size_t i = mixed.size(); i > 1; --i) std::swap(mixed[i - 1], mixed[random.below(i)]);
    mixed.resize(std::min(mixed.size(), kKnownRuns));
    return mixed;
  };
}

Choose spread_out() {
  return [](const Runs& all, std::uint64_t) {
    std::vector<PsSample> candidates;
    for (const PsRun& run : all) candidates.push_back(run.sample);
    return spread_trials(candidates, kKnownRuns);
  };
}

Status add_calibrated(SuiteReport& report, const std::vector<LeftOut>& left_out, double seconds,
                      Folds folds = Folds::kAlike) {
  ORRERY_TRY(const std::vector<Case> cases, calibrated_cases(left_out, folds));
  report.add(cases, seconds);
  return {};
}

// Cases of the test with intervals from what was left out inside the training part.
Status add_tested(SuiteReport& report, const SpeedCases& tested, const SpeedCases& left_out, Folds folds,
                  double seconds) {
  for (const auto which : {&SpeedCases::ours, &SpeedCases::formulas}) {
    if ((tested.*which).empty()) continue;
    ORRERY_TRY(const Conformal conformal, calibrate(left_out.*which, folds));
    std::vector<Case> cases;
    for (const LeftOut& one : tested.*which) cases.push_back(with_interval(one.one, conformal));
    report.add(cases, seconds);
  }
  return {};
}

// Runs of another folder: of jobs of the training part by a model of that part alone, of others with ten of their runs.
Status score_ps_test(const Runs& train, const SuiteInput& input, SuiteReport& report) {
  const double begin = input.now_s();
  ORRERY_TRY(const Runs test, read_runs(input.files, input.test));
  const std::set<std::string> known_jobs = jobs_of(train);
  Runs of_known, of_new;
  for (const PsRun& run : test) (known_jobs.contains(run.job) ? of_known : of_new).push_back(run);
  SpeedCases configurations;
  ORRERY_TRY(const PsSpeedModel model, PsSpeedModel::fit(train));
  for (const std::string& job : jobs_of(of_known)) {
    ORRERY_TRY(const PsFormula formula, formula_of(runs_of(train, job)));
    for (const PsRun& run : runs_of(of_known, job)) configurations.add("configurations", run, model, formula, "");
  }
  const auto seconds = [&] { return input.now_s() - begin; };
  if (!of_known.empty()) {
    ORRERY_TRY(const SpeedCases left_out, leave_configurations_out(train, input));
    ORRERY_TRY_VOID(add_tested(report, configurations, left_out, Folds::kAlike, seconds()));
  }
  struct Known {
    const char* group;
    Choose choose;
    std::uint64_t draws;
  };
  const Known kinds[] = {{"models, ten runs known", drawn_at_random(input.seed), kDraws},
                         {"models, ten runs chosen", spread_out(), 1}};
  for (const Known& kind : kinds) {
    if (of_new.empty()) break;
    ORRERY_TRY(const SpeedCases tested, leave_jobs_out(of_new, train, kind.group, kind.choose, kind.draws));
    ORRERY_TRY(const SpeedCases left_out, leave_jobs_out(train, train, kind.group, kind.choose, kind.draws));
    ORRERY_TRY_VOID(add_tested(report, tested, left_out, Folds::kUnlike, seconds()));
  }
  report.notes.push_back(fmt::format("learned from {} runs, scored on {} others: {} of models that were learned from",
                                     train.size(), test.size(), of_known.size()));
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
  ORRERY_TRY(const Runs runs, read_runs(input.files, training_folder(input, "driple/ps_worker_speed")));
  if (!input.test.empty()) {
    ORRERY_TRY_VOID(score_ps_test(runs, input, report));
    return report;
  }
  const auto add = [&](const SpeedCases& cases, Folds folds) -> Status {
    ORRERY_TRY_VOID(add_calibrated(report, cases.ours, input.now_s() - begin, folds));
    return add_calibrated(report, cases.formulas, input.now_s() - begin, folds);
  };
  ORRERY_TRY(const SpeedCases configurations, leave_configurations_out(runs, input));
  ORRERY_TRY_VOID(add(configurations, Folds::kAlike));
  ORRERY_TRY(const SpeedCases at_random,
             leave_jobs_out(runs, runs, "models, ten runs known", drawn_at_random(input.seed), kDraws));
  ORRERY_TRY_VOID(add(at_random, Folds::kUnlike));
  ORRERY_TRY(const SpeedCases chosen, leave_jobs_out(runs, runs, "models, ten runs chosen", spread_out(), 1));
  ORRERY_TRY_VOID(add(chosen, Folds::kUnlike));
  return report;
}

}  // namespace orrery::lab
