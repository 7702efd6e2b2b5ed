#include "predict/ets/launch_model.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "base/statistics.h"
#include "predict/ets/launch_facts.h"

namespace orrery::predict {

namespace {

using workload::Phase;

constexpr double kShrinkage = 10;  // observations' worth of the coarser mean
constexpr double kFirstInterval = 300;  // microseconds: from the last launch of an iteration to the next one's first
constexpr int kPasses = 3;
constexpr double kMostRatio = 20;  // beyond it a value is an accident

std::uint64_t key_of(const LaunchedOperator& op) {
  return static_cast<std::uint64_t>(op.kind) * 64 + static_cast<std::uint64_t>(op.phase) * 16 +
         static_cast<std::uint64_t>(std::min(op.kernels, 15));
}

std::uint64_t pair_key(const LaunchTrace& trace, std::size_t row) {
  return row == 0 ? 0 : mix64(key_of(trace.operators[row - 1])) ^ key_of(trace.operators[row]);
}

// One column of learning: features, ratios to a base, weights.
struct Lesson {
  explicit Lesson(std::vector<std::string> names) : features(std::move(names)) {}
  void add(std::span<const float> row, double value, double base, double iteration, double times) {
    features.add(row);
    targets.push_back(value / base);
    weights.push_back(times * (base / iteration) * (base / iteration));
  }
  Result<BoostedTrees> learn(const BoostOptions& options) {
    double sum = 0;
    for (const double weight : weights) sum += weight;
    for (double& weight : weights) weight *= static_cast<double>(weights.size()) / sum;
    return BoostedTrees::fit(features, targets, weights, options);
  }
  Features features;
  std::vector<double> targets, weights;
};

std::vector<std::string> with_base(std::vector<std::string> names) {
  names.push_back("base");
  return names;
}

double busy_share(const LaunchTrace& trace) {
  double busy = 0;
  for (const LaunchTimes& times : trace.times) busy += times.device;
  return std::min(1.0, busy / trace.iteration);
}

std::vector<bool> batch_norms(const LaunchContext& context) {
  std::vector<bool> is_batch_norm(context.size());
  for (std::size_t i = 0; i < context.size(); ++i) is_batch_norm[i] = context.is_batch_norm(i);
  return is_batch_norm;
}

// Keeps a row of the update phase with probability `share`; `times` says for how many it stands.
class Thinner {
 public:
  Thinner(double share, std::uint64_t seed) : share_(share), random_(seed) {}
  bool keeps(Phase phase, double& times) {
    times = 1;
    if (phase != Phase::kUpdate) return true;
    times = 1 / share_;
    return random_.uniform() < share_;
  }

 private:
  double share_;
  Random random_;
};

}  // namespace

void NeighbourMeans::add(std::uint64_t fine, std::uint64_t coarse, double value, double weight) {
  for (Sum* sum : {&fine_[fine], &coarse_[coarse], &all_}) {
    sum->value += weight * value;
    sum->weight += weight;
    sum->count += 1;
  }
}

double NeighbourMeans::mean(std::uint64_t fine, std::uint64_t coarse) const {
  double mean = all_.weight > 0 ? all_.value / all_.weight : 1;
  for (const auto* level : {&coarse_, &fine_}) {
    const auto found = level->find(level == &fine_ ? fine : coarse);
    if (found == level->end()) continue;
    const Sum& sum = found->second;
    mean = (sum.count * (sum.value / sum.weight) + kShrinkage * mean) / (sum.count + kShrinkage);
  }
  return std::max(mean, 0.1);
}

BoostOptions LaunchModel::boost_options() const {
  BoostOptions boost;
  boost.trees = options_.trees;
  boost.learning_rate = options_.learning_rate;
  boost.leaves = options_.leaves;
  boost.seed = options_.seed;
  boost.threads = options_.threads;
  return boost;
}

Status LaunchModel::fit_host(std::span<const LaunchTrace* const> traces) {
  std::vector<double> behind_batch_norm, behind_backward;
  for (const LaunchTrace* trace : traces) {
    const LaunchContext context(*trace, class_of_, options_.peaks);
    const auto facts = facts_of(*trace, batch_norms(context));
    const double weight = 1 / (trace->iteration * trace->iteration);
    for (std::size_t i = 1; i < facts.size(); ++i) {
      if (facts[i].synchronises && !facts[i].host_is_free) {
        const double dry = facts[i - 1].started + trace->times[i - 1].device;
        (context.is_batch_norm(i) ? behind_batch_norm : behind_backward).push_back(facts[i].launched - dry);
      }
      if (!facts[i].host_is_free) continue;
      intervals_.add(pair_key(*trace, i), key_of(trace->operators[i]), trace->times[i].interval, weight);
      launches_.add(key_of(trace->operators[i]), static_cast<std::uint64_t>(trace->operators[i].phase),
                    trace->times[i].launch, weight);
    }
  }
  if (!behind_batch_norm.empty()) behind_batch_norm_ = median(behind_batch_norm);
  if (!behind_backward.empty()) behind_backward_ = median(behind_backward);
  Lesson interval(with_base(LaunchContext::host_names())), launch(with_base(LaunchContext::host_names()));
  Thinner thinner(options_.update_share, options_.seed);
  std::vector<float> row;
  for (const LaunchTrace* trace : traces) {
    const LaunchContext context(*trace, class_of_, options_.peaks);
    const auto facts = facts_of(*trace, batch_norms(context));
    for (std::size_t i = 1; i < facts.size(); ++i) {
      double times = 1;
      const LaunchedOperator& op = trace->operators[i];
      if (!facts[i].host_is_free || !thinner.keeps(op.phase, times)) continue;
      context.host_features(i, row);
      const double base = intervals_.mean(pair_key(*trace, i), key_of(op));
      row.push_back(static_cast<float>(base));
      interval.add(row, std::min(trace->times[i].interval, kMostRatio * base), base, trace->iteration, times);
      if (op.phase == Phase::kUpdate) continue;
      const double launch_base = launches_.mean(key_of(op), static_cast<std::uint64_t>(op.phase));
      row.back() = static_cast<float>(launch_base);
      launch.add(row, std::min(trace->times[i].launch, kMostRatio * launch_base), launch_base, trace->iteration, times);
    }
  }
  ORRERY_TRY(interval_, interval.learn(boost_options()));
  BoostOptions small = boost_options();
  small.trees = options_.trees / 3;
  ORRERY_TRY(launch_, launch.learn(small));
  return {};
}

Status LaunchModel::fit_device(std::span<const LaunchTrace* const> traces) {
  Lesson device(LaunchContext::device_names()), hidden(LaunchContext::hidden_names());
  Thinner thinner(options_.update_share, options_.seed + 1);
  std::vector<float> row;
  for (const LaunchTrace* trace : traces) {
    const LaunchContext context(*trace, class_of_, options_.peaks);
    const auto facts = facts_of(*trace, batch_norms(context));
    const double busy = busy_share(*trace);
    for (std::size_t i = 0; i < facts.size(); ++i) {
      double times = 1;
      if (!thinner.keeps(trace->operators[i].phase, times)) continue;
      context.device_features(i, busy, row);
      device.add(row, trace->times[i].device, context.device_prior(i), trace->iteration, times);
      if (!facts[i].device_is_full) continue;
      context.hidden_features(i, busy, row);
      hidden.add(row, std::max(0.0, trace->times[i].gap), context.hidden_prior(i), trace->iteration, times);
    }
  }
  ORRERY_TRY(device_, device.learn(boost_options()));
  ORRERY_TRY(hidden_, hidden.learn(boost_options()));
  return {};
}

Result<LaunchModel> LaunchModel::fit(std::span<const LaunchTrace* const> traces, const ClassOf& class_of,
                                     const LaunchModelOptions& options) {
  if (traces.empty()) return Error::invalid("no trace to learn from");
  LaunchModel model(options, class_of);
  ORRERY_TRY_VOID(model.fit_host(traces));
  ORRERY_TRY_VOID(model.fit_device(traces));
  return model;
}

LaunchPrediction LaunchModel::predict(const LaunchTrace& trace) const {
  const LaunchContext context(trace, class_of_, options_.peaks);
  LaunchPrediction prediction;
  std::vector<QueuedOperator>& operators = prediction.operators;
  operators.resize(context.size());
  std::vector<float> row;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const LaunchedOperator& op = trace.operators[i];
    QueuedOperator& queued = operators[i];
    queued.kernels = op.kernels;
    queued.last_share = context.is_batch_norm(i) ? 1.0 : 1.0 / op.kernels;
    const bool begins_backward = i > 0 && op.phase == Phase::kBackward && trace.operators[i - 1].phase == Phase::kForward;
    queued.synchronises = begins_backward || (context.is_batch_norm(i) && op.phase == Phase::kForward);
    queued.behind = begins_backward ? behind_backward_ : behind_batch_norm_;
    context.host_features(i, row);
    const double base = intervals_.mean(pair_key(trace, i), key_of(op));
    row.push_back(static_cast<float>(base));
    queued.interval = i == 0 ? kFirstInterval : base * std::max(0.05, interval_.predict(row));
    if (op.phase == Phase::kUpdate) {
      queued.launch = 0;
      continue;
    }
    const double launch_base = launches_.mean(key_of(op), static_cast<std::uint64_t>(op.phase));
    row.back() = static_cast<float>(launch_base);
    queued.launch = launch_base * std::max(0.05, launch_.predict(row));
  }
  double busy = 0.7;
  for (int pass = 0; pass < kPasses; ++pass) {
    for (std::size_t i = 0; i < operators.size(); ++i) {
      context.device_features(i, busy, row);
      operators[i].device = context.device_prior(i) * std::max(0.02, device_.predict(row));
      context.hidden_features(i, busy, row);
      operators[i].hidden = context.hidden_prior(i) * std::max(0.0, hidden_.predict(row));
    }
    prediction.times = run_launch_queue(operators, {.latency = latency_});
    double device = 0;
    for (const QueuedOperator& op : operators) device += op.device;
    busy = std::min(1.0, device / std::max(1.0, prediction.times.iteration));
  }
  return prediction;
}

}  // namespace orrery::predict
