#pragma once
// From the events of another tool's profiler to iterations: the ExecutionTrace and the summary of each.

#include <string>
#include <vector>

#include "trace/event_log.h"
#include "trace/execution_trace.h"
#include "trace/iterations.h"

namespace orrery::trace {

struct StreamSummary {
  std::string track;  // "0/stream 7"
  std::int64_t work = 0;
  std::int64_t busy_ns = 0;
};

// Work belongs to the iteration in whose window it starts. Sums count it whole; unions (where streams overlap, time
// counts once) count what lies inside the window, so that busy and idle add up to the span.
struct IterationSummary {
  std::string name;
  std::int64_t host_ns = 0;           // the marked range
  std::int64_t span_ns = 0;           // the window
  std::int64_t work = 0;              // kernels, copies and fills; in a trace without a device: top-level operators
  std::int64_t kernel_ns = 0;         // sum of kernels; without a device: of operators
  std::int64_t busy_ns = 0;           // union of all work
  std::int64_t idle_ns = 0;           // span - busy
  std::int64_t launch_gap_ns = 0;     // of the idle time: before work that was launched only after the device was idle
  std::int64_t communication_ns = 0;  // union of collectives
  std::int64_t overlap_ns = 0;        // of it: while another kernel computes
  std::int64_t memcpy_ns = 0;         // union of copies
  std::vector<StreamSummary> streams;
};

class Analysis {
 public:
  // The log must outlive the analysis. O(n log n).
  explicit Analysis(const EventLog& log);

  const Iterations& iterations() const { return iterations_; }
  IterationSummary summary(const Iteration& iteration) const;

  // One row per top-level operator that did work on the device, in order of its first work; work of no operator is a
  // row of its own. `execution` is the sum of its work, the gap reaches to the start of the next row or the end of the
  // window. Where streams overlap a gap is negative, so that the sum stays the length of the window.
  ExecutionTrace execution_trace(const Iteration& iteration) const;

 private:
  std::span<const WorkItem> work_in(const Interval& window) const;
  const WorkItem* first_work_from(std::int64_t time_ns) const;
  TracedOperator row_of(const WorkItem& item, const Interval& window) const;

  const EventLog& log_;
  Work work_;
  Iterations iterations_;
};

// "aten::conv2d" -> "conv2d", "ConvolutionBackward0" -> "ConvolutionBackward".
std::string kind_of_operator(std::string_view name);

}  // namespace orrery::trace
