#pragma once
// What the host was doing: which operator and phase every event on a thread belongs to.
//
// Events of one thread nest: an event lies inside the innermost one that is still open when it starts. Ranges that only
// group others (annotations, `autograd::engine::evaluate_function`) are looked through, so the top-level operator of an
// event is the outermost operator around it that is no such range.
//
// Phases:
//   update    inside `Optimizer.step` or `Optimizer.zero_grad`
//   backward  inside `autograd::engine::evaluate_function`, `torch::autograd::…` or an operator called …Backward…; or
//             anywhere on a thread that has such events but none of the steps or the optimizer: autograd's own
//   forward   everything else

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/event_log.h"
#include "workload/graph.h"

namespace orrery::trace {

inline constexpr std::uint32_t kNoEvent = kNoId;

// Where on the host something happened.
struct HostPlace {
  std::uint32_t top = kNoEvent;  // index of the top-level operator, if there is one
  workload::Phase phase = workload::Phase::kForward;
};

struct HostCall {
  std::uint32_t event = kNoEvent;
  HostPlace place;
};

struct HostCalls {
  std::vector<HostCall> operators;       // the top-level ones, by start; each is its own `top`
  std::vector<HostCall> launches;        // runtime calls with a correlation, by correlation
  std::vector<HostCall> by_external_id;  // operators with an external id, by that id

  // The call that launched a device event; nullptr if it is not in the trace. O(log n).
  const HostCall* launch_of(const EventLog& log, const Event& device_event) const;
  // Where a device event comes from: its launch's operator, else the operator with its external id.
  HostPlace origin_of(const EventLog& log, const Event& device_event) const;
};

// O(n log n). Precondition: fewer than 2^32 - 1 events.
HostCalls host_calls(const EventLog& log);

bool is_backward_name(std::string_view name);
bool is_update_name(std::string_view name);

}  // namespace orrery::trace
