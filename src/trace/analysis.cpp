#include "trace/analysis.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace orrery::trace {

namespace {

Seconds seconds(std::int64_t ns) {
  return Seconds(static_cast<double>(ns) * 1e-9);
}

std::string track_name(const Track& track) {
  return track.stream >= 0 ? fmt::format("{}/stream {}", track.process, track.stream)
                           : fmt::format("{}/{}", track.process, track.thread);
}

std::vector<std::vector<std::int64_t>> parse_shapes(const std::string& text) {
  std::vector<std::vector<std::int64_t>> shapes;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_array()) return shapes;
  for (const auto& shape : json) {
    auto& dims = shapes.emplace_back();
    if (!shape.is_array()) continue;
    for (const auto& dim : shape) {
      if (dim.is_number_integer()) dims.push_back(dim.get<std::int64_t>());
    }
  }
  return shapes;
}

std::string kind_of_work(const Event& event, const std::string& name) {
  if (event.category == EventCategory::kMemcpy) return "memcpy";
  if (event.category == EventCategory::kMemset) return "memset";
  return is_communication(name) ? "communication" : "kernel";
}

// Idle time before work that the host launched only after the device had fallen idle (the "host wait" of HTA).
class LaunchGaps {
 public:
  explicit LaunchGaps(std::int64_t begin_ns) : busy_until_(begin_ns) {}

  void add(const Event& event, std::int64_t launched_ns) {
    const std::int64_t gap = event.start_ns - busy_until_;
    if (gap > 0 && launched_ns >= busy_until_) total_ += gap;
    busy_until_ = std::max(busy_until_, event.end_ns());
  }
  std::int64_t total() const { return total_; }

 private:
  std::int64_t busy_until_;
  std::int64_t total_ = 0;
};

}  // namespace

std::string kind_of_operator(std::string_view name) {
  if (const auto colons = name.rfind("::"); colons != std::string_view::npos && colons + 2 < name.size()) {
    name.remove_prefix(colons + 2);
  }
  const std::size_t last = name.find_last_not_of("0123456789");
  const bool numbered = last != std::string_view::npos && name.substr(0, last + 1).ends_with("Backward");
  return std::string(numbered ? name.substr(0, last + 1) : name);
}

Analysis::Analysis(const EventLog& log)
    : log_(log), work_(work_of(log, host_calls(log))), iterations_(find_iterations(log, work_)) {}

std::span<const WorkItem> Analysis::work_in(const Interval& window) const {
  const auto at = [this](std::int64_t time) {
    return std::lower_bound(work_.items.begin(), work_.items.end(), time, [this](const WorkItem& item, std::int64_t t) {
      return log_.events[item.event].start_ns < t;
    });
  };
  return {at(window.begin_ns), at(window.end_ns)};
}

const WorkItem* Analysis::first_work_from(std::int64_t time_ns) const {
  const auto rest = work_in({time_ns, INT64_MAX});
  return rest.empty() ? nullptr : &rest.front();
}

IterationSummary Analysis::summary(const Iteration& iteration) const {
  IterationSummary result;
  result.name = iteration.name;
  result.host_ns = iteration.host.length();
  result.span_ns = iteration.window.length();
  std::vector<Interval> all, communication, computation, copies;
  std::map<std::uint32_t, std::pair<std::int64_t, std::vector<Interval>>> by_track;
  LaunchGaps gaps(iteration.window.begin_ns);
  for (const WorkItem& item : work_in(iteration.window)) {
    const Event& event = log_.events[item.event];
    const Interval inside = clip({event.start_ns, event.end_ns()}, iteration.window);
    const bool is_copy = event.category == EventCategory::kMemcpy;
    const bool is_kernel = event.category == EventCategory::kKernel || !work_.on_device;
    if (is_kernel) result.kernel_ns += event.duration_ns;
    if (is_copy) copies.push_back(inside);
    if (is_kernel) (is_communication(log_.name(event)) ? communication : computation).push_back(inside);
    if (work_.on_device) gaps.add(event, item.launched_ns);
    all.push_back(inside);
    auto& [count, intervals] = by_track[event.track];
    ++count;
    intervals.push_back(inside);
  }
  result.work = static_cast<std::int64_t>(all.size());
  result.busy_ns = total_length(unite(std::move(all)));
  result.idle_ns = result.span_ns - result.busy_ns;
  if (const WorkItem* next = first_work_from(iteration.window.end_ns); next != nullptr && work_.on_device) {
    gaps.add({.start_ns = iteration.window.end_ns}, next->launched_ns);
  }
  result.launch_gap_ns = gaps.total();
  communication = unite(std::move(communication));
  result.communication_ns = total_length(communication);
  result.overlap_ns = shared_length(communication, unite(std::move(computation)));
  result.memcpy_ns = total_length(unite(std::move(copies)));
  for (auto& [track, work] : by_track) {
    const std::int64_t busy = total_length(unite(std::move(work.second)));
    result.streams.push_back({track_name(log_.tracks[track]), work.first, busy});
  }
  return result;
}

TracedOperator Analysis::row_of(const WorkItem& item, const Interval& window) const {
  const Event& event = log_.events[item.event];
  const bool has_operator = item.origin.top != kNoEvent;
  const Event& named = has_operator ? log_.events[item.origin.top] : event;
  TracedOperator row;
  row.phase = item.origin.phase;
  row.name = log_.name(named);
  row.kind = has_operator ? kind_of_operator(row.name) : kind_of_work(event, row.name);
  row.start = seconds(event.start_ns - window.begin_ns);
  row.inputs = parse_shapes(log_.input_shapes(named));
  return row;
}

ExecutionTrace Analysis::execution_trace(const Iteration& iteration) const {
  struct Times {
    std::int64_t start_ns, execution_ns, bytes;
  };
  ExecutionTrace trace;
  trace.device = log_.device;
  std::vector<Times> times;
  std::unordered_map<std::uint32_t, std::size_t> row_of_operator;
  for (const WorkItem& item : work_in(iteration.window)) {
    const Event& event = log_.events[item.event];
    const std::uint32_t key = item.origin.top != kNoEvent ? item.origin.top : item.event;
    const auto [found, is_new] = row_of_operator.emplace(key, times.size());
    if (is_new) {
      trace.operators.push_back(row_of(item, iteration.window));
      times.push_back({event.start_ns, 0, 0});
    }
    times[found->second].execution_ns += event.duration_ns;
    times[found->second].bytes += std::max<std::int64_t>(0, log_.bytes(event));
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::int64_t next = i + 1 < times.size() ? times[i + 1].start_ns : iteration.window.end_ns;
    trace.operators[i].execution = seconds(times[i].execution_ns);
    trace.operators[i].gap = seconds(next - times[i].start_ns - times[i].execution_ns);
    trace.operators[i].bytes = Bytes(static_cast<double>(times[i].bytes));
  }
  return trace;
}

}  // namespace orrery::trace
