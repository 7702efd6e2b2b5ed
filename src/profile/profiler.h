#pragma once
// Measures one training run: its execution trace, and how far to trust it.
//
// Procedure
// 1. Warm up: untimed steps until caches, allocators and thread pools are filled.
// 2. Rounds of one plain and one traced step, in alternating order, so that both meet the same disturbances.
// 3. With a speed probe (speed_probe.h) the core's slowness is read between steps, and all times of a step are divided
//    by the mean of the readings before and behind it.
// 4. A step that takes more than kOutlier times a fast one of its kind (the last of the fastest quarter) is left out.
// 5. Each operator's execution time and gap are its medians over the kept traced steps.
// 6. The un-instrumented iteration time is the median of the kept plain steps. Its difference to Σ (execution + gap) is
//    the conservation error; the traced median over the plain one is the cost of measuring.
// A measurement is marked noisy, with the machine's load, when plain steps spread more than kNoisySpread (interquartile
// range over median) or half of the steps were outliers.

#include <functional>
#include <string>

#include "env/files.h"
#include "profile/executor.h"
#include "trace/execution_trace.h"

namespace orrery::profile {

inline constexpr double kOutlier = 1.5;
inline constexpr double kNoisySpread = 0.10;
inline constexpr int kFewestRounds = 3;

struct ProfileOptions {
  int warmup = 3;
  int repetitions = 10;
  Seconds time_max;  // 0: no limit; stops after the round that crosses it, but not before kFewestRounds
};

// All may be empty.
struct ProfileHooks {
  std::function<Status(std::int64_t step)> before_step{};  // not timed: new data
  std::function<void(int done, int rounds)> after_round{};
  std::function<double()> slowness{};  // of the core, now
};

struct Profile {
  trace::ExecutionTrace trace;
  Seconds iteration;           // without tracing
  double spread = 0;           // interquartile range of plain steps over their median
  double overhead = 0;         // of tracing, as a share of the iteration; may be slightly negative by noise
  double conservation = 0;     // (Σ (execution + gap) − iteration) / iteration
  double slowness = 1;         // of the core, already divided out
  int kept = 0, measured = 0;  // traced steps
  double load = 0;             // runnable threads of other processes before the start
  bool is_noisy = false;
  double first_loss = 0, last_loss = 0;
};

Result<Profile> measure(const workload::TrainingRun& run, Executor& executor, const ProfileOptions& options,
                        env::Files& files, env::Clock& clock, const ProfileHooks& hooks = {});

// Memory that can be had without swapping.
Result<Bytes> available_memory(env::Files& files);

// Joins the samples of one step: consecutive ones of an operator and phase become one operator.
Result<std::vector<trace::TracedOperator>> operators_of(const workload::TrainingRun& run, const StepRecord& step);

}  // namespace orrery::profile
