#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/text.h"
#include "service/traces.h"

namespace orrery::service {

using trace::ExecutionTrace;
using trace::TracedOperator;
using workload::Phase;

namespace {

OptionRecord iteration_option() {
  return optional_integer("iteration", "only this iteration, counted from 1 (default: the mean of all)").bounds(1, 1e9);
}

// The operators of one kind and phase in one iteration, averaged over iterations.
struct Group {
  double calls = 0, execution_s = 0, gap_s = 0;
};
using Groups = std::map<std::pair<Phase, std::string>, Group>;

Groups group(std::span<const ExecutionTrace> iterations) {
  Groups groups;
  const double share = 1.0 / static_cast<double>(iterations.size());
  for (const ExecutionTrace& iteration : iterations) {
    for (const TracedOperator& op : iteration.operators) {
      Group& g = groups[{op.phase, op.kind}];
      g.calls += share;
      g.execution_s += share * op.execution.value();
      g.gap_s += share * op.gap.value();
    }
  }
  return groups;
}

Result<std::span<const ExecutionTrace>> chosen_iterations(const LoadedTrace& loaded,
                                                          std::optional<std::int64_t> iteration,
                                                          const FieldNames& names) {
  const std::span<const ExecutionTrace> all(loaded.file.iterations);
  if (all.empty()) return Error::invalid("the trace has no iterations");
  if (!iteration) return all;
  const auto number = static_cast<std::size_t>(*iteration);
  if (number > all.size()) {
    return Error::invalid(fmt::format("{} {}: the trace has {}", names("iteration"), number, all.size()));
  }
  return all.subspan(number - 1, 1);
}

std::string phase_text(Phase phase) {
  return std::string(to_string(phase));
}

Table group_table(const Groups& groups, std::size_t top) {
  std::vector<std::pair<std::pair<Phase, std::string>, Group>> rows(groups.begin(), groups.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.execution_s > b.second.execution_s; });
  double total = 0;
  for (const auto& [key, g] : rows) total += g.execution_s;
  if (rows.size() > top) rows.resize(top);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first.first < b.first.first; });
  Table table({{"phase", "phase"},
               {"kind", "operator"},
               {"calls", "calls", CellFormat::kNumber},
               {"execution_s", "execution", CellFormat::kSeconds},
               {"gap_s", "gaps", CellFormat::kSeconds},
               {"execution_share", "of execution", CellFormat::kPercent}});
  for (const auto& [key, g] : rows) {
    table.add(
        {phase_text(key.first), key.second, g.calls, g.execution_s, g.gap_s, total > 0 ? g.execution_s / total : 0});
  }
  return table;
}

Table ordered_table(const ExecutionTrace& iteration, std::size_t top) {
  Table table({{"phase", "phase"},
               {"name", "operator"},
               {"kind", "kind", CellFormat::kText, false},
               {"start_s", "start", CellFormat::kSeconds},
               {"execution_s", "execution", CellFormat::kSeconds},
               {"gap_s", "gap", CellFormat::kSeconds}});
  for (const TracedOperator& op : iteration.operators) {
    if (table.rows() >= top) break;
    table.add({phase_text(op.phase), op.name, op.kind, op.start.value(), op.execution.value(), op.gap.value()});
  }
  return table;
}

std::string totals_line(std::span<const ExecutionTrace> iterations, const LoadedTrace& loaded) {
  const double share = 1.0 / static_cast<double>(iterations.size());
  const auto mean = [&](auto part) {
    Seconds total;
    for (const ExecutionTrace& iteration : iterations) total += part(iteration) * share;
    return format_seconds(total);
  };
  std::string line =
      fmt::format("\n{} iteration{} (found by: {}), mean {}", iterations.size(), iterations.size() == 1 ? "" : "s",
                  to_string(loaded.rule), mean([](const ExecutionTrace& t) { return t.iteration(); }));
  for (const Phase phase : {Phase::kForward, Phase::kBackward, Phase::kUpdate}) {
    line += fmt::format("; {} {} + gaps {}", to_string(phase),
                        mean([phase](const ExecutionTrace& t) { return t.execution(phase); }),
                        mean([phase](const ExecutionTrace& t) { return t.gaps(phase); }));
  }
  return line + "\n";
}

Cell ratio(double a, double b) {
  return a > 0 ? Cell(b / a) : Cell();
}

}  // namespace

const Fields<TraceShowRequest>& trace_show_fields() {
  using T = TraceShowRequest;
  static const auto kFields =
      Fields<T>()
          .add(&T::file, trace_option())
          .add(&T::iteration, iteration_option())
          .add(&T::top,
               optional_integer("top", "rows to show (default: 20; all rows with --json or --csv)").bounds(1, 1e9))
          .add(&T::in_order,
               flag_option("in-order", "one row per operator of the (first) iteration, in order of execution"));
  return kFields;
}

Result<TraceAnswer> show_trace(env::Env env, const TraceShowRequest& request) {
  ORRERY_TRY(const LoadedTrace loaded, load_trace(env, request.file));
  ORRERY_TRY(const auto iterations, chosen_iterations(loaded, request.iteration, request.names));
  const std::size_t top = request.top ? static_cast<std::size_t>(*request.top) : SIZE_MAX;
  return TraceAnswer{request.in_order ? ordered_table(iterations.front(), top) : group_table(group(iterations), top),
                     totals_line(iterations, loaded), warning_lines(request.file, loaded.log)};
}

const Fields<TraceCompareRequest>& trace_compare_fields() {
  using T = TraceCompareRequest;
  static const auto kFields = Fields<T>()
                                  .add(&T::first, trace_option("first").in("A"))
                                  .add(&T::second, trace_option("second").in("B"))
                                  .add(&T::iteration, iteration_option());
  return kFields;
}

Result<TraceComparison> compare_traces(env::Env env, const TraceCompareRequest& request) {
  std::map<std::pair<Phase, std::string>, std::pair<Group, Group>> both;
  double totals[2] = {};
  std::vector<ExecutionTrace> firsts;
  for (const int side : {0, 1}) {
    ORRERY_TRY(const LoadedTrace loaded, load_trace(env, side == 0 ? request.first : request.second));
    ORRERY_TRY(const auto iterations, chosen_iterations(loaded, request.iteration, request.names));
    firsts.push_back(iterations.front());
    for (const auto& [key, g] : group(iterations)) (side == 0 ? both[key].first : both[key].second) = g;
    for (const ExecutionTrace& t : iterations) {
      totals[side] += t.iteration().value() / static_cast<double>(iterations.size());
    }
  }
  Table table({{"phase", "phase"},
               {"kind", "operator"},
               {"calls_a", "calls A", CellFormat::kNumber},
               {"calls_b", "calls B", CellFormat::kNumber},
               {"execution_a_s", "A", CellFormat::kSeconds},
               {"execution_b_s", "B", CellFormat::kSeconds},
               {"ratio", "B / A", CellFormat::kNumber}});
  Group sum_a, sum_b;
  for (const auto& [key, g] : both) {
    table.add({phase_text(key.first), key.second, g.first.calls, g.second.calls, g.first.execution_s,
               g.second.execution_s, ratio(g.first.execution_s, g.second.execution_s)});
    sum_a.execution_s += g.first.execution_s;
    sum_b.execution_s += g.second.execution_s;
    sum_a.calls += g.first.calls;
    sum_b.calls += g.second.calls;
  }
  table.add({std::string("all"), std::string("execution"), sum_a.calls, sum_b.calls, sum_a.execution_s,
             sum_b.execution_s, ratio(sum_a.execution_s, sum_b.execution_s)});
  table.add({std::string("all"), std::string("iteration"), Cell(), Cell(), totals[0], totals[1],
             ratio(totals[0], totals[1])});
  return TraceComparison{std::move(table), std::move(firsts[0]), std::move(firsts[1])};
}

}  // namespace orrery::service
