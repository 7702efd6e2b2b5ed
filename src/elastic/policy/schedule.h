#pragma once
// The number of workers by the step: "2:100,4:200" is two workers for 100 steps, then four for 200 and from then on
// (KungFu's step_based_schedule). Or by the time, for machines whose availability is known: two for 100 seconds.
//
// Procedure: at the first step of a phase, and every tenth after it, propose its workers unless there are as many. The
// repetition replaces workers that died and requests that were lost. By time it proposes every tenth step.

#include <vector>

#include "elastic/policy/policy.h"

namespace orrery::elastic {

class Schedule : public Policy {
 public:
  struct Phase {
    double workers = 1;
    std::uint64_t length = 1;  // steps, or seconds
    friend bool operator==(const Phase&, const Phase&) = default;
  };

  enum class By { kStep, kSecond };
  // At least one phase.
  explicit Schedule(std::vector<Phase> phases, By by = By::kStep);
  std::string name() const override { return by_ == By::kStep ? "schedule" : "timetable"; }
  Proposal before_train(const Observation& observation) override { return after_step(observation); }
  Proposal after_step(const Observation& observation) override;

 private:
  std::vector<Phase> phases_;
  By by_;
};

// Rejects text that is not such a list, and numbers of workers that make no sense.
Result<std::vector<Schedule::Phase>> parse_phases(const std::string& text);

}  // namespace orrery::elastic
