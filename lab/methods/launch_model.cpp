#include "lab/methods/launch_model.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "base/statistics.h"
#include "predict/ets/launch_facts.h"

namespace orrery::lab {

namespace {

using workload::Phase;

constexpr double kShrinkage = 10;       // observations' worth of the coarser mean
constexpr double kLatency = 11;         // microseconds from a launch to its kernel's start
constexpr double kFirstInterval = 300;  // microseconds: from the last launch of an iteration to the next one's first
constexpr std::size_t kConvolutionParameters = 17;
constexpr int kPasses = 2;
constexpr double kUsuallyBusy = 0.7;
constexpr double kLeastRatio = 0.05;
// How much of what was odd on another device is odd here too.
constexpr double kDeviceCarries = 0.8, kHostCarries = 0.5;
constexpr double kMostRatio = 20;  // beyond it a value is an accident

std::uint64_t key_of(const LaunchedOperator& op) {
  return static_cast<std::uint64_t>(op.kind) * 64 + static_cast<std::uint64_t>(op.phase) * 16 +
         static_cast<std::uint64_t>(std::min(op.kernels, 15));
}

std::uint64_t pair_key(const LaunchTrace& trace, std::size_t row) {
  return row == 0 ? 0 : mix64(key_of(trace.operators[row - 1])) ^ key_of(trace.operators[row]);
}

// An operator without what batch and image change: a convolution's channels and filter, else its kind and neighbour.
std::uint64_t likeness(const LaunchTrace& trace, std::size_t row) {
  const LaunchedOperator& op = trace.operators[row];
  std::uint64_t hash = mix64(static_cast<std::uint64_t>(op.kind) + 1);
  if (op.parameters.size() == kConvolutionParameters) {
    for (const std::size_t i : {1, 4, 7, 8, 11, 15}) hash = mix64(hash ^ static_cast<std::uint64_t>(op.parameters[i]));
  } else if (row > 0) {
    hash = mix64(hash ^ static_cast<std::uint64_t>(trace.operators[row - 1].kind));
  }
  return hash;
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

// Keeps a row of the update phase with probability `share`; `times` is the number of rows it represents.
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
    const auto facts = launch_facts(context);
    const double weight = 1 / (trace->iteration * trace->iteration);
    for (std::size_t i = 1; i < facts.size(); ++i) {
      if (context.synchronises(i) && !facts[i].host_is_free) {
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
    const auto facts = launch_facts(context);
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

DeviceModel::Sights LaunchModel::sights_for(std::span<const LaunchTrace* const> asked) const {
  if (asked.empty()) return {};
  DeviceModel::Sights sights{false, false};
  for (const LaunchTrace* trace : asked) {
    LaunchPrediction prediction;
    prediction.unknown_share = unknown_share(*trace);
    (prediction.in_domain() ? sights.launches : sights.shapes) = true;
  }
  return sights;
}

Status LaunchModel::fit_device(std::span<const LaunchTrace* const> traces, const DeviceModel::Sights& sights) {
  std::vector<LaunchContext> contexts;
  contexts.reserve(traces.size());
  std::vector<DeviceModel::Row> rows;
  Thinner thinner(options_.update_share, options_.seed + 1);
  for (const LaunchTrace* trace : traces) {
    const LaunchContext& context = contexts.emplace_back(*trace, class_of_, options_.peaks);
    const double busy = busy_share(*trace);
    for (std::size_t i = 0; i < context.size(); ++i) {
      double times = 1;
      if (trace->times[i].device <= 0 || !thinner.keeps(trace->operators[i].phase, times)) continue;
      rows.push_back({&context, i, busy, trace->times[i].device, trace->iteration, times});
    }
  }
  ORRERY_TRY(device_, DeviceModel::fit(rows, boost_options(), sights));
  Lesson hidden(LaunchContext::hidden_names());
  std::vector<float> row;
  for (const LaunchContext& context : contexts) {
    const LaunchTrace& trace = context.trace();
    const auto facts = launch_facts(context);
    const double busy = busy_share(trace);
    std::vector<double> device(context.size());
    for (std::size_t i = 0; i < context.size(); ++i) device[i] = trace.times[i].device;
    for (std::size_t i = 0; i < context.size(); ++i) {
      double times = 1;
      if (!facts[i].device_is_full || !thinner.keeps(trace.operators[i].phase, times)) continue;
      context.hidden_features(i, busy, device, row);
      hidden.add(row, std::max(0.0, trace.times[i].gap), context.hidden_prior(i, device), trace.iteration, times);
    }
  }
  ORRERY_TRY(hidden_, hidden.learn(boost_options()));
  return {};
}

Result<LaunchModel> LaunchModel::fit(std::span<const LaunchTrace* const> traces, const ClassOf& class_of,
                                     const LaunchModelOptions& options, std::span<const LaunchTrace* const> asked) {
  if (traces.empty()) return Error::invalid("no trace to learn from");
  LaunchModel model(options, class_of);
  for (const LaunchTrace* trace : traces) {
    for (std::size_t i = 0; i < trace->operators.size(); ++i) {
      if (trace->operators[i].phase == Phase::kForward) model.known_.insert(likeness(*trace, i));
    }
  }
  ORRERY_TRY_VOID(model.fit_host(traces));
  ORRERY_TRY_VOID(model.fit_device(traces, model.sights_for(asked)));
  return model;
}

void LaunchModel::predict_host(const LaunchContext& context, std::vector<QueuedOperator>& operators) const {
  const LaunchTrace& trace = context.trace();
  std::vector<float> row;
  operators.resize(context.size());
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const LaunchedOperator& op = trace.operators[i];
    QueuedOperator& queued = operators[i];
    queued.kernels = op.kernels;
    queued.last_share = context.is_batch_norm(i) ? 1.0 : 1.0 / op.kernels;
    queued.synchronises = context.synchronises(i);
    queued.behind = context.begins_backward(i) ? behind_backward_ : behind_batch_norm_;
    context.host_features(i, row);
    const double base = intervals_.mean(pair_key(trace, i), key_of(op));
    row.push_back(static_cast<float>(base));
    queued.interval = i == 0 ? kFirstInterval : base * std::max(kLeastRatio, interval_.predict(row));
    if (op.phase == Phase::kUpdate) continue;  // one kernel: launched at once
    const double launch_base = launches_.mean(key_of(op), static_cast<std::uint64_t>(op.phase));
    row.back() = static_cast<float>(launch_base);
    queued.launch = launch_base * std::max(kLeastRatio, launch_.predict(row));
  }
}

LaunchPrediction LaunchModel::predict(const LaunchTrace& trace, const LaunchResiduals* other) const {
  const LaunchContext context(trace, class_of_, options_.peaks);
  LaunchPrediction prediction;
  std::vector<QueuedOperator>& operators = prediction.operators;
  predict_host(context, operators);
  const std::size_t count = operators.size();
  std::vector<double> device(count);
  prediction.unknown_share = unknown_share(trace);
  const Sight sight = other == nullptr && prediction.in_domain() ? Sight::kLaunches : Sight::kShapes;
  if (other != nullptr) {
    for (std::size_t i = 0; i < count; ++i) {
      operators[i].interval *= std::exp(kHostCarries * other->host[static_cast<std::size_t>(trace.operators[i].phase)]);
    }
  }
  std::vector<float> row;
  double busy = kUsuallyBusy;
  for (int pass = 0; pass < kPasses; ++pass) {
    for (std::size_t i = 0; i < count; ++i) {
      const double carried = other != nullptr ? kDeviceCarries * other->device[i] : 0;
      device[i] = std::exp(device_.log_time(context, i, sight, busy) + carried);
    }
    for (std::size_t i = 0; i < count; ++i) {
      operators[i].device = device[i];
      context.hidden_features(i, busy, device, row);
      operators[i].hidden = context.hidden_prior(i, device) * std::max(0.0, hidden_.predict(row));
      if (other != nullptr) operators[i].hidden *= std::exp(kDeviceCarries * other->hidden[i]);
    }
    prediction.times = run_launch_queue(operators, {.latency = kLatency});
    double busy_time = 0;
    for (const double time : device) busy_time += time;
    busy = std::min(1.0, busy_time / std::max(1.0, prediction.times.iteration));
  }
  return prediction;
}

QueueTimes LaunchModel::replay(const LaunchTrace& trace, const LaunchPrediction& predicted) const {
  const LaunchContext context(trace, class_of_, options_.peaks);
  const auto facts = launch_facts(context);
  std::vector<QueuedOperator> operators = predicted.operators;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const LaunchTimes& times = trace.times[i];
    operators[i].device = times.device;
    operators[i].launch = times.launch;
    if (facts[i].host_is_free) operators[i].interval = times.interval;
    if (facts[i].device_is_full) operators[i].hidden = times.gap;
  }
  return run_launch_queue(operators, {.latency = kLatency});
}

LaunchResiduals LaunchModel::residuals(const LaunchTrace& trace) const {
  const LaunchContext context(trace, class_of_, options_.peaks);
  const auto facts = launch_facts(context);
  const LaunchPrediction expected = predict(trace);
  const auto log_ratio = [](double measured, double predicted) {
    return measured > 0 && predicted > 0 ? std::clamp(std::log(measured / predicted), -2.0, 2.0) : 0.0;
  };
  LaunchResiduals residuals;
  std::array<double, kPhases> measured{}, predicted{};
  for (std::size_t i = 0; i < context.size(); ++i) {
    const LaunchTimes& times = trace.times[i];
    const QueuedOperator& op = expected.operators[i];
    const auto phase = static_cast<std::size_t>(trace.operators[i].phase);
    residuals.device.push_back(log_ratio(times.device, op.device));
    residuals.hidden.push_back(facts[i].device_is_full ? log_ratio(times.gap, op.hidden) : 0);
    if (!facts[i].host_is_free) continue;
    measured[phase] += std::min(times.interval, kMostRatio * op.interval);
    predicted[phase] += op.interval;
  }
  for (std::size_t phase = 0; phase < measured.size(); ++phase) {
    residuals.host[phase] = log_ratio(measured[phase], predicted[phase]);
  }
  return residuals;
}

double LaunchModel::unknown_share(const LaunchTrace& trace) const {
  double unknown = 0, all = 0;
  for (std::size_t i = 0; i < trace.operators.size(); ++i) {
    if (trace.operators[i].phase != Phase::kForward) continue;
    all += 1;
    unknown += known_.contains(likeness(trace, i)) ? 0 : 1;
  }
  return all > 0 ? unknown / all : 1;
}

}  // namespace orrery::lab
