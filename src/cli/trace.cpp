#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/trace_plot.h"
#include "cli/traces.h"
#include "env/files.h"
#include "trace/trace_writers.h"

namespace orrery::cli {

using trace::ExecutionTrace;
using trace::TracedOperator;
using workload::Phase;

namespace {

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

Result<std::span<const ExecutionTrace>> chosen_iterations(const LoadedTrace& loaded, const OptionValues& options) {
  const std::span<const ExecutionTrace> all(loaded.file.iterations);
  if (all.empty()) return Error::invalid("the trace has no iterations");
  if (!options.has("iteration")) return all;
  const auto number = static_cast<std::size_t>(options.integer("iteration"));
  if (number > all.size()) {
    return Error::invalid(fmt::format("--iteration {}: the trace has {}", number, all.size()));
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

Status run_trace_show(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  const std::string& path = arguments.words[0];
  ORRERY_TRY(const LoadedTrace loaded, load_trace(context, path));
  ORRERY_TRY(const auto iterations, chosen_iterations(loaded, options));
  const bool in_order = options.flag("in-order");
  const std::size_t otherwise = for_people(options) ? 20 : SIZE_MAX;
  const std::size_t top = options.has("top") ? static_cast<std::size_t>(options.integer("top")) : otherwise;
  const Table table = in_order ? ordered_table(iterations.front(), top) : group_table(group(iterations), top);
  ORRERY_TRY_VOID(context.print_table(table, options));
  if (for_people(options)) context.print(totals_line(iterations, loaded));
  print_warnings(context, path, loaded.log, options);
  return {};
}

Result<std::string> converted(Context& context, const std::string& path, const std::string& form) {
  if (form == "orrery") {
    ORRERY_TRY(const LoadedTrace loaded, load_trace(context, path));
    return trace::write_trace_file(loaded.file);
  }
  ORRERY_TRY(const trace::EventLog log, load_events(context, path));
  return form == "perfetto" ? trace::write_perfetto_trace(log) : trace::write_chrome_trace(log);
}

Status run_trace_convert(Context& context, const Arguments& arguments) {
  const std::string &from = arguments.words[0], &to = arguments.words[1];
  const bool is_given = arguments.options.has("to");
  ORRERY_TRY(const std::string form, is_given ? Result<std::string>(arguments.options.text("to")) : trace_form(to));
  ORRERY_TRY(const std::string content, converted(context, from, form));
  ORRERY_TRY_VOID(context.env.files.write_atomically(to, content));
  context.print(fmt::format("wrote {}\n", to));
  return {};
}

Cell ratio(double a, double b) {
  return a > 0 ? Cell(b / a) : Cell();
}

Status run_trace_compare(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  std::map<std::pair<Phase, std::string>, std::pair<Group, Group>> both;
  double totals[2] = {};
  std::vector<ExecutionTrace> firsts;
  for (const int side : {0, 1}) {
    const std::string& path = arguments.words[static_cast<std::size_t>(side)];
    ORRERY_TRY(const LoadedTrace loaded, load_trace(context, path));
    ORRERY_TRY(const auto iterations, chosen_iterations(loaded, options));
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
  ORRERY_TRY_VOID(context.print_table(table, options));
  if (options.text("plot").empty()) return {};
  return context.write_file(options.text("plot"),
                            plot_traces(arguments.words[0], firsts[0], arguments.words[1], firsts[1]), options);
}

OptionRecord iteration_option() {
  return optional_integer("iteration", "only this iteration, counted from 1 (default: the mean of all)").bounds(1, 1e9);
}

}  // namespace

Command trace_show_command() {
  return {"trace show",
          "FILE",
          1,
          1,
          "list the operators of an execution trace by phase, longest first",
          join({iteration_option(),
                optional_integer("top", "rows to show (default: 20; all rows with --json or --csv)").bounds(1, 1e9),
                flag_option("in-order", "one row per operator of the (first) iteration, in order of execution")},
               table_options()),
          {"orrery trace show trace.json.gz", "orrery trace show trace.json --iteration 2 --in-order --top 50",
           "orrery trace show run.trace.json --csv"},
          run_trace_show};
}

Command trace_convert_command() {
  return {"trace convert",
          "IN OUT",
          2,
          2,
          "convert an execution trace to the format of Chrome, Perfetto or Orrery",
          {choice_option("to", "", {"chrome", "perfetto", "orrery"},
                         "format of OUT (default: by its ending, .json, .pftrace or .trace.json)")},
          {"orrery trace convert trace.json.gz trace.pftrace", "orrery trace convert trace.json.gz steps.trace.json",
           "orrery trace convert steps.trace.json view.json --to chrome"},
          run_trace_convert};
}

Command trace_compare_command() {
  return {"trace compare",
          "A B",
          2,
          2,
          "compare the time per kind of operator and phase in two execution traces",
          join({iteration_option(), text_option("plot", "", "draw both traces as SVG, one above the other").in("FILE")},
               table_options()),
          {"orrery trace compare before.json.gz after.json.gz",
           "orrery trace compare predicted.trace.json measured.trace.json --plot both.svg",
           "orrery trace compare a.trace.json b.trace.json --iteration 1 --json"},
          run_trace_compare};
}

}  // namespace orrery::cli
