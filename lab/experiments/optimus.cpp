#include "lab/experiments/optimus.h"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <optional>

#include "base/parallel.h"
#include "base/plot/plots.h"
#include "simulate/generate.h"
#include "simulate/runner.h"
#include "simulate/summary.h"

namespace orrery::lab {

namespace {

constexpr double kPublishedMeanGain = 2.39, kPublishedMakespanGain = 1.63, kPublishedOverhead = 0.0254;
constexpr double kVisible = 0.01;  // less is no difference
constexpr double kErrors[] = {0, 0.1, 0.2, 0.3, 0.4, 0.5};
constexpr const char* kMainPolicies[] = {"drf", "tetris", "equal-share", "optimus", "optimus-ps"};

struct Condition {
  std::string policy;
  std::string placement = "consolidated";
  bool synchronous = true;
  Arrivals arrivals = Arrivals::kPoisson;
  ScalingErrors errors{};
  bool fitted = false;
  double young_factor = 0.95;
};

// Means over seeds.
struct Outcome {
  double mean_s = 0, p99_s = 0, makespan_s = 0, utilisation = 0, restarts = 0;
  double overhead = 0;  // share of the GPU time held that restarts took
};

// What restarts hold GPUs for without work.
double restart_gpu_s(const RunResult& run, double restart_s) {
  IndexedVector<JobIndex, bool> started(run.jobs.size(), false);
  double sum = 0;
  for (const LoggedDecision& entry : run.log) {
    if (!schedule::takes(entry.decision.action)) continue;
    const JobIndex job = entry.decision.job;
    if (started[job]) sum += restart_s * schedule::gpus_in(entry.decision.allocation);
    started[job] = true;
  }
  return sum;
}

class Player {
 public:
  Player(const OptimusExperiment& options, const std::function<void()>& done) : options_(options), done_(done) {}

  Result<Outcome> play(const Condition& condition) const {
    std::vector<std::optional<Result<Outcome>>> outcomes(static_cast<std::size_t>(options_.seeds));
    run_parallel(outcomes.size(), options_.threads,
                 [&](std::size_t i) { outcomes[i].emplace(play(condition, static_cast<std::uint64_t>(i + 1))); });
    Outcome sum;
    const double share = 1.0 / options_.seeds;
    for (std::optional<Result<Outcome>>& outcome : outcomes) {
      if (!*outcome) return std::move(*outcome).error().with_context(condition.policy);
      for (double Outcome::*figure : {&Outcome::mean_s, &Outcome::p99_s, &Outcome::makespan_s, &Outcome::utilisation,
                                      &Outcome::restarts, &Outcome::overhead}) {
        sum.*figure += share * (**outcome).*figure;
      }
    }
    if (done_) done_();
    return sum;
  }

 private:
  int gpus() const { return options_.machines * options_.gpus_per_machine; }

  // Everybody is a user of its own, as in the paper.
  JobTrace jobs_of(Arrivals arrivals, std::uint64_t seed) const {
    return generate_with_load({.jobs = static_cast<std::size_t>(options_.jobs),
                               .arrivals = arrivals,
                               .mix = Mix::kOptimus,
                               .tenants = options_.jobs,
                               .seed = seed},
                              options_.load, gpus());
  }

  Result<Outcome> play(const Condition& condition, std::uint64_t seed) const {
    const JobTrace job_trace = jobs_of(condition.arrivals, seed);
    RunSetup setup;
    const auto machine_gpus = static_cast<std::int32_t>(options_.gpus_per_machine);
    setup.machines.assign(static_cast<std::size_t>(options_.machines), {.gpus = machine_gpus, .servers = machine_gpus});
    setup.placement = condition.placement;
    setup.curve.growth = condition.synchronous ? options_.growth : 0;
    setup.curve.spread_cost = options_.spread_cost;
    setup.engine.costs.resume_ns = setup.engine.costs.move_ns = schedule::from_seconds(options_.restart_s);
    setup.engine.seed = seed;
    setup.engine.keep_log = true;
    if (condition.fitted) setup.scaling = simulate::ScalingKnowledge::kFitted;
    setup.trials.noise = options_.trial_noise;
    setup.young_factor = condition.young_factor;
    setup.scaling_errors = condition.errors;
    ORRERY_TRY(const RunResult run, run_policy(job_trace, setup, condition.policy));
    const Summary summary = summarise(job_trace, run, gpus(), 0);
    if (summary.jobs != static_cast<std::int64_t>(job_trace.jobs.size())) {
      return Error::infeasible(
          fmt::format("{} jobs did not end", job_trace.jobs.size() - static_cast<std::size_t>(summary.jobs)));
    }
    return Outcome{summary.mean_s,     summary.p99_s,
                   summary.makespan_s, summary.utilisation,
                   summary.restarts,   restart_gpu_s(run, options_.restart_s) / (run.busy_gpu_ns * 1e-9)};
  }

  const OptimusExperiment& options_;
  const std::function<void()>& done_;
};

struct Gains {
  double mean = 1, makespan = 1;
};
Gains gains(const Outcome& base, const Outcome& better) {
  return {base.mean_s / better.mean_s, base.makespan_s / better.makespan_s};
}

using Outcomes = std::vector<Outcome>;

Result<Outcomes> play_all(const Player& player, const std::vector<Condition>& conditions) {
  Outcomes outcomes;
  for (const Condition& condition : conditions) {
    ORRERY_TRY(outcomes.emplace_back(), player.play(condition));
  }
  return outcomes;
}

// 1. Who is how fast, and what adjusting costs.
Status compare_policies(const Player& player, ExperimentReport& report) {
  Table table({{"policy", "policy"},
               {"mean_s", "mean", CellFormat::kSeconds},
               {"p99_s", "p99", CellFormat::kSeconds},
               {"makespan_s", "makespan", CellFormat::kSeconds},
               {"mean_gain", "optimus gains", CellFormat::kNumber},
               {"makespan_gain", "of makespan", CellFormat::kNumber},
               {"utilisation", "GPUs used", CellFormat::kPercent},
               {"restarts", "restarts a job", CellFormat::kNumber},
               {"overhead", "GPU time restarting", CellFormat::kPercent}});
  std::vector<Condition> conditions;
  for (const char* policy : kMainPolicies) conditions.push_back({.policy = policy});
  ORRERY_TRY(const Outcomes outcomes, play_all(player, conditions));
  const Outcome &drf = outcomes[0], &tetris = outcomes[1], &equal = outcomes[2], &optimus = outcomes[3];
  plot::BarPlot bars;
  bars.heading = {.title = "Optimus against other schedulers",
                  .subtitle = "Means over seeds; completion time, makespan"};
  bars.y = {.title = "Time", .unit = "h", .from_zero = true};
  bars.value_labels = true;
  bars.series = {{.name = "mean completion"}, {.name = "makespan"}};
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& o = outcomes[i];
    const Gains g = gains(o, optimus);
    table.add({conditions[i].policy, o.mean_s, o.p99_s, o.makespan_s, g.mean, g.makespan, o.utilisation, o.restarts,
               o.overhead});
    bars.groups.push_back(conditions[i].policy);
    bars.series[0].values.push_back(o.mean_s / 3600);
    bars.series[1].values.push_back(o.makespan_s / 3600);
  }
  report.tables.push_back(
      {"policies", "Optimus against DRF and Tetris (synchronous training, Poisson arrivals)", table});
  report.figures.push_back({"optimus-policies.svg", plot::bar_plot(bars)});
  const Gains over_drf = gains(drf, optimus), over_tetris = gains(tetris, optimus), over_equal = gains(equal, optimus);
  report.findings.push_back(
      {fmt::format("mean completion {} and makespan {} times better than DRF", kPublishedMeanGain,
                   kPublishedMakespanGain),
       over_drf.mean > 1 && over_drf.makespan > 1,
       fmt::format(
           "{:.2f} and {:.2f} times; against DRF of elastic jobs (equal-share) {:.2f} and {:.2f}: the difference "
           "is what growing and shrinking alone is worth, and below 1 marginal gains favour long jobs",
           over_drf.mean, over_drf.makespan, over_equal.mean, over_equal.makespan)});
  report.findings.push_back(
      {"better than Tetris, and Tetris better than DRF",
       over_tetris.mean > 1 && over_tetris.makespan > 1 && tetris.mean_s < (1 - kVisible) * drf.mean_s,
       fmt::format("{:.2f} and {:.2f} times better than Tetris; Tetris {:.2f} times better than DRF", over_tetris.mean,
                   over_tetris.makespan, drf.mean_s / tetris.mean_s)});
  report.findings.push_back(
      {fmt::format("adjusting resources costs little: {:.2f} % of the time", 100 * kPublishedOverhead),
       optimus.overhead < 2 * kPublishedOverhead,
       fmt::format("{:.2f} % of the GPU time held, with {:.1f} restarts a job", 100 * optimus.overhead,
                   optimus.restarts)});
  return {};
}

// 2. Allocation and placement apart.
Status split_gain(const Player& player, ExperimentReport& report) {
  const std::vector<Condition> conditions = {{.policy = "drf", .placement = "most-free"},
                                             {.policy = "drf"},
                                             {.policy = "optimus", .placement = "most-free"},
                                             {.policy = "optimus"}};
  ORRERY_TRY(const Outcomes outcomes, play_all(player, conditions));
  Table table({{"allocation", "GPUs by"},
               {"placement", "placed"},
               {"mean_s", "mean", CellFormat::kSeconds},
               {"makespan_s", "makespan", CellFormat::kSeconds},
               {"mean_gain", "gain", CellFormat::kNumber},
               {"makespan_gain", "of makespan", CellFormat::kNumber}});
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const Gains g = gains(outcomes[0], outcomes[i]);
    table.add({conditions[i].policy, conditions[i].placement, outcomes[i].mean_s, outcomes[i].makespan_s, g.mean,
               g.makespan});
  }
  report.tables.push_back(
      {"apart", "What allocation and placement are worth apart, over DRF on the emptiest machines", table});
  const double placement = gains(outcomes[0], outcomes[1]).mean, allocation = gains(outcomes[0], outcomes[2]).mean;
  report.findings.push_back({"both allocation and placement help", allocation > 1 && placement > 1,
                             fmt::format("mean completion {:.2f} times better by allocation alone, {:.2f} by placement "
                                         "alone, {:.2f} by both",
                                         allocation, placement, gains(outcomes[0], outcomes[3]).mean)});
  return {};
}

// 3. Kinds of training and of arrivals.
Status vary_settings(const Player& player, ExperimentReport& report) {
  Table table({{"training", "training"},
               {"arrivals", "arrivals"},
               {"drf_mean_gain", "over drf", CellFormat::kNumber},
               {"drf_makespan_gain", "of makespan", CellFormat::kNumber},
               {"tetris_mean_gain", "over tetris", CellFormat::kNumber},
               {"tetris_makespan_gain", "of makespan", CellFormat::kNumber},
               {"equal_mean_gain", "over equal-share", CellFormat::kNumber}});
  bool always = true;
  double over_drf[2] = {0, 0}, over_equal[2] = {0, 0};  // synchronous, asynchronous; means over arrivals
  for (const bool synchronous : {true, false}) {
    for (const Arrivals arrivals : {Arrivals::kPoisson, Arrivals::kBursts}) {
      std::vector<Condition> conditions;
      for (const char* policy : {"drf", "tetris", "equal-share", "optimus"}) {
        conditions.push_back({.policy = policy, .synchronous = synchronous, .arrivals = arrivals});
      }
      ORRERY_TRY(const Outcomes o, play_all(player, conditions));
      const Gains drf = gains(o[0], o[3]), tetris = gains(o[1], o[3]), equal = gains(o[2], o[3]);
      table.add({synchronous ? "synchronous" : "asynchronous", arrivals == Arrivals::kPoisson ? "Poisson" : "bursts",
                 drf.mean, drf.makespan, tetris.mean, tetris.makespan, equal.mean});
      always = always && drf.mean > 1 && tetris.mean > 1;
      over_drf[synchronous ? 0 : 1] += drf.mean / 2;
      over_equal[synchronous ? 0 : 1] += equal.mean / 2;
    }
  }
  report.tables.push_back({"settings", "How many times better Optimus is, by training and arrivals", table});
  report.findings.push_back({"the gain holds for Poisson and bursty arrivals, synchronous and asynchronous", always,
                             "see the table: mean completion over DRF and Tetris in all four"});
  report.findings.push_back(
      {"the gain is larger for synchronous training", over_drf[0] > over_drf[1],
       fmt::format(
           "over DRF {:.2f} times synchronous, {:.2f} asynchronous: gangs keep the few GPUs they ask for, while more "
           "workers slow synchronous training down; over equal shares {:.2f} and {:.2f}, where that hurts the baseline",
           over_drf[0], over_drf[1], over_equal[0], over_equal[1])});
  return {};
}

// 4. Wrong speeds and wrong ends.
Status vary_errors(const Player& player, ExperimentReport& report) {
  Table table({{"error", "error", CellFormat::kPercent},
               {"speed_mean", "wrong speeds", CellFormat::kNumber},
               {"speed_makespan", "makespan", CellFormat::kNumber},
               {"convergence_mean", "wrong ends", CellFormat::kNumber},
               {"convergence_makespan", "makespan", CellFormat::kNumber}});
  plot::LinePlot figure{
      .heading = {.title = "Optimus with wrong predictions",
                  .subtitle = "Mean completion time, of that with right ones"},
      .x = {.title = "Error", .unit = "%"},
      .y = {.title = "Mean completion time"},
      .series = {{.name = "of speeds", .markers = true}, {.name = "of convergence", .markers = true}}};
  ORRERY_TRY(const Outcome right, player.play({.policy = "optimus"}));
  double worst_speed = 1, worst_end = 1;
  for (const double error : kErrors) {
    ORRERY_TRY(const Outcome speed, player.play({.policy = "optimus", .errors = {.speed = error}}));
    ORRERY_TRY(const Outcome end, player.play({.policy = "optimus", .errors = {.convergence = error}}));
    const Gains of_speed = gains(speed, right), of_end = gains(end, right);
    table.add({error, of_speed.mean, of_speed.makespan, of_end.mean, of_end.makespan});
    figure.series[0].points.push_back({100 * error, of_speed.mean});
    figure.series[1].points.push_back({100 * error, of_end.mean});
    worst_speed = of_speed.mean;
    worst_end = of_end.mean;
  }
  report.tables.push_back(
      {"errors", "Mean completion time and makespan with wrong predictions, of those with right ones", table});
  report.figures.push_back({"optimus-errors.svg", plot::line_plot(figure)});
  report.findings.push_back(
      {"wrong speeds hurt more than wrong convergence", worst_speed > worst_end,
       fmt::format("with errors of 50 %: {:.3f} and {:.3f} times the mean completion time", worst_speed, worst_end)});
  return {};
}

// 5. Young jobs count less.
Status try_young_factor(const Player& player, const OptimusExperiment& options, ExperimentReport& report) {
  const ScalingErrors errors{.convergence = options.young_error};
  ORRERY_TRY(const Outcomes o,
             play_all(player, {{.policy = "optimus", .errors = errors, .fitted = true, .young_factor = 1},
                               {.policy = "optimus", .errors = errors, .fitted = true}}));
  Table table({{"factor", "factor", CellFormat::kNumber},
               {"mean_s", "mean", CellFormat::kSeconds},
               {"makespan_s", "makespan", CellFormat::kSeconds}});
  table.add({1.0, o[0].mean_s, o[0].makespan_s});
  table.add({0.95, o[1].mean_s, o[1].makespan_s});
  report.tables.push_back({"young",
                           fmt::format("Gains of young jobs times a factor, with speeds fitted to trial runs "
                                       "(noise {:g} %) and ends of young jobs wrong by {:g} %",
                                       100 * options.trial_noise, 100 * options.young_error),
                           table});
  const double change = o[1].mean_s / o[0].mean_s - 1;
  report.findings.push_back(
      {"a factor of 0.95 for young jobs makes up for their uncertain predictions", change < -kVisible,
       fmt::format("mean completion time changes by {:+.2f} %: five percent of a gain rarely changes "
                   "who has the largest",
                   100 * change)});
  return {};
}

}  // namespace

int optimus_experiment_steps() {
  constexpr int kSplit = 4, kSettings = 16, kYoung = 2;
  return static_cast<int>(std::size(kMainPolicies)) + kSplit + kSettings + 1 +
         2 * static_cast<int>(std::size(kErrors)) + kYoung;
}

Result<ExperimentReport> run_optimus_experiment(const OptimusExperiment& options, const std::function<void()>& done) {
  const Player player(options, done);
  ExperimentReport report;
  ORRERY_TRY_VOID(compare_policies(player, report));
  ORRERY_TRY_VOID(split_gain(player, report));
  ORRERY_TRY_VOID(vary_settings(player, report));
  ORRERY_TRY_VOID(vary_errors(player, report));
  ORRERY_TRY_VOID(try_young_factor(player, options, report));
  return report;
}

}  // namespace orrery::lab
