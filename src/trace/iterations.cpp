#include "trace/iterations.h"

#include <algorithm>
#include <map>

namespace orrery::trace {

namespace {

struct Marker {
  std::string name;
  Interval range;
};

std::vector<Marker> ranges_called(const EventLog& log, std::string_view prefix) {
  std::vector<Marker> markers;
  for (const Event& event : log.events) {
    const bool on_host = event.category == EventCategory::kAnnotation || event.category == EventCategory::kOperator;
    if (!on_host || !log.name(event).starts_with(prefix)) continue;
    markers.push_back({log.name(event), {event.start_ns, event.end_ns()}});
  }
  std::stable_sort(markers.begin(), markers.end(),
                   [](const Marker& a, const Marker& b) { return a.range.begin_ns < b.range.begin_ns; });
  return markers;
}

std::vector<Marker> step_markers(const EventLog& log) {
  std::vector<Marker> markers = ranges_called(log, "ProfilerStep#");
  std::erase_if(markers, [](const Marker& m) { return m.range.length() == 0; });
  return markers;
}

// From the end of one optimizer step to the end of the next; the first from the beginning of the work.
std::vector<Marker> optimizer_markers(const EventLog& log, const Work& work) {
  std::vector<Interval> steps;
  for (const Marker& m : ranges_called(log, "Optimizer.step")) steps.push_back(m.range);
  steps = unite(std::move(steps));
  std::vector<Marker> markers;
  if (steps.size() < 2) return markers;
  std::int64_t begin = log.events[work.items.front().event].start_ns;
  for (const WorkItem& item : work.items) begin = std::min(begin, item.launched_ns);
  for (const Interval& step : steps) {
    markers.push_back({std::to_string(markers.size() + 1), {begin, step.end_ns}});
    begin = step.end_ns;
  }
  return markers;
}

// The device's windows of host ranges, as defined in the header.
std::vector<Iteration> windows_of(const EventLog& log, const Work& work, const std::vector<Marker>& markers) {
  std::vector<Iteration> list;
  for (const Marker& m : markers) list.push_back({m.name, m.range, {INT64_MAX, INT64_MIN}});
  for (const WorkItem& item : work.items) {
    const auto after = std::upper_bound(markers.begin(), markers.end(), item.launched_ns,
                                        [](std::int64_t t, const Marker& m) { return t < m.range.begin_ns; });
    if (after == markers.begin()) continue;
    const auto at = static_cast<std::size_t>(after - markers.begin()) - 1;
    const bool is_last = at + 1 == markers.size();
    if (is_last && item.launched_ns >= markers[at].range.end_ns) continue;
    Interval& window = list[at].window;
    window.begin_ns = std::min(window.begin_ns, log.events[item.event].start_ns);
    window.end_ns = std::max(window.end_ns, log.events[item.event].end_ns());
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    Interval& window = list[i].window;
    if (window.begin_ns > window.end_ns) window = list[i].host;  // no work in it
    if (i > 0) window.begin_ns = std::max(window.begin_ns, list[i - 1].window.begin_ns);
    if (i > 0) list[i - 1].window.end_ns = window.begin_ns;
    window.end_ns = std::max(window.end_ns, window.begin_ns);
  }
  if (!list.empty() && !work.on_device) {
    list.back().window.end_ns = std::max(list.back().window.end_ns, list.back().host.end_ns);
  }
  return list;
}

// The distance at which the names repeat; 0 if they do not.
std::size_t period_of(const std::vector<std::uint32_t>& names) {
  std::map<std::uint32_t, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < names.size(); ++i) places[names[i]].push_back(i);
  const std::vector<std::size_t>* rarest = nullptr;
  for (const auto& [name, at] : places) {
    if (at.size() >= 2 && (rarest == nullptr || at.size() < rarest->size())) rarest = &at;
  }
  if (rarest == nullptr) return 0;
  std::vector<std::size_t> distances;
  for (std::size_t i = 1; i < rarest->size(); ++i) distances.push_back((*rarest)[i] - (*rarest)[i - 1]);
  std::sort(distances.begin(), distances.end());
  const std::size_t period = distances[distances.size() / 2];
  std::size_t equal = 0;
  for (std::size_t i = 0; i + period < names.size(); ++i) equal += names[i] == names[i + period] ? 1 : 0;
  const bool repeats = period >= 2 && names.size() >= 2 * period && 10 * equal >= 9 * (names.size() - period);
  return repeats ? period : 0;
}

// The place in the period with the longest idle time before it.
std::size_t first_of_period(const EventLog& log, const Work& work, std::size_t period) {
  std::vector<std::int64_t> idle(period);
  std::int64_t busy_until = log.events[work.items[0].event].start_ns;
  for (std::size_t i = 0; i < work.items.size(); ++i) {
    const Event& event = log.events[work.items[i].event];
    idle[i % period] += std::max<std::int64_t>(0, event.start_ns - busy_until);
    busy_until = std::max(busy_until, event.end_ns());
  }
  return static_cast<std::size_t>(std::max_element(idle.begin(), idle.end()) - idle.begin());
}

std::vector<Iteration> periodic(const EventLog& log, const Work& work) {
  std::vector<std::uint32_t> names;
  for (const WorkItem& item : work.items) names.push_back(log.events[item.event].name);
  const std::size_t period = period_of(names);
  std::vector<Iteration> list;
  if (period == 0) return list;
  for (std::size_t i = first_of_period(log, work, period); i + period <= names.size(); i += period) {
    Interval window{log.events[work.items[i].event].start_ns, 0};
    for (std::size_t k = i; k < i + period; ++k) {
      window.end_ns = std::max(window.end_ns, log.events[work.items[k].event].end_ns());
    }
    if (i + period < names.size()) window.end_ns = log.events[work.items[i + period].event].start_ns;
    list.push_back({std::to_string(list.size() + 1), window, window});
  }
  return list;
}

Iteration whole(const EventLog& log, const Work& work) {
  Interval window{log.events[work.items[0].event].start_ns, INT64_MIN};
  for (const WorkItem& item : work.items) window.end_ns = std::max(window.end_ns, log.events[item.event].end_ns());
  return {"1", window, window};
}

}  // namespace

std::string_view to_string(IterationRule rule) {
  switch (rule) {
    case IterationRule::kSteps:
      return "steps";
    case IterationRule::kOptimizer:
      return "optimizer";
    case IterationRule::kPeriod:
      return "period";
    case IterationRule::kWhole:
      return "whole";
  }
  return "whole";
}

Iterations find_iterations(const EventLog& log, const Work& work) {
  Iterations result{IterationRule::kSteps, work.on_device, {}};
  if (work.items.empty()) return result;
  result.list = windows_of(log, work, step_markers(log));
  if (!result.list.empty()) return result;
  result.rule = IterationRule::kOptimizer;
  result.list = windows_of(log, work, optimizer_markers(log, work));
  if (!result.list.empty()) return result;
  result.rule = IterationRule::kPeriod;
  result.list = periodic(log, work);
  if (result.list.size() >= 2) return result;
  result.rule = IterationRule::kWhole;
  result.list = {whole(log, work)};
  return result;
}

}  // namespace orrery::trace
