#include "service/trace_plot.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/plot/plots.h"
#include "base/text.h"

namespace orrery::service {

namespace {

using trace::ExecutionTrace;
using trace::TracedOperator;

constexpr std::size_t kKindsMost = 6;

// The kinds that take most of both traces' time, longest first.
std::vector<std::string> longest_kinds(const ExecutionTrace& a, const ExecutionTrace& b) {
  std::map<std::string, double> times;
  for (const ExecutionTrace* one : {&a, &b}) {
    for (const TracedOperator& op : one->operators) times[op.kind] += op.execution / one->iteration();
  }
  std::vector<std::string> kinds;
  for (const auto& [kind, time] : times) kinds.push_back(kind);
  std::stable_sort(kinds.begin(), kinds.end(),
                   [&](const std::string& left, const std::string& right) { return times[left] > times[right]; });
  if (kinds.size() > kKindsMost) kinds.resize(kKindsMost);
  return kinds;
}

plot::GanttRow row_of(const std::string& name, const ExecutionTrace& trace, const std::vector<std::string>& kinds) {
  plot::GanttRow row{.name = name};
  for (const TracedOperator& op : trace.operators) {
    const auto kind = static_cast<std::size_t>(std::find(kinds.begin(), kinds.end(), op.kind) - kinds.begin());
    row.slices.push_back(
        {.start = op.start.value(),
         .end = (op.start + op.execution).value(),
         .kind = kind,
         .label = fmt::format("{} {} {}", to_string(op.phase), op.name, format_seconds(op.execution))});
  }
  return row;
}

}  // namespace

std::string plot_traces(const std::string& name_a, const ExecutionTrace& a, const std::string& name_b,
                        const ExecutionTrace& b) {
  plot::GanttPlot figure;
  figure.heading = {
      .title = fmt::format("{}, batch {}", a.model.empty() ? b.model : a.model, std::max(a.batch, b.batch)),
      .subtitle = fmt::format("{}: {}; {}: {}, {:+.1f} %", name_a, format_seconds(a.iteration()), name_b,
                              format_seconds(b.iteration()), 100 * (b.iteration() / a.iteration() - 1))};
  figure.kinds = longest_kinds(a, b);
  figure.rows = {row_of(name_a, a, figure.kinds), row_of(name_b, b, figure.kinds)};
  figure.kinds.push_back("others");
  return plot::gantt_plot(figure);
}

}  // namespace orrery::service
