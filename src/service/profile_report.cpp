#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "service/profile.h"

namespace orrery::service {

using workload::Phase;

namespace {

// The longest operators, longest first.
trace::ExecutionTrace longest(trace::ExecutionTrace trace, std::size_t count) {
  std::stable_sort(trace.operators.begin(), trace.operators.end(),
                   [](const auto& a, const auto& b) { return a.execution + a.gap > b.execution + b.gap; });
  trace.operators.resize(std::min(count, trace.operators.size()));
  return trace;
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string phase_lines(const trace::ExecutionTrace& trace) {
  std::string text;
  for (const Phase phase : {Phase::kForward, Phase::kBackward, Phase::kUpdate}) {
    const auto operators = std::count_if(trace.operators.begin(), trace.operators.end(),
                                         [&](const auto& op) { return op.phase == phase; });
    text += fmt::format("  {:<10} {} executing, {} in gaps, {} operators\n", to_string(phase),
                        format_seconds(trace.execution(phase)), format_seconds(trace.gaps(phase)), operators);
  }
  return text;
}

}  // namespace

Table operator_table(const profile::Profile& profile, std::optional<std::size_t> top) {
  const Seconds total = profile.trace.iteration();
  const trace::ExecutionTrace trace = top ? longest(profile.trace, *top) : profile.trace;
  Table table({{"phase", "phase"},
               {"operator", "operator"},
               {"kind", "kind"},
               {"input", "input"},
               {"execution_s", "execution", CellFormat::kSeconds},
               {"gap_s", "gap", CellFormat::kSeconds},
               {"share", "share", CellFormat::kPercent},
               {"flops", "FLOPs", CellFormat::kCount},
               {"bytes", "bytes", CellFormat::kBytes, false},
               {"start_s", "start", CellFormat::kSeconds, false}});
  for (const trace::TracedOperator& op : trace.operators) {
    const std::string input = op.inputs.empty() ? "" : fmt::format("[{}]", fmt::join(op.inputs[0], ", "));
    table.add({std::string(to_string(op.phase)), op.name, op.kind, input, op.execution.value(), op.gap.value(),
               (op.execution + op.gap) / total, op.flops.value(), op.bytes.value(), op.start.value()});
  }
  return table;
}

std::string profile_text(const profile::Profile& p) {
  std::string text = fmt::format("{}, batch {}, {}, measured on {}\n\n", p.trace.model, p.trace.batch,
                                 p.trace.optimizer, p.trace.device);
  text += fmt::format("  iteration  {}  ({} samples/s), steps spread {}\n", format_seconds(p.iteration),
                      format_number(static_cast<double>(p.trace.batch) / p.iteration.value(), 4), percent(p.spread));
  text += phase_lines(p.trace);
  text += fmt::format(
      "  traced     {} of {} steps kept; operators and gaps add up to {} ({:+.1f} %), tracing costs {}\n", p.kept,
      p.measured, format_seconds(p.trace.iteration()), 100 * p.conservation, percent(std::max(0.0, p.overhead)));
  text += fmt::format("  loss       {} to {}\n", format_number(p.first_loss, 4), format_number(p.last_loss, 4));
  if (p.is_noisy) {
    text += fmt::format(
        "  warning    too noisy: the machine had a load of {:.1f} before the start; repeat when it is idle\n", p.load);
  }
  return text;
}

}  // namespace orrery::service
