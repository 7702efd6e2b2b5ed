// What it costs two workers of a job that a third gets the model, by the size of the model: while all wait, and between
// steps that go on meanwhile (`lanes`, src/elastic/model_transfer.h).
//
// Workers sum up 1 MB of gradients per step, and each step changes another 1 MB of the model, so that a step takes as
// long with every model. Judged is the longest time between two steps of a worker, from the request until the third has
// the model: with a model of 512 MB it may be twice that of 1 MB. Medians of the rounds; the ratio is that of each
// round. Exit code 1 when the bar is missed.
//
//   bench_elastic_join [ROUNDS]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

#include "base/statistics.h"
#include "elastic/job/enlist.h"
#include "elastic/resized_job.h"
#include "env/env.h"

namespace orrery {
namespace {

using namespace elastic;

constexpr int kRounds = 15;
constexpr std::size_t kGradients = 250'000;  // 1 MB
constexpr std::size_t kMegabyte = 1'000'000;
constexpr double kBar = 2;

// What workers and the one who measures both see.
struct Board {
  std::atomic<double> longest_s{0};  // between two commits of a worker that was there before
  std::atomic<std::uint64_t> steps{0}, learner_steps{0};
  std::atomic<bool> has_joined{false};  // with the model
};

class SharedBoard {
 public:
  explicit SharedBoard(const std::string& path) {
    const env::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (::ftruncate(file.get(), sizeof(Board)) != 0) std::abort();
    board_ = static_cast<Board*>(::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0));
  }
  ~SharedBoard() { ::munmap(board_, sizeof(Board)); }
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;
  Board* operator->() const { return board_; }

 private:
  Board* board_;
};

// One process of the job.
int work(const env::Env& env, const std::string& path, std::size_t megabytes, std::uint64_t lanes) {
  const SharedBoard board(path);
  const std::size_t count = megabytes * kGradients;
  // Not touched before it is used: a standby must not take the machine's memory from workers.
  const std::unique_ptr<float, decltype(&std::free)> model(static_cast<float*>(std::calloc(count, sizeof(float))),
                                                           &std::free);
  std::vector<float> aside(kGradients, 1);
  auto options = enlist(env.variables, {.samples = 1'000'000});
  if (!options) return 2;
  const bool is_initial = options->first.has_value();
  if (is_initial) std::fill_n(model.get(), count, 1.0F);
  Worker* running = nullptr;
  Seconds last{0};
  options->commit = [&](const StepCommitted& step) {
    float* const window = model.get() + step.progress.step % megabytes * kGradients;
    for (std::size_t i = 0; i < kGradients; ++i) window[i] -= aside[i];
    const Seconds now = env.clock.monotonic();
    if (is_initial && last > Seconds(0)) board->longest_s = std::max(board->longest_s.load(), (now - last).value());
    last = now;
    if (is_initial) ++board->steps;
    const bool is_learner = running == nullptr || running->is_learner();
    if (!is_initial && is_learner) ++board->learner_steps;
    if (!is_initial && !is_learner) board->has_joined = true;
  };
  options->state = [&] { return std::as_writable_bytes(std::span(model.get(), count)); };
  options->lanes = lanes;
  auto worker = Worker::start(orrery::env::make_real_env(), std::move(*options));
  if (!worker) return 3;
  running = worker->get();
  auto gradients = (*worker)->arena().allocate(kGradients * sizeof(float));
  if (!gradients) return 4;
  auto* const sums = reinterpret_cast<float*>(gradients->data());
  for (;;) {
    std::fill(sums, sums + kGradients, (*worker)->is_learner() ? 0.0F : 1.0F);
    const auto ticket = (*worker)->session().all_reduce("g", {sums, kGradients, DataType::kF32}, ReduceOp::kSum);
    Status summed = ticket ? (*worker)->session().wait(*ticket) : Status(ticket.error());
    std::copy(sums, sums + kGradients, aside.begin());
    const auto outcome = (*worker)->finish_step(summed);
    if (!outcome) return 5;
    if (*outcome == StepOutcome::kEnded) return 0;
  }
}

struct Measured {
  std::vector<double> usual_ms, longest_ms, joined_ms, learner_steps;
};

bool measure(const env::Env& env, const std::string& self, const std::string& path, std::size_t megabytes,
             std::uint64_t lanes, Measured& into) {
  (void)::unlink(path.c_str());
  const SharedBoard board(path);
  static int jobs = 0;
  auto job = ResizedJob::start(env, fmt::format("join-{}-{}", ::getpid(), ++jobs),
                               {self, "worker", path, std::to_string(megabytes), std::to_string(lanes)});
  if (!job) return false;
  bool ok = job->wait_until_ready() && wait_for(env, [&] { return board->steps > 100; });
  board->longest_s = 0;
  env.clock.sleep(Seconds(0.2));
  into.usual_ms.push_back(1e3 * board->longest_s);
  board->longest_s = 0;
  const Seconds start = env.clock.monotonic();
  std::vector<double> pauses_ms, requests_ms;
  ok = ok && job->resize(3, pauses_ms, requests_ms) && wait_for(env, [&] { return board->has_joined.load(); });
  into.joined_ms.push_back(1e3 * (env.clock.monotonic() - start).value());
  into.longest_ms.push_back(1e3 * board->longest_s);
  into.learner_steps.push_back(static_cast<double>(board->learner_steps));
  job->stop();
  return ok;
}

int run(int argc, char** argv) {
  const env::Env env = env::make_real_env();
  if (argc == 5 && std::string_view(argv[1]) == "worker") {
    return work(env, argv[2], std::strtoull(argv[3], nullptr, 10), std::strtoull(argv[4], nullptr, 10));
  }
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : kRounds;
  const std::string self = std::filesystem::canonical("/proc/self/exe").string();
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("orrery-join-{}", ::getpid())).string();
  constexpr std::array<std::size_t, 3> kMegabytes = {1, 64, 512};
  std::map<std::pair<std::uint64_t, std::size_t>, Measured> measured;  // by lanes and megabytes
  for (int round = 0; round < rounds; ++round) {
    for (const std::size_t megabytes : kMegabytes) {
      for (const std::uint64_t lanes : {0, 1}) {
        if (measure(env, self, path, megabytes, lanes, measured[{lanes, megabytes}])) continue;
        fmt::print(stderr, "the job did not get its size\n");
        (void)::unlink(path.c_str());
        return 1;
      }
    }
  }
  (void)::unlink(path.c_str());
  fmt::print(
      "| model MB | others | longest time between two steps, ms (p90) | usual longest in 0.2 s | third has the model "
      "after ms | steps meanwhile |\n|---:|---|---:|---:|---:|---:|\n");
  for (const auto& [key, of] : measured) {
    fmt::print("| {} | {} | {:.1f} ({:.1f}) | {:.1f} | {:.0f} | {:.0f} |\n", key.second,
               key.first == 0 ? "wait" : "step on", median(of.longest_ms), quantile(of.longest_ms, 0.9),
               median(of.usual_ms), median(of.joined_ms), median(of.learner_steps));
  }
  const auto ratio = [&](std::uint64_t lanes) {
    std::vector<double> ratios;
    for (int round = 0; round < rounds; ++round) {
      const auto at = static_cast<std::size_t>(round);
      ratios.push_back(measured[{lanes, 512}].longest_ms[at] / measured[{lanes, 1}].longest_ms[at]);
    }
    return median(ratios);
  };
  const double learner = ratio(1);
  fmt::print("\n512 MB / 1 MB: {:.1f} while all wait, {:.2f} while steps go on (bar {:.0f}): {}\n", ratio(0), learner,
             kBar, learner <= kBar ? "meets" : "MISSES");
  return learner <= kBar ? 0 : 1;
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  return orrery::run(argc, argv);
}
