#pragma once
// The events that are the work of a trace: what runs on the device or, without one, the top-level operators.

#include <vector>

#include "trace/event_log.h"
#include "trace/host_calls.h"

namespace orrery::trace {

struct WorkItem {
  std::uint32_t event = kNoEvent;
  HostPlace origin;
  std::int64_t launched_ns = 0;  // when the host asked for it; its own start if that is unknown
};

struct Work {
  bool on_device = false;
  std::vector<WorkItem> items;  // by start
};

Work work_of(const EventLog& log, const HostCalls& calls);

// Collectives of NCCL or RCCL by the name of their kernel.
bool is_communication(std::string_view kernel);

}  // namespace orrery::trace
