#pragma once
// Assigns what the library does to operators of the graph.
//
// Forward and update are run one by one, so their boundaries are known. Backward is run by the library: each of its
// functions carries the sequence number of the forward call it differentiates, and those of an operator form an
// interval. Accumulation of gradients carries no number; it belongs to the function before it. Backward of the sum of
// several losses, which no operator made, belongs to the last one.

#include <cstdint>
#include <vector>

#include "env/clock.h"
#include "profile/executor.h"

namespace orrery::profile {

class Recorder {
 public:
  Recorder(const env::Clock& clock, std::size_t operators) : clock_(clock) { ends_.reserve(operators); }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Around forward and update of an operator.
  void begin(workload::OperatorIndex op, workload::Phase phase);
  void end();

  // After the forward of each operator, in order: its calls have sequence numbers below `next`.
  void forward_ends(workload::OperatorIndex op, std::uint64_t next);
  // The operator before if the number belongs to none.
  workload::OperatorIndex operator_of(std::uint64_t sequence) const;

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
    workload::OperatorIndex op;
  };

  const env::Clock& clock_;
  std::vector<End> ends_;
  std::vector<OperatorSample> samples_;
  mutable workload::OperatorIndex last_backward_;
};

// Lists every call of the library while it exists, nested ones included.
class CallLister {
 public:
  CallLister();
  ~CallLister();
  CallLister(const CallLister&) = delete;
  CallLister& operator=(const CallLister&) = delete;

  // What is run from now on belongs to this operator, if any; in backward, to the one `recorder` finds.
  void enter(workload::OperatorIndex op, workload::Phase phase);
  void enter_backward(const Recorder& recorder);

  std::vector<LibraryCall> take() { return std::move(calls_); }

 private:
  friend struct ListCallbacks;

  std::uint64_t handle_;
  const Recorder* backward_ = nullptr;
  workload::OperatorIndex op_;
  workload::Phase phase_ = workload::Phase::kForward;
  int depth_ = 0;
  std::vector<LibraryCall> calls_;
};

}  // namespace orrery::profile
