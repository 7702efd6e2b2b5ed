#pragma once
// How a training adapts while it runs: a policy receives an observation and proposes changes. Proposals take effect
// between two steps, on all workers or on none (proposal.h, apply.h).
//
// A policy keeps no state that another worker could not know: a joining worker has a newly made policy. So it decides
// by the observation alone, which is the same on all workers.
//
//   class Doubling : public Policy {
//     std::string name() const override { return "doubling"; }
//     Proposal after_epoch(const Observation& o) override { return {{{kBatchValue, 2 * o.batch}}}; }
//   };

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "elastic/monitor/step_time.h"
#include "elastic/monitor/step_time_fit.h"
#include "elastic/policy/proposal.h"

namespace orrery::elastic {

struct Observation {
  std::uint64_t step = 0;   // committed
  std::uint64_t epoch = 0;  // complete ones over the data
  double workers = 1;
  double batch = 1, first_batch = 1;  // samples per step: now, and as the program gave it
  double learning_rate_scale = 1;     // now
  // No value while they are not known.
  std::optional<double> gradient_square{}, noise{};  // |G|² and S of monitor/noise_scale.h
  StepTime time{};                                   // of the last step, here
  double elapsed_s = 0;                              // since the training began
  std::string strategy = kSynchronousStrategy;       // now
  std::vector<std::string> strategies{};             // strategies the program offers; empty: synchronous steps only
  // No value while they are not known.
  std::optional<double> straggler_index{};  // over recent steps: the slowest worker's time over the median
  bool is_uneven = false;                   // parts of workers follow their speed
  std::optional<double> interference{};     // time of exchanges over their time when nothing disturbed them
  std::optional<double> slowdown{};         // how much longer steps take because of that
  std::optional<double> exchange_s{};       // time of exchanges, over recent steps
  double topology = 0;                      // how often it was measured again
  std::uint64_t topology_age = 0;           // steps since then
  StepTimeFit step_time{};                  // predicts steps of other sizes

  std::optional<double> noise_scale() const;
};

// An epoch is one pass over the data.
enum class Moment { kBeforeTrain, kBeforeEpoch, kBeforeStep, kAfterStep, kAfterEpoch, kAfterTrain };

class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string name() const = 0;

  virtual Proposal before_train(const Observation&) { return {}; }
  virtual Proposal before_epoch(const Observation&) { return {}; }
  virtual Proposal before_step(const Observation&) { return {}; }
  virtual Proposal after_step(const Observation&) { return {}; }
  virtual Proposal after_epoch(const Observation&) { return {}; }
  virtual Proposal after_train(const Observation&) { return {}; }
};

// What a policy proposes at a moment. If it throws, the exception is returned as an error.
Result<Proposal> ask(Policy& policy, Moment moment, const Observation& observation);

// Several policies as one. The error of one policy is reported and does not affect the others; a policy that has thrown
// is not asked again.
class PolicySet {
 public:
  explicit PolicySet(std::vector<std::unique_ptr<Policy>> policies) : policies_(std::move(policies)) {}
  Agreement ask(Moment moment, const Observation& observation);
  std::size_t size() const { return policies_.size(); }

 private:
  std::vector<std::unique_ptr<Policy>> policies_;
};

}  // namespace orrery::elastic
