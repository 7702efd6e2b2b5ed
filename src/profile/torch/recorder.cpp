#include "profile/torch/recorder.h"

#include <ATen/record_function.h>
#include <algorithm>

namespace orrery::profile {

namespace {

// The library calls back plain functions. Executors are used by one thread at a time, so one of each is enough.
Recorder* active_recorder = nullptr;
CallLister* active_lister = nullptr;

constexpr std::uint64_t kNoSequence = static_cast<std::uint64_t>(-1);

std::uint64_t sequence_of(const at::RecordFunction& call) {
  return call.seqNr() < 0 ? kNoSequence : static_cast<std::uint64_t>(call.seqNr());
}

std::vector<std::vector<std::int64_t>> shapes_of(const at::RecordFunction& call) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const c10::IValue& input : call.inputs()) {
    if (!input.isTensor() || !input.toTensor().defined()) continue;
    shapes.push_back(input.toTensor().sizes().vec());
  }
  return shapes;
}

}  // namespace

struct BackwardCallbacks {
  static std::unique_ptr<at::ObserverContext> start(const at::RecordFunction& call) {
    Recorder& recorder = *active_recorder;
    recorder.samples_.push_back(
        {recorder.operator_of(sequence_of(call)), workload::Phase::kBackward, recorder.clock_.monotonic(), Seconds()});
    return nullptr;
  }
  static void end(const at::RecordFunction&, at::ObserverContext*) {
    active_recorder->samples_.back().end = active_recorder->clock_.monotonic();
  }
};

struct ListCallbacks {
  static std::unique_ptr<at::ObserverContext> start(const at::RecordFunction& call) {
    CallLister& lister = *active_lister;
    const bool is_function = call.scope() == at::RecordScope::BACKWARD_FUNCTION;
    if (is_function && lister.backward_ != nullptr) lister.op_ = lister.backward_->operator_of(sequence_of(call));
    lister.calls_.push_back({lister.op_, lister.phase_, call.name(), lister.depth_++, shapes_of(call)});
    return nullptr;
  }
  static void end(const at::RecordFunction&, at::ObserverContext*) { --active_lister->depth_; }
};

void Recorder::begin(workload::OperatorIndex op, workload::Phase phase) {
  samples_.push_back({op, phase, clock_.monotonic(), Seconds()});
}

void Recorder::end() {
  samples_.back().end = clock_.monotonic();
}

void Recorder::forward_ends(workload::OperatorIndex op, std::uint64_t next) {
  ends_.push_back({next, op});
  last_backward_ = op;
}

workload::OperatorIndex Recorder::operator_of(std::uint64_t sequence) const {
  const auto found = std::upper_bound(ends_.begin(), ends_.end(), sequence,
                                      [](std::uint64_t number, const End& end) { return number < end.next; });
  if (found != ends_.end()) last_backward_ = found->op;
  return last_backward_;
}

Recorder::Backward::Backward(Recorder& recorder) {
  active_recorder = &recorder;
  handle_ = at::addGlobalCallback(at::RecordFunctionCallback(BackwardCallbacks::start, BackwardCallbacks::end)
                                      .scopes({at::RecordScope::BACKWARD_FUNCTION}));
}

Recorder::Backward::~Backward() {
  at::removeCallback(handle_);
  active_recorder = nullptr;
}

CallLister::CallLister() {
  active_lister = this;
  handle_ = at::addGlobalCallback(at::RecordFunctionCallback(ListCallbacks::start, ListCallbacks::end)
                                      .needsInputs(true)
                                      .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

CallLister::~CallLister() {
  at::removeCallback(handle_);
  active_lister = nullptr;
}

void CallLister::enter(workload::OperatorIndex op, workload::Phase phase) {
  op_ = op;
  phase_ = phase;
  backward_ = nullptr;
}

void CallLister::enter_backward(const Recorder& recorder) {
  phase_ = workload::Phase::kBackward;
  backward_ = &recorder;
}

}  // namespace orrery::profile
