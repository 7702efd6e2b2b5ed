// What changing the number of processes costs a training job under `orrery run`, and what it costs under torchrun:
//
//   grow by a standby    10 ms between two steps
//   shrink             5 ms between two steps
//   torchrun           stopped and started with another number of processes: at least 100 times as long
//
// Both train the same: sums of 1 MB of gradients. Ours has 2, 3, 4, 3, 1 and 2 workers in turn. Times are between the
// last step before and the first after the change, as rank 0 saw them. Medians are judged. Exit code 1 when a bar is
// missed.
//
//   bench_elastic_resize [ROUNDS]

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

#include "base/statistics.h"
#include "elastic/job/enlist.h"
#include "elastic/resized_job.h"
#include "env/env.h"

namespace orrery {
namespace {

using namespace elastic;

constexpr int kRounds = 15, kRestarts = 3;
constexpr std::size_t kParameters = 250'000;

// One process of our job.
int work(const env::Env& env) {
  std::vector<float> model(kParameters), aside(kParameters, 1);
  auto options = enlist(env.variables, {.samples = 1'000'000});
  if (!options) return 2;
  options->commit = [&](const StepCommitted&) {
    for (std::size_t i = 0; i < kParameters; ++i) model[i] -= aside[i];
  };
  options->state = [&] { return std::as_writable_bytes(std::span(model)); };
  auto worker = Worker::start(orrery::env::make_real_env(), std::move(*options));
  if (!worker) return 3;
  auto gradients = (*worker)->arena().allocate(kParameters * sizeof(float));
  if (!gradients) return 4;
  auto* const sums = reinterpret_cast<float*>(gradients->data());
  for (;;) {
    std::fill(sums, sums + kParameters, 1.0F);
    const auto ticket = (*worker)->session().all_reduce("g", {sums, kParameters, DataType::kF32}, ReduceOp::kSum);
    Status summed = ticket ? (*worker)->session().wait(*ticket) : Status(ticket.error());
    std::copy(sums, sums + kParameters, aside.begin());
    const auto outcome = (*worker)->finish_step(summed);
    if (!outcome) return 5;
    if (*outcome == StepOutcome::kEnded) return 0;
  }
}

constexpr int kSizes[] = {2, 3, 4, 3, 1, 2};

struct Measured {
  std::vector<double> steps_ms[std::size(kSizes) - 1];  // by change of size
  std::vector<double> grow_request_ms, torchrun_ms;
};

bool measure_ours(const env::Env& env, const std::string& self, int rounds, Measured& into) {
  const auto job = ResizedJob::start(env, fmt::format("bench-{}", ::getpid()), {self, "worker"});
  if (!job) return false;
  std::vector<double> ignored;
  bool ok = true;
  for (int round = 0; round < rounds && ok; ++round) {
    for (std::size_t i = 0; i + 1 < std::size(kSizes) && ok; ++i) {
      const int from = kSizes[i], to = kSizes[i + 1];
      ok = job->wait_until_ready(static_cast<std::size_t>(from));
      env.clock.sleep(Seconds(0.05));
      ok = ok &&
           job->resize(static_cast<std::uint64_t>(to), into.steps_ms[i], to > from ? into.grow_request_ms : ignored);
    }
  }
  job->stop();
  return ok;
}

struct LastStep {
  int ranks = 0;
  double time_s = 0;
};

LastStep last_step(const std::string& path) {
  LastStep last;
  std::ifstream(path) >> last.ranks >> last.time_s;
  return last;
}

bool measure_torchrun(const env::Env& env, const std::string& folder, Measured& into) {
  const std::string script = ORRERY_SOURCE "/bench/elastic/torchrun_worker.py";
  const std::string file = folder + "/last-step";
  const auto start = [&](int ranks) {
    // Debian's 1.13 starts nothing without both of the last options: with Python 3.11 it finds neither flag 0 nor 3.
    return env.processes.spawn(
        {.argv = {"/usr/bin/python3", "-m", "torch.distributed.run", "--standalone", "--nproc_per_node",
                  std::to_string(ranks), "--log_dir", folder, "--redirects", "1", "--tee", "1", script, file},
         .environment = {{"OMP_NUM_THREADS", "1"}},
         .output = env::Output::kDiscard,
         .own_group = true});
  };
  int ranks = 2;
  auto job = start(ranks);
  for (int i = 0; i < kRestarts && job; ++i) {
    if (!wait_for(env, [&] { return last_step(file).ranks == ranks; })) return false;
    env.clock.sleep(Seconds(0.3));
    (void)(*job)->kill(env::Signal::kTerminate);
    if (const auto ended = (*job)->wait(kBackoff); !ended || !*ended) return false;
    const double before = last_step(file).time_s;
    ranks = 5 - ranks;
    job = start(ranks);
    LastStep after;
    const bool done = job && wait_for(env, [&] {
                        after = last_step(file);
                        return after.ranks == ranks;
                      });
    if (!done) return false;
    // The file holds the last step so far, which is a few milliseconds after the first.
    into.torchrun_ms.push_back(1e3 * (after.time_s - before));
  }
  return job.has_value();
}

bool row(const std::string& what, const std::vector<double>& values, double bar_ms) {
  const double middle = median(values);
  const bool met = bar_ms == 0 || middle <= bar_ms;
  const char* const verdict = bar_ms == 0 ? "" : met ? "meets" : "MISSES";
  fmt::print("| {} | {} | {:.3f} | {:.3f} | {} | {} |\n", what, values.size(), middle, quantile(values, 0.9),
             bar_ms > 0 ? fmt::format("{:.0f}", bar_ms) : "", verdict);
  return met;
}

int run(int argc, char** argv) {
  const env::Env env = env::make_real_env();
  if (argc > 1 && std::string_view(argv[1]) == "worker") return work(env);
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : kRounds;
  const std::string self = std::filesystem::canonical("/proc/self/exe").string();
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("orrery-resize-{}", ::getpid());
  std::filesystem::create_directories(folder);
  Measured measured;
  const bool ours = measure_ours(env, self, rounds, measured);
  const bool theirs = ours && measure_torchrun(env, folder.string(), measured);
  std::filesystem::remove_all(folder);
  if (!ours) {
    fmt::print(stderr, "the job did not get its size\n");
    return 1;
  }
  fmt::print("| between two steps | events | median ms | p90 ms | bar ms | verdict |\n|---|---:|---:|---:|---:|---|\n");
  bool met = true;
  for (std::size_t i = 0; i + 1 < std::size(kSizes); ++i) {
    const bool grows = kSizes[i + 1] > kSizes[i];
    met = row(fmt::format("{} to {} workers{}", kSizes[i], kSizes[i + 1], grows ? " by a standby" : ""),
              measured.steps_ms[i], grows ? 10 : 5) &&
          met;
  }
  row("to more workers: from the request to the answer that it is done", measured.grow_request_ms, 0);
  if (!theirs || measured.torchrun_ms.empty()) {
    fmt::print("torchrun could not be measured (python3-torch): no ratio\n");
    return met ? 0 : 1;
  }
  row("torchrun, stopped and started with 3 or 2 processes", measured.torchrun_ms, 0);
  constexpr double kBar = 100;
  const double ratio = median(measured.torchrun_ms) / median(measured.steps_ms[0]);
  fmt::print("\ntorchrun / ours: {:.0f} (bar {:.0f}): {}\n", ratio, kBar, ratio >= kBar ? "meets" : "MISSES");
  return met && ratio >= kBar ? 0 : 1;
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  return orrery::run(argc, argv);
}
