#include "trace/work.h"

#include <algorithm>

#include "base/text.h"

namespace orrery::trace {

namespace {

void add_device_work(const EventLog& log, const HostCalls& calls, Work& work) {
  for (std::size_t i = 0; i < log.events.size(); ++i) {
    const Event& event = log.events[i];
    if (!is_device_work(event.category)) continue;
    const HostCall* launch = calls.launch_of(log, event);
    const std::int64_t launched = launch != nullptr ? log.events[launch->event].start_ns : event.start_ns;
    work.items.push_back({static_cast<std::uint32_t>(i), calls.origin_of(log, event), launched});
  }
}

void add_operators(const EventLog& log, const HostCalls& calls, Work& work) {
  for (const HostCall& call : calls.operators) {
    work.items.push_back({call.event, call.place, log.events[call.event].start_ns});
  }
}

}  // namespace

Work work_of(const EventLog& log, const HostCalls& calls) {
  Work work;
  add_device_work(log, calls, work);
  work.on_device = !work.items.empty();
  if (!work.on_device) add_operators(log, calls, work);
  std::stable_sort(work.items.begin(), work.items.end(), [&log](const WorkItem& a, const WorkItem& b) {
    return log.events[a.event].start_ns < log.events[b.event].start_ns;
  });
  return work;
}

bool is_communication(std::string_view kernel) {
  const std::string lower = to_lower(kernel.substr(0, 64));
  return lower.find("nccl") != std::string::npos || lower.find("rccl") != std::string::npos;
}

}  // namespace orrery::trace
