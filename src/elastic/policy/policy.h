#pragma once
// How a training adapts while it runs: a policy is told what happened and says what it wants changed. What it wants
// takes effect between two steps, on all workers or on none (proposal.h, apply.h).
//
// A policy keeps nothing that another worker could not know: workers that join have a policy that has just been made.
// So it decides by the observation alone, which is the same on all workers.
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
  // Nothing as long as they are not known.
  std::optional<double> gradient_square{}, noise{};  // |G|² and S of monitor/noise_scale.h
  StepTime time{};                                   // of the last step, here
  double elapsed_s = 0;                              // since the training began
  std::string strategy = kSynchronousStrategy;       // now
  std::vector<std::string> strategies{};             // that the program can; empty: synchronous steps only
  // Nothing as long as they are not known.
  std::optional<double> straggler_index{};  // over recent steps: how much longer the slowest takes than the median
  bool is_uneven = false;                   // parts of workers follow their speed
  std::optional<double> interference{};     // how much longer exchanges take than when nothing disturbed them
  std::optional<double> slowdown{};         // how much longer steps take because of that
  std::optional<double> exchange_s{};       // what exchanges take, over recent steps
  double topology = 0;                      // how often it was measured anew
  std::uint64_t topology_age = 0;           // steps since then
  StepTimeFit step_time{};                  // what steps of other sizes would take

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

// What a policy says at a moment. One that throws is handed back as an error.
Result<Proposal> ask(Policy& policy, Moment moment, const Observation& observation);

// Several policies as one. What one of them does wrong is reported and is no matter of the others; one that has thrown
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
