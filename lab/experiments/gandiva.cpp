#include "lab/experiments/gandiva.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>

#include "base/parallel.h"
#include "base/plot/plots.h"
#include "base/random.h"
#include "lab/experiments/measured_pairs.h"
#include "simulate/generate.h"
#include "simulate/occupancy.h"
#include "simulate/runner.h"
#include "simulate/summary.h"

namespace orrery::lab {

namespace {

constexpr double kMinuteS = 60;
constexpr double kPublishedFeedbackGain = 4.5, kPublishedUtilisationGain = 0.26;
constexpr double kPublishedThreshold = 0.8;  // utilisation above which packing a job with itself does not pay

struct SmallJob {
  const char* id;
  double submit_min;
  double length_min;
  int gpus;
  int gpus_max = 0;
};

// Every job is a tenant of its own, so that it has a colour of its own in charts.
JobTrace job_trace_of(std::span<const SmallJob> jobs) {
  JobTrace job_trace;
  for (const SmallJob& small : jobs) {
    TraceJob& job = job_trace.jobs.emplace_back();
    job.id = small.id;
    job.facts.submit_ns = schedule::from_seconds(small.submit_min * kMinuteS);
    job.facts.work_ns = schedule::from_seconds(small.length_min * kMinuteS);
    job.facts.gpus = small.gpus;
    job.facts.gpus_max = small.gpus_max;
    job.facts.tenant = static_cast<std::int32_t>(job_trace.tenants.size());
    job_trace.tenants.push_back(small.id);
  }
  return job_trace;
}

RunSetup setup_of(std::size_t machines, int gpus, const GandivaExperiment& options) {
  RunSetup setup;
  setup.machines.assign(machines, {.gpus = gpus});
  setup.engine.costs.resume_ns = setup.engine.costs.move_ns = schedule::from_seconds(options.switch_s);
  setup.engine.keep_holdings = true;
  return setup;
}

double minutes(TimeNs time) {
  return schedule::to_seconds(time) / kMinuteS;
}

std::string timeline(const JobTrace& job_trace, const RunSetup& setup, const RunResult& run) {
  return gantt_svg(job_trace, run, lanes_of(run, setup.machines));
}

// GPU time of each job until a time.
IndexedVector<JobIndex, double> gpu_minutes(const RunResult& run, TimeNs until) {
  IndexedVector<JobIndex, double> sums(run.jobs.size(), 0);
  for (const Holding& holding : run.holdings) {
    const TimeNs length = std::max<TimeNs>(0, std::min(until, holding.to_ns) - holding.from_ns);
    sums[holding.job] += holding.gpus * minutes(length);
  }
  return sums;
}

// 1. Six jobs take turns on four GPUs.
Status slice_time(const GandivaExperiment& options, ExperimentReport& report) {
  static constexpr SmallJob kJobs[] = {{"a", 0, 30, 1}, {"b", 0, 30, 1}, {"c", 0, 30, 1},
                                       {"d", 0, 30, 1}, {"e", 0, 30, 1}, {"f", 0, 30, 1}};
  const JobTrace job_trace = job_trace_of(kJobs);
  RunSetup setup = setup_of(1, 4, options);
  setup.gandiva.packing = false;
  ORRERY_TRY(const RunResult run, run_policy(job_trace, setup, "gandiva"));
  constexpr double kWindowMin = 30;
  const IndexedVector<JobIndex, double> had = gpu_minutes(run, schedule::from_seconds(kWindowMin * kMinuteS));
  Table table({{"job", "job"},
               {"gpu_min", "GPU minutes of the first 30", CellFormat::kNumber},
               {"first_start_s", "starts after", CellFormat::kSeconds},
               {"end_s", "ends after", CellFormat::kSeconds},
               {"starts", "turns", CellFormat::kInteger}});
  TimeNs last_start = 0;
  for (const JobIndex j : run.jobs.indices()) {
    const JobOutcome& o = run.jobs[j];
    table.add({job_trace.jobs[j].id, had[j], schedule::to_seconds(o.first_start_ns), schedule::to_seconds(o.end_ns),
               std::int64_t{o.starts}});
    last_start = std::max(last_start, o.first_start_ns);
  }
  report.tables.push_back({"time_slicing", "Six jobs of half an hour on four GPUs, taking turns", table});
  report.figures.push_back({"gandiva-slices.svg", timeline(job_trace, setup, run)});
  const auto [least, most] = std::minmax_element(had.begin(), had.end());
  const double work_min = static_cast<double>(std::size(kJobs)) * kWindowMin;
  const double held_min = run.busy_gpu_ns * 1e-9 / kMinuteS;
  report.findings.push_back(
      {"six jobs on four GPUs get equal shares of time, at little overhead",
       *least > 0.85 * *most && held_min < 1.05 * work_min,
       fmt::format("{:.1f} to {:.1f} GPU minutes of the first {:.0f} (equal: {:.1f}), all have started after {:.0f} s, "
                   "switching takes {:.1f} % of the GPU time",
                   *least, *most, kWindowMin, 4 * kWindowMin / 6, schedule::to_seconds(last_start),
                   100 * (1 - work_min / held_min))});
  return {};
}

// 2. When packing pays: measured pairs by the use of the GPU alone.
struct UtilisationBin {
  double below = 0;
  int pairs = 0, fit = 0, pay = 0;
  double measured = 0, modelled = 0;
};

Status tabulate_pairs(const MeasuredPairs& measured, ExperimentReport& report) {
  std::array<UtilisationBin, 5> bins = {{{0.25}, {0.5}, {0.8}, {0.95}, {1.01}}};
  const CurveOptions curve;
  for (const MeasuredPair& pair : measured.pairs) {
    const double use = std::max(pair.first.utilisation, pair.second.utilisation);
    UtilisationBin& bin =
        *std::find_if(bins.begin(), bins.end() - 1, [&](const UtilisationBin& b) { return use < b.below; });
    const double both = pair.first.utilisation + pair.second.utilisation;
    ++bin.pairs;
    bin.fit += pair.fits() ? 1 : 0;
    bin.pay += pair.gain() > 0 ? 1 : 0;
    bin.measured += pair.gain();
    bin.modelled += 2 * std::min(1.0, 1 / both) * (1 - curve.sharing_overhead) - 1;
  }
  Table table({{"use", "busier job uses"},
               {"pairs", "pairs", CellFormat::kInteger},
               {"fit", "memory fits", CellFormat::kPercent},
               {"pay", "do more work", CellFormat::kPercent},
               {"measured_gain", "gain measured", CellFormat::kPercent},
               {"modelled_gain", "gain by our formula", CellFormat::kPercent}});
  plot::BarPlot bars;
  bars.heading = {.title = "What two jobs on one GPU do more than by taking turns",
                  .subtitle = "By the use of the GPU of the busier one"};
  bars.x_title = "GPU use of the busier job";
  bars.y = {.title = "Gain", .unit = "%", .from_zero = true};
  bars.value_labels = true;
  bars.series = {{.name = "measured"}, {.name = "our formula"}};
  double from = 0, least_used = 0, most_used = 0;
  bool first = true;
  for (const UtilisationBin& bin : bins) {
    const std::string name = fmt::format("{:.0f} to {:.0f} %", 100 * from, 100 * std::min(1.0, bin.below));
    from = bin.below;
    if (bin.pairs == 0) continue;
    const double n = bin.pairs, gain = bin.measured / n, model = bin.modelled / n;
    table.add({name, std::int64_t{bin.pairs}, bin.fit / n, bin.pay / n, gain, model});
    bars.groups.push_back(name);
    bars.series[0].values.push_back(100 * gain);
    bars.series[1].values.push_back(100 * model);
    if (first) least_used = gain;
    first = false;
    most_used = gain;
  }
  report.tables.push_back({"packing", "Measured pairs of jobs on one GPU, by how busy they keep it alone", table});
  report.figures.push_back({"gandiva-packing.svg", plot::bar_plot(bars)});
  report.findings.push_back(
      {"packing gains most where jobs use little of the GPU", least_used > most_used,
       fmt::format("{:.0f} % where both use least, {:.0f} % where one uses most; pairs here, up to eight jobs there",
                   100 * least_used, 100 * most_used)});
  report.findings.push_back(
      {fmt::format("packing loses above about {:.0f} % use", 100 * kPublishedThreshold), most_used < 0,
       fmt::format(
           "{:+.0f} % for the busiest: use says that some kernel runs, not how much of the GPU it fills, and all "
           "measured pairs of this table do more work together",
           100 * most_used)});
  return {};
}

// 3. Moving jobs together makes room for a large one.
Status move_jobs(const GandivaExperiment& options, ExperimentReport& report) {
  static constexpr SmallJob kJobs[] = {{"a", 0, 120, 1}, {"b", 0, 120, 1}, {"c", 0, 20, 1},
                                       {"d", 0, 20, 1},  {"e", 0, 120, 1}, {"f", 0, 120, 1},
                                       {"g", 0, 20, 1},  {"h", 0, 20, 1},  {"large", 30, 40, 4}};
  const JobTrace job_trace = job_trace_of(kJobs);
  Table table({{"migration", "migration"},
               {"large_end_s", "the large job ends after", CellFormat::kSeconds},
               {"large_turns", "its turns", CellFormat::kInteger},
               {"mean_s", "mean of all", CellFormat::kSeconds},
               {"moves", "moves", CellFormat::kInteger}});
  std::array<double, 2> took_s{};
  for (const bool migration : {false, true}) {
    RunSetup setup = setup_of(2, 4, options);
    setup.gandiva.migration = migration;
    setup.gandiva.packing = false;
    ORRERY_TRY(const RunResult run, run_policy(job_trace, setup, "gandiva"));
    std::int64_t moves = 0;
    for (const JobOutcome& o : run.jobs) moves += o.moves;
    const JobOutcome& large = run.jobs.back();
    took_s[migration ? 1 : 0] = schedule::to_seconds(large.end_ns - job_trace.jobs.back().facts.submit_ns);
    table.add({migration ? "yes" : "no", took_s[migration ? 1 : 0], std::int64_t{large.starts},
               summarise(job_trace, run, 8, 0).mean_s, moves});
    report.figures.push_back(
        {migration ? "gandiva-moves.svg" : "gandiva-no-moves.svg", timeline(job_trace, setup, run)});
  }
  report.tables.push_back({"migration", "A job with four GPUs comes when two of each server are free", table});
  report.findings.push_back(
      {"moving jobs makes room for those that need whole servers", took_s[1] < took_s[0],
       fmt::format("the large job takes {:.1f} min instead of {:.1f}", took_s[1] / kMinuteS, took_s[0] / kMinuteS)});
  return {};
}

// 4. A job grows onto idle GPUs and shrinks when somebody comes.
Status grow_and_shrink(const GandivaExperiment& options, ExperimentReport& report) {
  static constexpr SmallJob kJobs[] = {{"elastic", 0, 240, 1, 4}, {"guest", 30, 30, 3}};
  const JobTrace job_trace = job_trace_of(kJobs);
  Table table({{"growing", "growing"},
               {"elastic_end_s", "the elastic job ends after", CellFormat::kSeconds},
               {"guest_wait_s", "the guest waits", CellFormat::kSeconds},
               {"changes", "changes", CellFormat::kInteger}});
  std::array<double, 2> took_s{};
  double guest_waits_s = 0;
  for (const bool growing : {false, true}) {
    RunSetup setup = setup_of(1, 4, options);
    setup.gandiva.growing = growing;
    ORRERY_TRY(const RunResult run, run_policy(job_trace, setup, "gandiva"));
    took_s[growing ? 1 : 0] = schedule::to_seconds(run.jobs[JobIndex(0)].end_ns);
    guest_waits_s =
        schedule::to_seconds(run.jobs[JobIndex(1)].first_start_ns - job_trace.jobs[JobIndex(1)].facts.submit_ns);
    table.add(
        {growing ? "yes" : "no", took_s[growing ? 1 : 0], guest_waits_s, std::int64_t{run.jobs[JobIndex(0)].moves}});
    if (growing) report.figures.push_back({"gandiva-growth.svg", timeline(job_trace, setup, run)});
  }
  report.tables.push_back({"growth", "A job that may grow from one GPU to four, and a guest", table});
  report.findings.push_back({"a job that grows onto idle GPUs ends earlier and is in nobody's way",
                             took_s[1] < took_s[0] && guest_waits_s < kMinuteS,
                             fmt::format("{:.0f} min instead of {:.0f}; the guest waits {:.0f} s", took_s[1] / kMinuteS,
                                         took_s[0] / kMinuteS, guest_waits_s)});
  return {};
}

// 5. A crowded cluster.
struct Crowd {
  double done = 0;        // work of jobs that ended while jobs came / GPU time there was
  double feedback_s = 0;  // mean time until a job has had its first seconds on GPUs
  double mean_s = 0;
};

// When each job has been on GPUs for so long.
IndexedVector<JobIndex, TimeNs> feedback_times(const RunResult& run, TimeNs needed) {
  IndexedVector<JobIndex, std::vector<const Holding*>> by_job(run.jobs.size());
  for (const Holding& holding : run.holdings) by_job[holding.job].push_back(&holding);
  IndexedVector<JobIndex, TimeNs> times(run.jobs.size(), kNever);
  for (const JobIndex j : by_job.indices()) {
    std::sort(by_job[j].begin(), by_job[j].end(),
              [](const Holding* a, const Holding* b) { return a->from_ns < b->from_ns; });
    TimeNs had = 0, until = -1;
    for (const Holding* holding : by_job[j]) {
      if (holding->from_ns < until) continue;  // the same turn on another machine
      until = holding->to_ns;
      if (had + until - holding->from_ns >= needed) {
        times[j] = holding->from_ns + needed - had;
        break;
      }
      had += until - holding->from_ns;
    }
    if (times[j] == kNever && run.jobs[j].end_ns != kNever) times[j] = run.jobs[j].end_ns;
  }
  return times;
}

struct Variant {
  const char* name;
  const char* policy;
  bool packing;
};
constexpr Variant kVariants[] = {{"fifo", "fifo", false},
                                 {"first-fit", "first-fit", false},
                                 {"gandiva, no packing", "gandiva", false},
                                 {"gandiva", "gandiva", true}};

// Jobs of Philly's sizes and lengths; what they leave of a GPU is that of measured ones.
JobTrace crowd_of(const GandivaExperiment& options, const MeasuredPairs& measured, std::uint64_t seed) {
  JobTrace job_trace = generate_with_load({.jobs = static_cast<std::size_t>(options.jobs), .seed = seed}, options.load,
                                          options.machines * options.gpus_per_machine);
  Random random = Random(seed).split("profiles");
  for (TraceJob& job : job_trace.jobs) {
    const PairMember& member = measured.alone[random.below(measured.alone.size())];
    job.model = member.config;
    job.facts.gpu_utilisation = member.utilisation;
    job.facts.gpu_memory_share = member.memory_share;
  }
  return job_trace;
}

std::string pairs_csv(const MeasuredPairs& measured) {
  std::string csv = "model1,speed1,model2,speed2\n";
  for (const MeasuredPair& pair : measured.pairs) {
    csv += fmt::format("\"{}\",{},\"{}\",{}\n", pair.first.config, pair.first.speed, pair.second.config,
                       pair.second.speed);
  }
  return csv;
}

Result<Crowd> play_crowd(const Variant& variant, const GandivaExperiment& options, const JobTrace& job_trace,
                         const InterferenceTable& pairs) {
  RunSetup setup = setup_of(static_cast<std::size_t>(options.machines), options.gpus_per_machine, options);
  setup.gandiva.packing = variant.packing;
  setup.interference = pairs;
  ORRERY_TRY(const RunResult run, run_policy(job_trace, setup, variant.policy));
  const TimeNs window = job_trace.jobs.back().facts.submit_ns;
  const int gpus = options.machines * options.gpus_per_machine;
  const IndexedVector<JobIndex, TimeNs> feedback = feedback_times(run, schedule::from_seconds(options.feedback_s));
  Crowd crowd;
  double counted = 0;
  for (const JobIndex j : run.jobs.indices()) {
    const JobFacts& facts = job_trace.jobs[j].facts;
    if (run.jobs[j].end_ns <= window) crowd.done += schedule::to_seconds(facts.work_ns) * facts.gpus;
    if (feedback[j] == kNever) continue;
    crowd.feedback_s += schedule::to_seconds(feedback[j] - facts.submit_ns);
    ++counted;
  }
  crowd.done /= schedule::to_seconds(window) * gpus;
  crowd.feedback_s /= std::max(1.0, counted);
  crowd.mean_s = summarise(job_trace, run, gpus, 0).mean_s;
  return crowd;
}

Result<std::vector<Crowd>> play_crowds(const GandivaExperiment& options, const MeasuredPairs& measured,
                                       const std::function<void()>& done) {
  ORRERY_TRY(const InterferenceTable pairs, InterferenceTable::parse(pairs_csv(measured), "measured pairs"));
  std::vector<Crowd> means(std::size(kVariants));
  for (int seed = 1; seed <= options.seeds; ++seed) {
    const JobTrace job_trace = crowd_of(options, measured, static_cast<std::uint64_t>(seed));
    std::vector<std::optional<Result<Crowd>>> crowds(std::size(kVariants));
    run_parallel(crowds.size(), options.threads,
                 [&](std::size_t i) { crowds[i].emplace(play_crowd(kVariants[i], options, job_trace, pairs)); });
    for (std::size_t i = 0; i < crowds.size(); ++i) {
      if (!*crowds[i]) return std::move(*crowds[i]).error().with_context(kVariants[i].name);
      for (double Crowd::*figure : {&Crowd::done, &Crowd::feedback_s, &Crowd::mean_s}) {
        means[i].*figure += (**crowds[i]).*figure / options.seeds;
      }
      if (done) done();
    }
  }
  return means;
}

Status crowd_cluster(const GandivaExperiment& options, const MeasuredPairs& measured, ExperimentReport& report,
                     const std::function<void()>& done) {
  ORRERY_TRY(const std::vector<Crowd> crowds, play_crowds(options, measured, done));
  Table table({{"policy", "policy"},
               {"work_done", "work of jobs that ended, of GPU time", CellFormat::kPercent},
               {"feedback_s", "mean time to first feedback", CellFormat::kSeconds},
               {"mean_s", "mean completion", CellFormat::kSeconds}});
  for (std::size_t i = 0; i < crowds.size(); ++i) {
    table.add({kVariants[i].name, crowds[i].done, crowds[i].feedback_s, crowds[i].mean_s});
  }
  report.tables.push_back(
      {"cluster",
       fmt::format("{} GPUs with a load of {:g}, {} jobs, means of {} seeds",
                   options.machines * options.gpus_per_machine, options.load, options.jobs, options.seeds),
       table});
  const double more = crowds[3].done / crowds[2].done - 1, sooner = crowds[0].feedback_s / crowds[3].feedback_s;
  report.findings.push_back(
      {fmt::format("packing raises what a crowded cluster gets done, by {:.0f} %", 100 * kPublishedUtilisationGain),
       more > 0,
       fmt::format(
           "{:+.1f} % over taking turns without packing: only pairs are packed here, only with as many GPUs, and "
           "only on servers that are crowded",
           100 * more)});
  report.findings.push_back(
      {fmt::format("first feedback comes {} times sooner than in order of arrival", kPublishedFeedbackGain), sooner > 1,
       fmt::format("{:.1f} times: {:.0f} s instead of {:.0f} s; how long a queue gets decides", sooner,
                   crowds[3].feedback_s, crowds[0].feedback_s)});
  return {};
}

}  // namespace

Result<ExperimentReport> run_gandiva_experiment(env::Files& files, const std::string& pairs,
                                                const GandivaExperiment& options, const std::function<void()>& done) {
  ORRERY_TRY(const MeasuredPairs measured, read_measured_pairs(files, pairs));
  ExperimentReport report;
  ORRERY_TRY_VOID(slice_time(options, report));
  ORRERY_TRY_VOID(tabulate_pairs(measured, report));
  ORRERY_TRY_VOID(move_jobs(options, report));
  ORRERY_TRY_VOID(grow_and_shrink(options, report));
  ORRERY_TRY_VOID(crowd_cluster(options, measured, report, done));
  return report;
}

}  // namespace orrery::lab
