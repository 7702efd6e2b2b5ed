// How fast the simulated cluster is, against the bars of somebody who compares policies over a month of jobs:
//
//   36 published runs of Optimus and Tiresias    3 s    their simulator needs about three minutes
//   AlloX, exact, 400 and 5,000 jobs             50 ms, 20 s
//   the Philly trace under a policy              5 s, Optimus 30 s
//   one Optimus decision, 100,000 tasks          0.5 s, and a tenth of it when one job changes
//   events per second of list policies           1 million
//   memory                                       1 KB per job
//
// Times are CPU seconds of the one thread that works, so that other programs on the machine do not count.
//
// The traces are not part of the product: ORRERY_DATA, or `shared` beside the tree; lines that need them are left out
// without. Exit code 1 when a bar is missed.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <string>
#include <sys/resource.h>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "env/env.h"
#include "env/files.h"
#include "lab/reference/reference.h"
#include "schedule/placement/optimus_placement.h"
#include "schedule/policies/allox.h"
#include "simulate/data_file.h"
#include "simulate/generate.h"
#include "simulate/readers/reader.h"
#include "simulate/runner.h"

namespace orrery {
namespace {

class Bench {
 public:
  Bench() : env_(env::make_real_env()) {
    const char* set = std::getenv("ORRERY_DATA");
    shared_ = set != nullptr ? set : "../shared";
  }

  int run() {
    const Status status = all();
    if (!status) fmt::print("{}\n", status.error().to_string());
    return status && met_ ? 0 : 1;
  }

 private:
  static double now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

  void at_most(const std::string& what, double value, double bar, std::string_view unit) {
    report(what, value, bar, unit, value <= bar, "at most");
  }
  void at_least(const std::string& what, double value, double bar, std::string_view unit) {
    report(what, value, bar, unit, value >= bar, "at least");
  }
  void report(const std::string& what, double value, double bar, std::string_view unit, bool met,
              std::string_view way) {
    fmt::print("{:<62} {:>12.4g} {:<9} {} {:g}: {}\n", what, value, unit, way, bar, met ? "met" : "MISSED");
    std::fflush(stdout);
    met_ = met_ && met;
  }

  Status all() {
    // First, because it is about the peak of the process.
    ORRERY_TRY_VOID(memory_per_job());
    ORRERY_TRY_VOID(events_per_second());
    optimus_decision();
    if (!env_.files.exists(shared_ + "/data")) {
      fmt::print("no {}/data: published runs and the Philly trace are left out\n", shared_);
      return {};
    }
    ORRERY_TRY_VOID(published_runs());
    ORRERY_TRY_VOID(allox());
    return philly();
  }

  static simulate::JobTrace many_jobs(std::size_t jobs) {
    simulate::GenerateOptions options;
    options.jobs = jobs;
    options.rate_per_h = 600;
    return simulate::generate(options);
  }

  static simulate::RunSetup cluster(std::size_t machines, int gpus) {
    simulate::RunSetup setup;
    setup.machines.assign(machines, {.gpus = gpus});
    return setup;
  }

  static double peak_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) * 1024;
  }

  Status memory_per_job() {
    constexpr std::size_t kJobs = 500'000;
    const double before = peak_bytes();
    const simulate::JobTrace job_trace = many_jobs(kJobs);
    ORRERY_TRY(const simulate::RunResult run, simulate::run_policy(job_trace, cluster(256, 8), "srtf"));
    at_most("memory of a workload and its run, per job (srtf)", (peak_bytes() - before) / kJobs, 1024, "bytes");
    return {};
  }

  Status events_per_second() {
    const simulate::JobTrace job_trace = many_jobs(200'000);
    // One pool, as the published list simulators have it.
    simulate::RunSetup pool = cluster(1, 1024);
    for (const char* policy : {"fifo", "first-fit", "sjf", "srtf", "srsf", "las"}) {
      // The best of a few: what else runs on the machine can only slow it down.
      double seconds = 1e9, events = 0;
      for (int i = 0; i < 5; ++i) {
        const double start = now();
        ORRERY_TRY(const simulate::RunResult run, simulate::run_policy(job_trace, pool, policy));
        seconds = std::min(seconds, now() - start);
        events = static_cast<double>(run.events);
      }
      at_least(fmt::format("events per second, {}, 200,000 jobs on a pool of 1,024 GPUs", policy), events / seconds,
               1e6, "events/s");
    }
    return {};
  }

  void optimus_decision() {
    constexpr std::size_t kJobs = 4000, kServers = 16'000;
    constexpr int kTasks = 100'000;
    Random random(1);
    std::vector<schedule::PsJob> jobs(kJobs);
    for (schedule::PsJob& job : jobs) {
      job.speed = {random.uniform(0.5, 2),        random.uniform(0.01, 0.1),     random.uniform(0.01, 0.2),
                   random.uniform(0.0001, 0.001), random.uniform(0.0001, 0.001), 1};
      job.steps_left = random.uniform(1e3, 1e6);
      job.server = job.worker = {1, 2, 0, 0};
    }
    // Room for exactly 100,000 tasks; the servers have a little more.
    schedule::OptimusAllocator allocator(jobs, {kTasks, 1e9, 0, 0});
    schedule::OptimusPlacement placement(
        IndexedVector<schedule::MachineIndex, schedule::PsDemand>(kServers, {8, 64, 0, 0}));
    double start = now();
    allocator.allocate();
    placement.place_all(allocator.jobs(), allocator.tasks());
    const double whole = now() - start;
    int tasks = 0;
    for (const schedule::PsTasks& t : allocator.tasks()) tasks += t.servers + t.workers;
    at_most(fmt::format("Optimus decides for 4,000 jobs, {} tasks, 16,000 nodes", tasks), whole, 0.5, "s");
    constexpr int kChanges = 50;
    start = now();
    for (int i = 0; i < kChanges; ++i) {
      const std::size_t index = random.below(kJobs);
      schedule::PsJob job = allocator.jobs()[index];
      job.steps_left *= 0.9;
      std::vector<std::size_t> changed;
      allocator.change(index, job, changed);
      placement.place_again(allocator.jobs(), allocator.tasks(), changed);
    }
    const double one = (now() - start) / kChanges;
    at_least("  and when one job changes, times faster", whole / one, 10, "times");
  }

  Status published_runs() {
    const lab::ReferenceInput input{env_.files, [] { return now(); }, shared_ + "/oracles/sched_pollux_sim",
                                    "",         shared_ + "/data",    ""};
    ORRERY_TRY(const lab::ReferenceReport report, lab::run_reference(input));
    double seconds = 0;
    int runs = 0;
    for (const lab::ReferenceCase& c : report.cases) {
      // Pollux searches in every round, there too; the target is about the other two.
      if (c.target == lab::Target::kNone || c.metric != "mean completion time, s" || c.policy == "pollux") continue;
      seconds += c.seconds;
      ++runs;
    }
    at_most(fmt::format("{} published runs of Optimus and Tiresias", runs), seconds, 3, "s");
    return {};
  }

  Status allox() {
    ORRERY_TRY(const CsvTable table,
               simulate::read_csv_file(env_.files, shared_ + "/data/hydra_pai/cases_30pct_deadlines.csv"));
    schedule::BatchProblem all;
    all.machines = {10, 20, 15};
    for (const CsvRow& row : table.rows) {
      schedule::BatchJob& job = all.jobs.emplace_back();
      for (const char* type : {"A100", "V100", "GTX2080Ti"}) {
        ORRERY_TRY(job.runtime_s.emplace_back(), simulate::number_field(table, row, type));
      }
    }
    for (const std::size_t jobs : {std::size_t{400}, std::min<std::size_t>(5000, all.jobs.size())}) {
      schedule::BatchProblem problem = all;
      problem.jobs.resize(jobs);
      const double start = now();
      ORRERY_TRY(const std::vector<schedule::BatchQueue> queues, schedule::solve_allox(problem));
      at_most(fmt::format("AlloX, exact, {} jobs", jobs), now() - start, jobs == 400 ? 0.05 : 20, "s");
    }
    return {};
  }

  Status philly() {
    const std::string path = shared_ + "/data/philly/philly_jobs.csv";
    ORRERY_TRY(const std::string text, simulate::read_data_file(env_.files, path));
    ORRERY_TRY(const simulate::JobTraceFile file, simulate::read_job_trace(text, path));
    for (const char* policy : {"fifo", "srtf", "las", "gandiva", "optimus"}) {
      const double start = now();
      ORRERY_TRY(const simulate::RunResult run, simulate::run_policy(file.job_trace, cluster(32, 8), policy));
      const double seconds = now() - start;
      at_most(fmt::format("Philly, {} jobs on 32 x 8 GPUs, {}", file.job_trace.jobs.size(), policy), seconds,
              std::string_view(policy) == "optimus" ? 30 : 5, "s");
    }
    return {};
  }

  env::Env env_;
  std::string shared_;
  bool met_ = true;
};

}  // namespace
}  // namespace orrery

int main() {
  return orrery::Bench().run();
}
