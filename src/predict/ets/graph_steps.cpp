#include "predict/ets/graph_steps.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "predict/ets/launch_facts.h"

namespace orrery::predict {

namespace {

using workload::Operator;
using workload::OperatorIndex;
using workload::OperatorKind;
using workload::Phase;

constexpr std::int32_t kStepReach = 16;
constexpr double kMicrosecond = 1e-6;

struct LaunchedName {
  std::string_view name;  // of a profiler's row
  OperatorKind kind;
};
constexpr LaunchedName kLaunchedNames[] = {
    {"conv2d", OperatorKind::kConv2d},
    {"linear", OperatorKind::kLinear},
    {"matmul", OperatorKind::kMatmul},
    {"bmm", OperatorKind::kMatmul},
    {"batch_norm", OperatorKind::kBatchNorm},
    {"layer_norm", OperatorKind::kLayerNorm},
    {"group_norm", OperatorKind::kGroupNorm},
    {"relu", OperatorKind::kRelu},
    {"relu_", OperatorKind::kRelu},
    {"hardtanh", OperatorKind::kRelu6},
    {"relu6", OperatorKind::kRelu6},
    {"leaky_relu", OperatorKind::kLeakyRelu},
    {"gelu", OperatorKind::kGelu},
    {"silu", OperatorKind::kSilu},
    {"hardswish", OperatorKind::kHardswish},
    {"hardsigmoid", OperatorKind::kHardsigmoid},
    {"sigmoid", OperatorKind::kSigmoid},
    {"tanh", OperatorKind::kTanh},
    {"softmax", OperatorKind::kSoftmax},
    {"add", OperatorKind::kAdd},
    {"add_", OperatorKind::kAdd},
    {"__add__", OperatorKind::kAdd},
    {"__iadd__", OperatorKind::kAdd},
    {"mul", OperatorKind::kMultiply},
    {"__mul__", OperatorKind::kMultiply},
    {"mul", OperatorKind::kScale},
    {"__mul__", OperatorKind::kScale},
    {"max_pool2d", OperatorKind::kMaxPool2d},
    {"avg_pool2d", OperatorKind::kAvgPool2d},
    {"adaptive_avg_pool2d", OperatorKind::kAdaptiveAvgPool2d},
    {"mean", OperatorKind::kMean},
    {"cat", OperatorKind::kConcat},
    {"aten::clone", OperatorKind::kContiguous},
    {"aten::clone", OperatorKind::kReshape},
    {"reshape", OperatorKind::kReshape},
    {"reshape", OperatorKind::kContiguous},
    {"pad", OperatorKind::kPad},
    {"roll", OperatorKind::kRoll},
    {"aten::index", OperatorKind::kIndex},
    {"dropout", OperatorKind::kDropout},
    {"bernoulli_", OperatorKind::kStochasticDepth},
    {"cross_entropy", OperatorKind::kCrossEntropy},
};

bool may_be(std::string_view name, OperatorKind kind) {
  return std::any_of(std::begin(kLaunchedNames), std::end(kLaunchedNames),
                     [&](const LaunchedName& entry) { return entry.kind == kind && entry.name == name; });
}

bool has_shape_of(const LaunchWork& work, const Operator& op) {
  if (const auto* conv = std::get_if<workload::ConvAttributes>(&op.attributes)) {
    if (!work.convolution) return false;
    return work.convolution->weight[0] == static_cast<double>(conv->out_channels) &&
           work.convolution->weight[2] == static_cast<double>(conv->window.kernel_h) &&
           work.convolution->groups == static_cast<double>(conv->groups);
  }
  if (const auto* linear = std::get_if<workload::LinearAttributes>(&op.attributes)) {
    return work.product.columns == static_cast<double>(linear->out_features);
  }
  return true;
}

// By row of the forward phase: the operator it is of, if any.
class Alignment {
 public:
  Alignment(const LaunchContext& context, const std::map<std::int32_t, std::string>& kinds,
            const workload::TrainingGraph& graph)
      : operators_(context.size()) {
    OperatorIndex next(0);
    double all = 0, lost = 0;
    for (std::size_t row = 0; row < context.size(); ++row) {
      const LaunchedOperator& op = context.trace().operators[row];
      if (op.phase != Phase::kForward) break;
      const auto name = kinds.find(op.kind);
      const OperatorIndex found =
          name == kinds.end() ? OperatorIndex() : find(name->second, context.works()[row], graph, next);
      all += context.trace().times[row].device;
      if (!found.valid()) {
        lost += context.trace().times[row].device;
        continue;
      }
      operators_[row] = next = found;
      ++next;
    }
    lost_share_ = all > 0 ? lost / all : 1;
  }

  OperatorIndex at(std::size_t row) const { return operators_[row]; }
  double lost_share() const { return lost_share_; }

 private:
  static OperatorIndex find(std::string_view name, const LaunchWork& work, const workload::TrainingGraph& graph,
                            OperatorIndex next) {
    for (const OperatorIndex at : IndexRange(next, OperatorIndex(graph.operators().size()))) {
      if (at - next >= kStepReach) break;
      if (may_be(name, graph[at].kind) && has_shape_of(work, graph[at])) return at;
    }
    return {};
  }

  std::vector<OperatorIndex> operators_;
  double lost_share_ = 0;
};

// Seconds of each operator in each phase; what is unknown never gets above 0.
class OperatorTimes {
 public:
  explicit OperatorTimes(std::size_t operators) : seconds_(operators), is_unknown_(operators) {}

  void add(OperatorIndex at, Phase phase, double microseconds) {
    if (at.valid()) seconds_[at][static_cast<std::size_t>(phase)] += microseconds * kMicrosecond;
  }
  void set_unknown(OperatorIndex at, Phase phase) {
    if (at.valid()) is_unknown_[at][static_cast<std::size_t>(phase)] = true;
  }
  double seconds(const workload::PhaseStep& step) const {
    const auto phase = static_cast<std::size_t>(step.phase);
    return is_unknown_[step.op][phase] ? 0 : seconds_[step.op][phase];
  }

 private:
  workload::ByOperator<std::array<double, 3>> seconds_;
  workload::ByOperator<std::array<bool, 3>> is_unknown_;
};

void add_backward(const LaunchContext& context, const Alignment& alignment, OperatorTimes& times) {
  const LaunchTrace& trace = context.trace();
  const std::vector<LaunchFacts> facts = launch_facts(context);
  const BackwardMatch& match = context.match();
  for (std::size_t row = 0; row < context.size(); ++row) {
    if (trace.operators[row].phase == Phase::kUpdate) break;
    const std::vector<std::int32_t>& hidden = match.hidden[row];
    double priors = 0;
    for (const std::int32_t forward : hidden) priors += context.device_prior(static_cast<std::size_t>(forward));
    for (const std::int32_t forward : hidden) {
      const auto place = static_cast<std::size_t>(forward);
      const double share = context.device_prior(place) / priors;
      if (facts[row].device_is_full)
        times.add(alignment.at(place), Phase::kBackward, share * trace.times[row].gap);
      else
        times.set_unknown(alignment.at(place), Phase::kBackward);
    }
    const std::int32_t forward = match.forward[row];
    if (trace.operators[row].phase != Phase::kBackward || forward == kUnmatched) continue;
    const OperatorIndex at = alignment.at(static_cast<std::size_t>(forward));
    times.add(at, Phase::kBackward, trace.times[row].device);
    if (hidden.empty() && facts[row].device_is_full) times.add(at, Phase::kBackward, trace.times[row].gap);
  }
}

using TensorShape = std::array<std::int64_t, 4>;

void add_update(const LaunchContext& context, const workload::TrainingGraph& graph, OperatorTimes& times) {
  constexpr double kRowsPerTensor = 3;
  struct Sum {
    double device = 0, rows = 0;
  };
  std::map<TensorShape, Sum> sums;
  const LaunchTrace& trace = context.trace();
  for (std::size_t row = 0; row < context.size(); ++row) {
    const LaunchedOperator& op = trace.operators[row];
    if (op.phase != Phase::kUpdate) continue;
    TensorShape shape{};
    for (std::size_t i = 0; i < shape.size() && i + 1 < op.parameters.size(); ++i) shape[i] = op.parameters[i + 1];
    Sum& sum = sums[shape];
    sum.device += trace.times[row].device;
    sum.rows += 1;
  }
  for (const OperatorIndex at : graph.operators().indices()) {
    for (const workload::Parameter& parameter : graph[at].parameters) {
      TensorShape shape{};
      const auto dims = parameter.shape.dims();
      std::copy_n(dims.begin(), std::min(dims.size(), shape.size()), shape.begin());
      const auto found = sums.find(shape);
      if (found == sums.end())
        times.set_unknown(at, Phase::kUpdate);
      else
        times.add(at, Phase::kUpdate, kRowsPerTensor * found->second.device / found->second.rows);
    }
  }
}

Status check_lost(const Alignment& alignment, const workload::TrainingRun& run) {
  if (alignment.lost_share() <= kLostMax) return {};
  return Error::invalid(fmt::format("{:.0f} % of the forward time is in rows that {} has no operator for",
                                    100 * alignment.lost_share(), run.graph.name()));
}

// Lays every row of a trace upon a step.
class StepLayer {
 public:
  StepLayer(const LaunchContext& context, const Alignment& alignment, const workload::TrainingGraph& graph)
      : context_(context), alignment_(alignment), facts_(launch_facts(context)), steps_(graph.execution_order()) {
    for (std::size_t i = 0; i < steps_.size(); ++i) places_[{steps_[i].op, steps_[i].phase}] = i;
    times_.resize(steps_.size());
    find_tensors(graph);
  }

  std::vector<StepTime> lay() {
    const LaunchTrace& trace = context_.trace();
    for (std::size_t row = 0; row < context_.size(); ++row) {
      switch (trace.operators[row].phase) {
        case Phase::kForward:
          lay_row(row, place_of(alignment_.at(row), Phase::kForward));
          break;
        case Phase::kBackward: {
          const std::int32_t forward = context_.match().forward[row];
          const OperatorIndex at =
              forward == kUnmatched ? OperatorIndex() : alignment_.at(static_cast<std::size_t>(forward));
          lay_row(row, place_of(at, Phase::kBackward));
          break;
        }
        case Phase::kUpdate:
          lay_update(row);
          break;
      }
    }
    return std::move(times_);
  }

 private:
  // The step of an operator in a phase; without one, the step that was laid upon last.
  std::size_t place_of(OperatorIndex at, Phase phase) {
    const auto found = places_.find({at, phase});
    if (found != places_.end()) last_ = found->second;
    return last_;
  }

  void lay_row(std::size_t row, std::size_t place) {
    const LaunchTimes& measured = context_.trace().times[row];
    times_[place].execution += measured.device;
    std::vector<std::size_t> hidden;
    double priors = 0;
    for (const std::int32_t forward : context_.match().hidden[row]) {
      const auto found = places_.find({alignment_.at(static_cast<std::size_t>(forward)), Phase::kBackward});
      if (found == places_.end()) continue;
      hidden.push_back(found->second);
      hidden_priors_.resize(hidden.size());
      hidden_priors_.back() = context_.device_prior(static_cast<std::size_t>(forward));
      priors += hidden_priors_.back();
    }
    const bool is_full = facts_[row].device_is_full;
    if (hidden.empty()) {
      (is_full ? times_[place].execution : times_[place].gap) += measured.gap;
      return;
    }
    const double each = measured.gap / static_cast<double>(hidden.size() + 1);
    if (!is_full) times_[place].gap += each;
    for (std::size_t i = 0; i < hidden.size(); ++i) {
      if (is_full) {
        times_[hidden[i]].execution +=
            priors > 0 ? measured.gap * hidden_priors_[i] / priors : measured.gap / static_cast<double>(hidden.size());
      } else {
        times_[hidden[i]].gap += each;
      }
    }
  }

  void find_tensors(const workload::TrainingGraph& graph) {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].phase != Phase::kUpdate) continue;
      for (const workload::Parameter& parameter : graph[steps_[i].op].parameters) {
        TensorShape shape{};
        const auto dims = parameter.shape.dims();
        std::copy_n(dims.begin(), std::min(dims.size(), shape.size()), shape.begin());
        tensors_[shape].push_back(i);
        updated_.push_back(i);
      }
    }
  }

  void lay_update(std::size_t row) {
    const LaunchedOperator& op = context_.trace().operators[row];
    const LaunchTimes& measured = context_.trace().times[row];
    TensorShape shape{};
    for (std::size_t i = 0; i < shape.size() && i + 1 < op.parameters.size(); ++i) shape[i] = op.parameters[i + 1];
    const auto found = tensors_.find(shape);
    const std::vector<std::size_t>& places = found == tensors_.end() ? updated_ : found->second;
    if (places.empty()) {
      times_[last_].execution += measured.device;
      times_[last_].gap += measured.gap;
      return;
    }
    const auto count = static_cast<double>(places.size());
    for (const std::size_t place : places) {
      times_[place].execution += measured.device / count;
      times_[place].gap += measured.gap / count;
    }
  }

  const LaunchContext& context_;
  const Alignment& alignment_;
  std::vector<LaunchFacts> facts_;
  std::vector<workload::PhaseStep> steps_;
  std::map<std::pair<OperatorIndex, Phase>, std::size_t> places_;
  std::map<TensorShape, std::vector<std::size_t>> tensors_;  // steps that update one of that shape
  std::vector<std::size_t> updated_;                         // of every tensor
  std::vector<double> hidden_priors_;
  std::vector<StepTime> times_;
  std::size_t last_ = 0;
};

}  // namespace

Result<MeasuredSteps> graph_steps(const LaunchContext& context, const std::map<std::int32_t, std::string>& kinds,
                                  workload::TrainingRun run) {
  const Alignment alignment(context, kinds, run.graph);
  ORRERY_TRY_VOID(check_lost(alignment, run));
  OperatorTimes times(run.graph.operators().size());
  for (std::size_t row = 0; row < context.size(); ++row) {
    times.add(alignment.at(row), Phase::kForward, context.trace().times[row].device);
  }
  add_backward(context, alignment, times);
  add_update(context, run.graph, times);
  MeasuredSteps steps{std::move(run), {}, 0};
  for (const workload::PhaseStep& step : steps.run.graph.execution_order()) {
    steps.seconds.push_back(times.seconds(step));
    steps.iteration += steps.seconds.back();
  }
  return steps;
}

Result<std::vector<StepTime>> all_step_times(const LaunchContext& context,
                                             const std::map<std::int32_t, std::string>& kinds,
                                             const workload::TrainingRun& run) {
  const Alignment alignment(context, kinds, run.graph);
  ORRERY_TRY_VOID(check_lost(alignment, run));
  return StepLayer(context, alignment, run.graph).lay();
}

}  // namespace orrery::predict
