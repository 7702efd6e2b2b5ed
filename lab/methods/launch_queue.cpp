#include "lab/methods/launch_queue.h"

#include <algorithm>
#include <deque>

namespace orrery::lab {

namespace {

// Kernels that were launched and have not yet started, by operator.
class Waiting {
 public:
  explicit Waiting(int depth) : depth_(depth) {}

  // The earliest time at which `kernels` more fit.
  double room_for(int kernels) {
    double time = 0;
    while (!entries_.empty() && count_ + kernels > depth_) {
      time = entries_.front().end;
      count_ -= entries_.front().kernels;
      entries_.pop_front();
    }
    return time;
  }
  void add(int kernels, double end) {
    entries_.push_back({kernels, end});
    count_ += kernels;
  }
  void drop_started(double now) {
    while (!entries_.empty() && entries_.front().end <= now) {
      count_ -= entries_.front().kernels;
      entries_.pop_front();
    }
  }

 private:
  struct Entry {
    int kernels;
    double end;
  };
  int depth_;
  int count_ = 0;
  std::deque<Entry> entries_;
};

}  // namespace

QueueTimes run_launch_queue(std::span<const QueuedOperator> operators, const QueueOptions& options) {
  QueueTimes times;
  times.starts.resize(operators.size());
  Waiting waiting(options.depth);
  double launched = 0, ended = 0;
  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const QueuedOperator& op = operators[i];
      launched += op.interval;
      if (op.synchronises) launched = std::max(launched, ended + op.behind);
      waiting.drop_started(launched);
      launched = std::max(launched, waiting.room_for(op.kernels));
      const double start = std::max(launched + options.latency, ended);
      ended = std::max(start + op.device, launched + op.launch + op.last_share * op.device) + op.hidden;
      waiting.add(op.kernels, ended);
      times.starts[i] = start;
    }
  }
  if (operators.empty()) return times;
  const double first = times.starts.front();
  const double end = ended - operators.back().hidden;
  times.iteration = end - first;
  for (const QueuedOperator& op : operators) times.busy += op.device + op.hidden;
  times.busy /= std::max(times.iteration, 1e-9);
  for (double& start : times.starts) start -= first;
  return times;
}

}  // namespace orrery::lab
