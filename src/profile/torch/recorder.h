#pragma once
// Assigns what the library does to nodes of the graph.
//
// Forward and update are run node by node, so their boundaries are known. Backward is run by the library: each of its
// functions carries the sequence number of the forward call it differentiates, and those of a node form an interval.
// Accumulation of gradients carries no number; it belongs to the function before it. Backward of the sum of several
// losses, which no node made, belongs to the last node.

#include <cstdint>
#include <vector>

#include "env/clock.h"
#include "profile/executor.h"

namespace orrery::profile {

class Recorder {
 public:
  Recorder(const env::Clock& clock, std::size_t nodes) : clock_(clock) { ends_.reserve(nodes); }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Around forward and update of a node.
  void begin(std::int32_t node, workload::Phase phase);
  void end();

  // After the forward of each node, in order: its calls have sequence numbers below `next`.
  void forward_ends(std::int32_t node, std::uint64_t next);
  std::int32_t node_of(std::uint64_t sequence) const;  // the node before if the number belongs to no node

  std::vector<OperatorSample>& samples() { return samples_; }

  // While it exists, backward functions of all threads are recorded as samples.
  class Backward {
   public:
    explicit Backward(Recorder& recorder);
    ~Backward();
    Backward(const Backward&) = delete;
    Backward& operator=(const Backward&) = delete;

   private:
    std::uint64_t handle_;
  };

 private:
  friend struct BackwardCallbacks;

  struct End {
    std::uint64_t next = 0;
    std::int32_t node = -1;
  };

  const env::Clock& clock_;
  std::vector<End> ends_;
  std::vector<OperatorSample> samples_;
  mutable std::int32_t last_backward_ = -1;
};

// Lists every call of the library while it exists, nested ones included.
class CallLister {
 public:
  CallLister();
  ~CallLister();
  CallLister(const CallLister&) = delete;
  CallLister& operator=(const CallLister&) = delete;

  // What is run from now on belongs to this node; in backward, to the node `recorder` finds.
  void enter(std::int32_t node, workload::Phase phase);
  void enter_backward(const Recorder& recorder);

  std::vector<LibraryCall> take() { return std::move(calls_); }

 private:
  friend struct ListCallbacks;

  std::uint64_t handle_;
  const Recorder* backward_ = nullptr;
  std::int32_t node_ = -1;
  workload::Phase phase_ = workload::Phase::kForward;
  int depth_ = 0;
  std::vector<LibraryCall> calls_;
};

}  // namespace orrery::profile
