#pragma once
// The number of workers by the step: "2:100,4:200" is two workers for 100 steps, then four for 200 and from then on
// (KungFu's step_based_schedule).
//
// Procedure: at the first step of a phase, and every tenth after it, propose its workers unless there are as many. The
// repetition makes up for workers that died and for wishes that nobody heard.

#include <vector>

#include "elastic/policy/policy.h"

namespace orrery::elastic {

class Schedule : public Policy {
 public:
  struct Phase {
    double workers = 1;
    std::uint64_t steps = 1;
    friend bool operator==(const Phase&, const Phase&) = default;
  };

  // At least one phase.
  explicit Schedule(std::vector<Phase> phases);
  std::string name() const override { return "schedule"; }
  Proposal before_train(const Observation& observation) override { return after_step(observation); }
  Proposal after_step(const Observation& observation) override;

 private:
  std::vector<Phase> phases_;
};

// Refuses what is no such list, and numbers of workers that make no sense.
Result<std::vector<Schedule::Phase>> parse_phases(const std::string& text);

}  // namespace orrery::elastic
