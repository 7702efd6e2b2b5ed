#include "profile/profiler.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "base/statistics.h"
#include "base/text.h"
#include "workload/cost.h"
#include "workload/traits.h"

namespace orrery::profile {

using trace::TracedOperator;

namespace {

double duration_s(const StepRecord& step) {
  return (step.end - step.start).value();
}

std::vector<std::vector<std::int64_t>> input_shapes(const workload::TrainingGraph& graph,
                                                    const workload::Operator& op) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const workload::TensorType& type : graph.input_types(op)) {
    shapes.emplace_back(type.shape.dims().begin(), type.shape.dims().end());
  }
  return shapes;
}

TracedOperator describe(const workload::TrainingRun& run, const OperatorSample& sample) {
  const workload::Operator& op = run.graph[sample.op];
  const auto cost = operator_cost(run.graph, {sample.op, sample.phase}, run.cost_options());
  TracedOperator traced;
  traced.index = sample.op;
  traced.phase = sample.phase;
  traced.name = op.name;
  traced.kind = std::string(to_string(op.kind));
  traced.inputs = input_shapes(run.graph, op);
  traced.flops = cost.flops();
  traced.bytes = cost.bytes();
  return traced;
}

bool continues(const TracedOperator& op, const OperatorSample& sample) {
  return op.index == sample.op && op.phase == sample.phase;
}

// Steps of one kind that are to be counted.
struct Kept {
  std::vector<std::size_t> steps{};
  std::vector<double> seconds{};
};

// Disturbances only slow a step down, so steps are compared with a fast one: the last of the fastest quarter.
Kept undisturbed(const std::vector<double>& all) {
  std::vector<double> sorted = all;
  std::sort(sorted.begin(), sorted.end());
  const double fast = sorted[(sorted.size() - 1) / 4];
  Kept kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] > fast * kOutlier) continue;
    kept.steps.push_back(i);
    kept.seconds.push_back(all[i]);
  }
  return kept;
}

// The steps of one measurement, in order.
class Rounds {
 public:
  Rounds(Executor& executor, env::Clock& clock, const ProfileHooks& hooks)
      : executor_(executor), clock_(clock), hooks_(hooks) {}

  Status run(const ProfileOptions& options) {
    for (int i = 0; i < options.warmup; ++i) ORRERY_TRY_VOID(step(i == 0 ? Trace::kYes : Trace::kNo));
    const Seconds start = clock_.monotonic();
    slowness_ = read_slowness();
    for (int round = 0; round < options.repetitions; ++round) {
      const bool plain_first = round % 2 == 0;
      ORRERY_TRY_VOID(timed_step(plain_first ? Trace::kNo : Trace::kYes));
      ORRERY_TRY_VOID(timed_step(plain_first ? Trace::kYes : Trace::kNo));
      if (hooks_.after_round) hooks_.after_round(round + 1, options.repetitions);
      if (options.time_max == Seconds(0) || round + 1 < kFewestRounds) continue;
      if (clock_.monotonic() - start > options.time_max) break;
    }
    return {};
  }

  std::vector<double> plain, traced;  // seconds on a quiet core
  std::vector<StepRecord> records;    // of the traced steps
  std::vector<double> slowness;       // of the traced steps
  std::vector<double> losses;

 private:
  double read_slowness() const { return hooks_.slowness ? hooks_.slowness() : 1; }

  Result<StepRecord> step(Trace trace) {
    if (hooks_.before_step) ORRERY_TRY_VOID(hooks_.before_step(static_cast<std::int64_t>(losses.size())));
    ORRERY_TRY(StepRecord record, executor_.step(trace));
    losses.push_back(record.loss);
    return record;
  }

  Status timed_step(Trace trace) {
    ORRERY_TRY(StepRecord record, step(trace));
    const double before = std::exchange(slowness_, read_slowness());
    const double during = (before + slowness_) / 2;
    (trace == Trace::kYes ? traced : plain).push_back(duration_s(record) / during);
    if (trace == Trace::kNo) return {};
    slowness.push_back(during);
    records.push_back(std::move(record));
    return {};
  }

  Executor& executor_;
  env::Clock& clock_;
  const ProfileHooks& hooks_;
  double slowness_ = 1;  // when it was last read
};

Result<double> machine_load(env::Files& files) {
  ORRERY_TRY(const std::string text, files.read("/proc/loadavg", kibibytes(1)));
  const auto load = parse_number(text.substr(0, text.find(' ')));
  if (!load) return Error::io("/proc/loadavg does not start with a number");
  return *load;
}

// Medians over steps whose operators are the same in the same order.
Result<std::vector<TracedOperator>> median_operators(const std::vector<std::vector<TracedOperator>>& steps) {
  std::vector<TracedOperator> result = steps.front();
  for (const auto& step : steps) {
    bool is_same = step.size() == result.size();
    for (std::size_t i = 0; is_same && i < step.size(); ++i) {
      is_same = step[i].index == result[i].index && step[i].phase == result[i].phase;
    }
    if (!is_same) return Error::internal("two steps of one model ran different operators");
  }
  Seconds start;
  std::vector<double> executions(steps.size()), gaps(steps.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    for (std::size_t s = 0; s < steps.size(); ++s) {
      executions[s] = steps[s][i].execution.value();
      gaps[s] = steps[s][i].gap.value();
    }
    result[i].start = start;
    result[i].execution = Seconds(median(executions));
    result[i].gap = Seconds(median(gaps));
    start += result[i].execution + result[i].gap;
  }
  return result;
}

}  // namespace

Result<std::vector<TracedOperator>> operators_of(const workload::TrainingRun& run, const StepRecord& step) {
  if (step.samples.empty()) return Error::internal("the step was not traced");
  std::vector<TracedOperator> operators;
  for (const OperatorSample& sample : step.samples) {
    if (operators.empty() || !continues(operators.back(), sample)) {
      operators.push_back(describe(run, sample));
      operators.back().start = sample.start - step.start;
    }
    operators.back().execution += sample.end - sample.start;
  }
  // What precedes the first operator belongs to its gap too: nothing of the iteration is lost.
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const Seconds next = i + 1 < operators.size() ? operators[i + 1].start : step.end - step.start;
    const Seconds start = i == 0 ? Seconds() : operators[i].start;
    operators[i].gap = next - start - operators[i].execution;
  }
  return operators;
}

Result<Bytes> available_memory(env::Files& files) {
  ORRERY_TRY(const std::string text, files.read("/proc/meminfo", kibibytes(64)));
  const std::string_view key = "MemAvailable:";
  const std::size_t line = text.find(key);
  if (line == std::string::npos) return Error::io("/proc/meminfo has no MemAvailable");
  const std::size_t first = text.find_first_not_of(' ', line + key.size());
  const auto kib = parse_number(text.substr(first, text.find(' ', first) - first));
  if (!kib) return Error::io("/proc/meminfo: MemAvailable is not a number");
  return kibibytes(*kib);
}

Result<Profile> measure(const workload::TrainingRun& run, Executor& executor, const ProfileOptions& options,
                        env::Files& files, env::Clock& clock, const ProfileHooks& hooks) {
  Profile profile;
  profile.load = machine_load(files).value_or(0.0);
  Rounds rounds(executor, clock, hooks);
  ORRERY_TRY_VOID(rounds.run(options));

  const Kept plain = undisturbed(rounds.plain), traced = undisturbed(rounds.traced);
  std::vector<std::vector<TracedOperator>> steps;
  for (const std::size_t i : traced.steps) {
    ORRERY_TRY(auto operators, operators_of(run, rounds.records[i]));
    for (TracedOperator& op : operators) {
      op.execution = op.execution / rounds.slowness[i];
      op.gap = op.gap / rounds.slowness[i];
    }
    steps.push_back(std::move(operators));
  }

  profile.trace.model = run.graph.name();
  profile.trace.optimizer = std::string(to_string(run.optimizer));
  profile.trace.batch = run.graph.batch();
  ORRERY_TRY(profile.trace.operators, median_operators(steps));
  const double iteration_s = median(plain.seconds);
  profile.iteration = Seconds(iteration_s);
  profile.spread = (quantile(plain.seconds, 0.75) - quantile(plain.seconds, 0.25)) / iteration_s;
  profile.overhead = median(traced.seconds) / iteration_s - 1;
  profile.conservation = profile.trace.iteration().value() / iteration_s - 1;
  profile.kept = static_cast<int>(steps.size());
  profile.measured = static_cast<int>(rounds.traced.size());
  profile.slowness = median(rounds.slowness);
  profile.is_noisy = profile.spread > kNoisySpread || 2 * profile.kept <= profile.measured;
  profile.first_loss = rounds.losses.front();
  profile.last_loss = rounds.losses.back();
  return profile;
}

}  // namespace orrery::profile
