// events_of(): our own traces as events.

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trace/trace_writers.h"

namespace orrery::trace {

using workload::Phase;

namespace {

constexpr double kLongestNs = 1e15;  // of one iteration: eleven days
constexpr std::int64_t kLatestNs = 4'000'000'000'000'000'000;

std::int64_t nanoseconds(Seconds time) {
  return std::llround(std::clamp(time.value() * 1e9, -kLongestNs, kLongestNs));
}

class EventMaker {
 public:
  EventMaker() { log_.tracks.push_back({"orrery", "operators", "operators", -1}); }

  void add_iteration(const std::string& name, const ExecutionTrace& trace) {
    if (log_.device.empty()) log_.device = trace.device;
    const std::int64_t length = nanoseconds(trace.iteration());
    add(name.starts_with("ProfilerStep#") ? name : "ProfilerStep#" + name, EventCategory::kAnnotation, begin_ns_,
        length);
    for (const TracedOperator& op : trace.operators) add_operator(op);
    begin_ns_ = std::min(begin_ns_ + std::max<std::int64_t>(0, length), kLatestNs);
  }
  EventLog take() && { return std::move(log_); }

 private:
  void add(std::string_view name, EventCategory category, std::int64_t start_ns, std::int64_t duration_ns) {
    Event event;
    event.start_ns = start_ns;
    event.duration_ns = duration_ns;
    event.name = log_.names.intern(name);
    event.category = category;
    log_.events.push_back(event);
  }

  void add_operator(const TracedOperator& op) {
    const std::int64_t start = begin_ns_ + nanoseconds(op.start);
    const Seconds cut = op.gap < Seconds(0) ? op.execution + op.gap : op.execution;
    const std::int64_t duration = std::max<std::int64_t>(0, nanoseconds(cut));
    const std::int64_t around = std::max<std::int64_t>(1, duration);
    if (op.phase == Phase::kBackward) {
      add("autograd::engine::evaluate_function", EventCategory::kOperator, start, around);
    }
    if (op.phase == Phase::kUpdate) add("Optimizer.step", EventCategory::kAnnotation, start, around);
    add(op.name, EventCategory::kOperator, start, duration);
    EventDetail detail;
    if (!op.inputs.empty()) detail.shapes = log_.shapes.intern(nlohmann::json(op.inputs).dump());
    if (op.bytes.value() > 0) detail.bytes = std::llround(op.bytes.value());
    log_.events.back().detail = log_.details.intern(detail);
  }

  EventLog log_;
  std::int64_t begin_ns_ = 0;
};

}  // namespace

EventLog events_of(const TraceFile& file) {
  EventMaker maker;
  for (std::size_t i = 0; i < file.iterations.size(); ++i) maker.add_iteration(file.names[i], file.iterations[i]);
  return std::move(maker).take();
}

}  // namespace orrery::trace
