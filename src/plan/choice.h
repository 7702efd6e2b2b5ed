#pragma once
// One job, many offers: every configuration of machines for it, its time and cost, which one is best, and why the
// others are not.
//
// A configuration is an offer, a number of its machines, a batch, and whether they are rented on demand or as spot
// machines (spot.h). All configurations do the same work, the same number of samples. Configurations on the same
// devices and number take the same time; each such group is predicted once, unless it cannot win: n devices are at most
// n times as fast as one, so what one device takes, divided by n, bounds the group's time and cost from below
// (kScalingSlack allows for predictors that disagree with themselves). A group whose bound another configuration beats,
// or that misses a limit, is not predicted.
//
// Intervals are read as log-normal: with [low, high] the 80 % interval of a time t,
//
//   P(time ≤ D) = Φ(1.2816·ln(D/t) / ln(high/t))  for D ≥ t,  Φ(1.2816·ln(D/t) / ln(t/low))  below,
//
// and a configuration meets a deadline or budget if it does so with the required certainty. O(n log n) beside the
// predictions.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "hardware/offer.h"
#include "hardware/placement.h"
#include "plan/spot.h"
#include "predict/predictor.h"
#include "predict/run_spec.h"
#include "workload/training_run.h"

namespace orrery::plan {

enum class Verdict {
  kChosen,
  kOnFront,         // nothing else is both faster and cheaper
  kBeaten,          // something that meets the limits is as fast and as cheap
  kSameForLess,     // the same devices and number cost less elsewhere
  kDoesNotFit,      // into the memory of the device
  kMissesDeadline,  //
  kAboveBudget,
  kNeverEnds,    // interrupted too often
  kWithoutWork,  // some devices would have no sample to train on
};
inline constexpr std::size_t kVerdicts = 9;
std::string_view to_string(Verdict verdict);

struct Choice {
  const hardware::Offer* offer = nullptr;
  int machines = 1;
  std::int64_t batch = 1;  // samples per step of one replica
  bool is_spot = false;
  const predict::Prediction* prediction = nullptr;
  DollarsPerHour price{};             // of all machines
  predict::Estimate<Seconds> time{};  // until the end, interruptions included
  predict::Estimate<Dollars> cost{};  // price · time
  double interruptions = 0;           // expected
  Seconds lost{};                     // expected: saving, restarting, work done again
  bool without_work = false;          // one replica fewer would take as few steps: a single one
  bool is_bound = false;              // time and cost are the least they could be; `prediction` is that of one device
  Verdict verdict = Verdict::kBeaten;
  const Choice* better = nullptr;  // of kBeaten and kSameForLess

  int devices() const { return machines * offer->device_count; }
  bool on_front() const { return verdict == Verdict::kOnFront || verdict == Verdict::kChosen; }
  std::string label() const;  // "2 × aws p3.2xlarge"
  std::string place() const;  // with the region
};

struct Limits {
  std::optional<Seconds> deadline{};
  std::optional<Dollars> budget{};
  double certainty = 0.5;  // above 0, below 1
};

// P(value ≤ limit).
double chance_within(const predict::Estimate<double>& value, double limit);

// What is offered, and how often which reason kept an offer from being a choice.
struct LeftOut {
  std::size_t unknown_device = 0;
  std::size_t slice = 0;
  std::size_t odd_price = 0;
  std::size_t no_spot = 0;
  std::size_t device_count = 0;  // too many, or the job cannot be spread over them
  std::size_t other_device = 0;  // than those asked for

  std::size_t total() const { return unknown_device + slice + odd_price + no_spot + device_count + other_device; }
  std::string text() const;
};

struct ChoiceSpace {
  std::vector<int> machines = {1};
  std::vector<std::int64_t> batches{};               // of the whole job; empty: those of one replica
  std::vector<std::int64_t> replica_batches = {32};  // of one replica
  std::optional<int> replicas{};                     // nothing: as many as the devices allow
  std::vector<std::string> devices{};                // their names; empty: any
  std::string network{};                             // between machines; empty: the usual one
  bool on_demand = true;
  bool spot = false;
  SpotRules rules{};
};

// A bound is this much below the time of one device, divided by their number.
inline constexpr double kScalingSlack = 0.8;

// Every configuration for a run.
class Choices {
 public:
  // All are borrowed, and so are the offers that are added. `spec` says on how many samples to train.
  Choices(const workload::TrainingGraph& graph, const predict::RunSpec& spec, const ChoiceSpace& space,
          const predict::Predictor& predictor);

  // Offers that cannot be used are counted; nothing is predicted yet.
  void add(std::span<const hardware::Offer> offers);

  // Predicts, sorts the configurations by time and cost and states the verdict on each; none is kChosen yet.
  // `thorough`: every group is predicted. The error is that of the predictor.
  Status judge(const Limits& limits, bool thorough);

  std::vector<Choice>& all() { return choices_; }
  const std::vector<Choice>& all() const { return choices_; }
  const LeftOut& left_out() const { return left_out_; }
  std::size_t configurations() const { return configurations_; }
  std::size_t predictions() const { return predictions_.size(); }

 private:
  struct Group {
    int devices_per_machine = 1;
    int machines = 1;
    std::int64_t batch = 1;
    std::string device{};
    std::vector<const hardware::Offer*> offers{};
  };
  using Key = std::tuple<std::string, int, int, std::int64_t>;  // device, devices per machine, machines, batch

  // Batches of one replica on this many devices; none if the job cannot be spread over them.
  std::vector<std::int64_t> batches_on(std::int64_t devices) const;
  bool possible(const hardware::Offer& offer, int machines);
  void add(const hardware::Offer& offer, int machines);
  // The configurations of a group, if it takes as long as predicted, or at least `share` of it.
  std::vector<Choice> configurations_of(const Group& group, const predict::Prediction& prediction, double share) const;
  void price(Choice& choice, double share) const;
  Result<const predict::Prediction*> predict(const Group& group, int machines);
  Result<const workload::TrainingGraph*> graph_at(std::int64_t batch);
  Status predict_all();
  Status predict_promising(const Limits& limits);
  void mark(const Limits& limits);

  const workload::TrainingGraph& graph_;
  const predict::RunSpec& spec_;
  const ChoiceSpace& space_;
  const predict::Predictor& predictor_;
  std::map<std::int64_t, workload::TrainingGraph> graphs_;  // by batch
  std::map<Key, Group> groups_;
  std::map<Key, predict::Prediction> predictions_;
  std::size_t configurations_ = 0;
  std::vector<Choice> choices_;
  LeftOut left_out_;
};

// Why a configuration is not the best one, or that it is: "misses the deadline by 2 h 10 min".
std::string reason(const Choice& choice, const Limits& limits);

enum class Goal { kCost, kTime };

// The cheapest or fastest configuration that meets the limits; of equal ones the faster, then the cheaper. It becomes
// kChosen. Precondition: judged. Null if none meets them.
const Choice* choose(std::vector<Choice>& choices, Goal goal);

// When nothing meets the limits: what comes nearest, each configuration once, the reason of each saying what is
// missing. The fastest within the budget (or at all), the cheapest within the deadline (or at all), the one that lacks
// least memory.
std::vector<const Choice*> nearest(const std::vector<Choice>& choices, const Limits& limits);

}  // namespace orrery::plan
