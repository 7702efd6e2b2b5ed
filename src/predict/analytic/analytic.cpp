#include "predict/analytic/analytic.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <optional>

#include "hardware/offer.h"
#include "predict/analytic/communication.h"
#include "predict/analytic/memory.h"
#include "predict/analytic/roofline.h"
#include "predict/analytic/stages.h"
#include "predict/analytic/tensor_parallel.h"

namespace orrery::predict {

using hardware::Placement;
using workload::OperatorIndex;
using workload::Phase;
using workload::TrainingGraph;
using workload::TrainingRun;

namespace {

// A host may be this much slower at launching kernels than we assume.
constexpr double kSlowHost = 3.0;
// Memory is predicted conservatively; four of five measured peaks are between these shares of it
// (`orrery-lab evaluate memory`).
constexpr double kMemoryLow = 0.90;
constexpr double kMemoryHigh = 1.02;
constexpr Bytes kBucket = mebibytes(25);

// Learned times by operator and phase.
class LearnedOperators {
 public:
  LearnedOperators(const TrainingGraph& graph, const LearnedTimes& times) : steps_(graph.operators().size()) {
    const auto steps = graph.execution_order();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      steps_[steps[i].op][static_cast<std::size_t>(steps[i].phase)] = {times.seconds[i], times.learned[i]};
    }
  }
  Seconds time(OperatorIndex at, Phase phase) const { return Seconds(step(at, phase).seconds); }
  bool is_learned(OperatorIndex at, Phase phase) const { return step(at, phase).is_learned; }

 private:
  struct Step {
    double seconds = 0;
    bool is_learned = false;
  };
  const Step& step(OperatorIndex at, Phase phase) const { return steps_[at][static_cast<std::size_t>(phase)]; }

  workload::ByOperator<std::array<Step, 3>> steps_;
};

// One micro-batch (or the update) on one device. `learned` may be null.
class DeviceTimeline {
 public:
  DeviceTimeline(const TrainingRun& run, const Placement& placement, const TrainingGraph& graph,
                 const TensorSplit& split, const LearnedOperators* learned)
      : run_(run),
        placement_(placement),
        graph_(graph),
        split_(split),
        learned_(learned),
        options_(run.cost_options()),
        is_host_(placement.device->kind == hardware::DeviceKind::kCpu) {}

  // A learned time is of the whole operator: a part of it takes what it takes by the roofline.
  OperatorTime operator_time(OperatorIndex at, Phase phase) const {
    const double share = phase == Phase::kUpdate ? update_share(at) : split_.work[at];
    const auto cost = workload::operator_cost(graph_, {at, phase}, options_);
    const auto roofline = [&](double part) {
      return roofline_time(*placement_.device, run_.precision, graph_, graph_[at], cost, part);
    };
    OperatorTime time = roofline(share);
    if (learned_ == nullptr || !runs(cost)) return time;
    const Seconds whole = roofline(1).time;
    const double part = whole > Seconds(0) ? time.time / whole : 1;
    time.time = learned_->time(at, phase) * part;
    return time;
  }

  // Whether a whole operator with a learned time runs here: shares of operators were not measured.
  bool is_learned(OperatorIndex at, Phase phase) const {
    if (learned_ == nullptr || !learned_->is_learned(at, phase)) return false;
    return (phase == Phase::kUpdate ? update_share(at) : split_.work[at]) == 1;
  }

  // Forward and backward of a stage without host or network: what balances the pipeline.
  Seconds weight(OperatorIndex at) const {
    Seconds sum = operator_time(at, Phase::kForward).time;
    if (graph_.needs_gradient(at)) sum += operator_time(at, Phase::kBackward).time;
    return sum;
  }

  void run_stage(const Stage& stage) {
    for (const OperatorIndex at : stage.operators()) run_operator(at, Phase::kForward);
    forward_ = device_free_ - waited_for_network_;
    for (const OperatorIndex at : stage.operators().reversed()) {
      if (!graph_.needs_gradient(at)) continue;
      run_operator(at, Phase::kBackward);
      gradient_ready(at);
    }
    flush_bucket();
    backward_ = device_free_ - waited_for_network_ - forward_;
    learned_pass_ = learned_time_;
    exposed_exchange_ = std::max(Seconds(0), exchange_end_ - device_free_);
  }

  void run_update(const Stage& stage) {
    host_free_ = std::max(host_free_, device_free_);
    device_free_ = std::max(device_free_, exchange_end_);
    const Seconds start = device_free_;
    for (const OperatorIndex at : stage.operators()) {
      if (workload::trained_elements(graph_[at]) > 0) run_operator(at, Phase::kUpdate);
    }
    update_ = device_free_ - start;
  }

  // Computation only: what the network adds is apart.
  Seconds forward() const { return forward_; }
  Seconds backward() const { return backward_; }
  Seconds update() const { return update_; }
  // Every micro-batch waits this long for tensor-parallel partners and gathered parameters …
  Seconds waited_for_network() const { return waited_for_network_; }
  // … and every step this long for the gradients.
  Seconds exposed_exchange() const { return exposed_exchange_; }
  Seconds host_wait() const { return host_wait_; }
  // What learned operators take of one micro-batch, and of the update.
  Seconds learned_pass() const { return learned_pass_; }
  Seconds learned_update() const { return learned_time_ - learned_pass_; }
  Seconds launching() const { return launching_; }

  std::vector<TimelineEntry> take_entries() { return std::move(entries_); }
  std::vector<CommunicationEntry> take_communication() { return std::move(communication_); }

 private:
  // A device does nothing for a view; a host at least passes it on.
  bool runs(const workload::OperatorCost& cost) const { return cost.kernels > 0 || is_host_; }

  double update_share(OperatorIndex at) const {
    return split_.parameters[at] / (run_.parallelism.zero_stage >= 1 ? run_.parallelism.data : 1);
  }

  void run_operator(OperatorIndex at, Phase phase) {
    if (phase != Phase::kUpdate) gather_parameters(at);
    if (phase == Phase::kForward) communicate("gather", split_.forward_all_gather[at], at);
    const auto cost = workload::operator_cost(graph_, {at, phase}, options_);
    const OperatorTime time = operator_time(at, phase);
    const Seconds launch = launch_time(*placement_.device) * cost.kernels;
    host_free_ += launch;
    launching_ += launch;
    const Seconds start = std::max(host_free_, device_free_);
    const Seconds waited = runs(cost) ? start - device_free_ : Seconds(0);
    if (runs(cost)) {
      host_wait_ += waited;
      device_free_ = start + time.time;
      if (is_learned(at, phase)) learned_time_ += time.time;
    }
    const Bound bound = waited > time.time ? Bound::kLaunch : time.bound;
    entries_.push_back({at, phase, device_free_ - time.time, time.time, waited, bound});
    if (phase == Phase::kForward) communicate("all-reduce", split_.forward_all_reduce[at], at);
    if (phase == Phase::kBackward) communicate("all-reduce", split_.backward_all_reduce[at], at);
  }

  // Tensor parallelism: the next operator needs the result, so nothing hides it.
  void communicate(std::string_view what, double elements, OperatorIndex at) {
    if (elements == 0) return;
    const int n = run_.parallelism.tensor;
    const auto& link = n <= placement_.devices_per_machine ? placement_.inside : placement_.between;
    const Bytes size(elements * options_.activation_bytes);
    const Seconds time = what == "gather" ? all_gather(link, n, size) : ring_all_reduce(link, n, size);
    communication_.push_back({fmt::format("{} {}", what, graph_[at].name), device_free_, time, size});
    device_free_ += time;
    waited_for_network_ += time;
  }

  // ZeRO stage 3 fetches the parameters of an operator before forward and again before backward. Fetching runs ahead of
  // the device and makes it wait only when it falls behind.
  void gather_parameters(OperatorIndex at) {
    if (run_.parallelism.zero_stage < 3) return;
    const double owned = static_cast<double>(workload::parameter_elements(graph_[at])) * split_.parameters[at];
    if (owned == 0) return;
    const Bytes size(owned * options_.parameter_bytes);
    const Seconds time = all_gather(placement_.bottleneck(), run_.parallelism.data, size);
    communication_.push_back({fmt::format("fetch {}", graph_[at].name), gather_end_, time, size});
    gather_end_ += time;
    const Seconds behind = std::max(Seconds(0), gather_end_ - device_free_);
    device_free_ += behind;
    waited_for_network_ += behind;
  }

  void gradient_ready(OperatorIndex at) {
    bucket_ += Bytes(static_cast<double>(workload::trained_elements(graph_[at])) * split_.parameters[at] *
                     workload::kMasterBytes);
    if (bucket_ >= kBucket) flush_bucket();
  }

  void flush_bucket() {
    if (bucket_ == Bytes(0)) return;
    const Seconds time = gradient_exchange(run_.parallelism, placement_, bucket_);
    if (time > Seconds(0)) {
      const Seconds start = std::max(exchange_end_, device_free_);
      communication_.push_back({"gradients", start, time, bucket_});
      exchange_end_ = start + time;
    }
    bucket_ = Bytes(0);
  }

  const TrainingRun& run_;
  const Placement& placement_;
  const TrainingGraph& graph_;
  const TensorSplit& split_;
  const LearnedOperators* learned_;
  const workload::CostOptions options_;
  const bool is_host_;
  std::vector<TimelineEntry> entries_;
  std::vector<CommunicationEntry> communication_;
  Seconds host_free_, device_free_, exchange_end_, gather_end_;  // when each is done with what it has
  Seconds forward_, backward_, update_, exposed_exchange_, host_wait_, launching_, waited_for_network_;
  Seconds learned_time_, learned_pass_;
  Bytes bucket_;
};

// Activations that cross from one stage to the next, both ways, for one micro-batch.
Seconds boundary_time(const TrainingRun& run, const Placement& placement, const TrainingGraph& graph,
                      const TensorSplit& split, const std::vector<Stage>& stages) {
  const workload::CostOptions options = run.cost_options();
  const bool inside = run.parallelism.tensor * run.parallelism.pipeline <= placement.devices_per_machine;
  const hardware::Link& link = inside ? placement.inside : placement.between;
  Seconds slowest;
  for (std::size_t s = 0; s + 1 < stages.size(); ++s) {
    OperatorIndex last = stages[s].last;
    --last;
    const Bytes size = workload::tensor_bytes(graph.type({last, 0}), options.activation_bytes) * split.output[last];
    slowest = std::max(slowest, hardware::transfer_time(link, size) * 2);
  }
  return slowest;
}

Status check_devices(const TrainingRun& run, const Placement& placement) {
  const workload::Parallelism& p = run.parallelism;
  if (p.devices() == placement.devices) return {};
  return Error::invalid(fmt::format("{} data × {} tensor × {} pipeline parallel needs {} devices, not {}", p.data,
                                    p.tensor, p.pipeline, p.devices(), placement.devices));
}

void add_cost(Prediction& prediction, const Placement& placement) {
  const auto offer = hardware::cheapest_offer(placement.device->name, placement.devices);
  if (!offer) {
    prediction.cost_basis = fmt::format("no known offer of {}", placement.device->name);
    return;
  }
  const DollarsPerHour price = hardware::price_for(*offer, placement.devices);
  prediction.cost = {price * prediction.total_time.value, price * prediction.total_time.low,
                     price * prediction.total_time.high};
  const int machines = hardware::machines_needed(*offer, placement.devices);
  prediction.cost_basis = fmt::format("{} × {} {} at ${:.2f}/h, list price of {}", machines, offer->provider,
                                      offer->instance, offer->price.value(), offer->date);
}

// Which operators had no rules, by their framework's names.
std::string unknown_operators(const TrainingGraph& graph) {
  std::map<std::string, int> types;
  for (const workload::Operator& op : graph.operators()) {
    if (const auto* other = std::get_if<workload::OtherAttributes>(&op.attributes)) ++types[other->type];
  }
  std::string text;
  for (const auto& [type, count] : types) text += fmt::format("{}{} × {}", text.empty() ? "" : ", ", count, type);
  return text;
}

void add_notes(Prediction& prediction, const TrainingRun& run, const Placement& placement) {
  if (!hardware::supports(*placement.device, run.precision)) {
    prediction.notes.push_back(fmt::format("{} has no {} units; products run at the fp32 rate", placement.device->name,
                                           to_string(run.precision)));
  }
  if (placement.crosses_machines()) {
    prediction.network = hardware::network_text(placement);
    prediction.notes.push_back(fmt::format("between machines: {}{}", prediction.network,
                                           placement.assumed_network ? ", assumed; --network names another" : ""));
  }
  if (const std::string unknown = unknown_operators(run.graph); !unknown.empty()) {
    prediction.notes.push_back("operators without rules, counted by the bytes they move: " + unknown);
  }
  if (!prediction.fits) {
    prediction.notes.push_back(fmt::format("does not fit: try a smaller batch, more micro-batches or ZeRO"));
  }
}

}  // namespace

Result<Prediction> AnalyticPredictor::predict(const TrainingRun& run, const Placement& placement) const {
  ORRERY_TRY_VOID(workload::validate(run));
  ORRERY_TRY_VOID(check_devices(run, placement));
  const workload::Parallelism& parallel = run.parallelism;
  ORRERY_TRY(const TrainingGraph graph, run.graph.with_batch(run.graph.batch() / parallel.microbatches));
  const TensorSplit split = split_tensors(graph, parallel.tensor);

  LearnedTimes times{.in_domain = false, .low = kFormulaLow, .high = kFormulaHigh};
  std::optional<LearnedOperators> learned;
  if (learned_) {
    TrainingRun micro = run;
    micro.graph = graph;
    times = learned_(micro);
    learned.emplace(graph, times);
  }
  const LearnedOperators* known = learned ? &*learned : nullptr;
  const DeviceTimeline measure(run, placement, graph, split, known);
  workload::ByOperator<Seconds> weights;
  for (const OperatorIndex at : graph.operators().indices()) weights.push_back(measure.weight(at));
  const std::vector<Stage> stages = cut_into_stages(weights, parallel.pipeline, parallel.microbatches);

  Prediction prediction;
  prediction.predictor = prediction.made_by = name();
  const bool on_host = placement.device->kind == hardware::DeviceKind::kCpu;
  Seconds slowest, exchange, launching, learned_time;
  for (const Stage& stage : stages) {
    DeviceTimeline timeline(run, placement, graph, split, known);
    timeline.run_stage(stage);
    timeline.run_update(stage);
    const Seconds once = timeline.forward() + timeline.backward() + timeline.waited_for_network();
    if (once > slowest) {
      slowest = once;
      exchange = timeline.exposed_exchange();
      launching = timeline.launching() * parallel.microbatches;
      learned_time = timeline.learned_pass() * parallel.microbatches + timeline.learned_update();
      prediction.forward = timeline.forward() * parallel.microbatches;
      prediction.backward = timeline.backward() * parallel.microbatches;
      prediction.update = timeline.update();
      prediction.exposed_communication = exchange + timeline.waited_for_network() * parallel.microbatches;
      prediction.host_wait = timeline.host_wait() * parallel.microbatches;
      prediction.timeline = timeline.take_entries();
      prediction.communication = timeline.take_communication();
    }
    const MemoryBreakdown memory = stage_memory(run, graph, split, stage, on_host);
    if (memory.total() > prediction.memory_breakdown.total()) prediction.memory_breakdown = memory;
  }
  const Seconds boundary = boundary_time(run, placement, graph, split, stages);
  prediction.exposed_communication += boundary * parallel.microbatches;
  prediction.pipeline_bubble = (slowest + boundary) * (parallel.pipeline - 1);
  prediction.timeline_repeats = parallel.microbatches;
  const Seconds iteration =
      (slowest + boundary) * parallel.microbatches + prediction.pipeline_bubble + exchange + prediction.update;
  // A pipeline's bubble repeats its stages: it is learned as far as they are.
  const Seconds worked = iteration - prediction.pipeline_bubble;
  prediction.learned_share = worked > Seconds(0) ? learned_time / worked : 0;
  prediction.in_domain = prediction.calibrated = times.in_domain && prediction.learned_share >= 1 - kLargePart;
  if (!prediction.in_domain) {
    times.low = std::min(times.low, kFormulaLow);
    times.high = std::max(times.high, kFormulaHigh);
  }
  prediction.iteration = {iteration, iteration * times.low, std::max(iteration * times.high, launching * kSlowHost)};
  prediction.samples_per_second = static_cast<double>(run.global_batch()) / iteration.value();

  const Bytes memory = prediction.memory_breakdown.total();
  prediction.memory = {memory, memory * kMemoryLow, memory * kMemoryHigh};
  prediction.device_memory = placement.device->memory;
  prediction.fits = memory <= placement.device->memory;
  prediction.total_time = {prediction.iteration.value * run.steps, prediction.iteration.low * run.steps,
                           prediction.iteration.high * run.steps};
  add_cost(prediction, placement);
  add_notes(prediction, run, placement);
  return prediction;
}

}  // namespace orrery::predict
