#pragma once
// Simple rules that assign waiting jobs to machines one by one, now and at every later end of a job. They show what a
// plan leads to: a roll-out plays the first decision and then a rule until all jobs have ended.
//
// Procedure, whenever there may be free GPUs
//   1. Waiting jobs in the order of the rule; p is the shortest time left of a job, d its due date, w its weight:
//        kDue     earliest d
//        kWeight  largest w/p
//        kUrgency largest w/p·exp(−max(0, d − p − now) / 2p̄), p̄ the mean p of the waiting jobs
//        kListed  smallest key of a list that is given (order_search.h finds good ones)
//      (apparent tardiness cost: Vepsalainen and Morton, Management Science 33(8), 1987)
//   2. Each takes the place with the least
//        w·max(0, now + t − d) + rent + crowding·(Σ w of the other waiting jobs)·g·t / GPUs there can be
//      of free GPUs of open nodes (rent: their share of the price for t) and nodes that may still be opened (rent: the
//      whole price for t). The last term is the longer wait of the others.
//   3. A job that does not continue where it is loses Job::switch_s first. A job without a place waits.
//   4. Running jobs keep their place to the end, unless the rule says `anew`: then all of them wait again whenever one
//      has ended, and every node is closed and opened as needed. A node closes with its last job.
//
// Ties: jobs by index; open nodes before new ones, then nodes and VM types by index, then fewer GPUs. O(ends · jobs ·
// places).

#include <span>

#include "plan/instance.h"
#include "plan/plan.h"

namespace orrery::plan {

enum class DispatchOrder { kDue, kWeight, kUrgency, kListed };

struct DispatchRule {
  DispatchOrder order = DispatchOrder::kUrgency;
  double crowding = 1;
  std::span<const double> keys{};    // of kListed, by job; borrowed
  std::span<const double> modest{};  // factors of crowding, by job; borrowed; all 1 if empty
  bool anew = false;
};

// The rules that need no list.
std::span<const DispatchRule> dispatch_rules();

// An instance with the times of its jobs looked up, for many roll-outs. The instance is borrowed.
class Outlook {
 public:
  Outlook(const Instance& instance);  // NOLINT(google-explicit-constructor): an instance is an outlook, only slower

  const Instance& instance() const { return instance_; }
  // Infinite if the job cannot run there. Precondition: the type has that many GPUs.
  double time_s(std::size_t job, std::size_t vm, int gpus) const {
    return times_s_[job * slots_ + first_[vm] + static_cast<std::size_t>(gpus) - 1];
  }
  double shortest_s(std::size_t job) const { return shortest_s_[job]; }
  double gpus_max() const { return gpus_max_; }  // that can be open at once

 private:
  const Instance& instance_;
  std::size_t slots_ = 0;
  double gpus_max_ = 1;
  std::vector<std::size_t> first_;  // by VM type
  std::vector<double> times_s_;
  std::vector<double> shortest_s_;
};

// `kept` and the jobs that the rule starts now. Precondition: `kept` keeps the limits of the instance.
Plan dispatch_plan(const Outlook& outlook, const Plan& kept, const DispatchRule& rule);

// What a decision leads to.
struct Forecast {
  double rental_usd = 0;  // of nodes from now until their last job ends
  double tardiness_usd = 0;
  double flow_usd = 0;  // Σ w·(end − now): breaks ties between plans that cost the same
  double end_s = 0;     // of the last job

  double total_usd() const { return rental_usd + tardiness_usd; }
  // The total, and a thousandth of the flow: a job that can run at no cost should, since more jobs may come.
  double score() const { return total_usd() + 1e-3 * flow_usd; }
};

// The plan now and the rule later, until the last job has ended.
Forecast forecast(const Outlook& outlook, const Plan& first, const DispatchRule& rule);
// The one of several rules with the least score.
Forecast best_forecast(const Outlook& outlook, const Plan& first, std::span<const DispatchRule> rules);

// `kept`, the jobs that the rule starts now, and what that leads to; `order`: jobs in the order of their starts.
struct Dispatched {
  Plan plan;
  Forecast forecast;
  std::vector<std::size_t> order;
};
Dispatched dispatch(const Outlook& outlook, const Plan& kept, const DispatchRule& rule);

}  // namespace orrery::plan
