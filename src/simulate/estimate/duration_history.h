#pragma once
// How long jobs like this one ran: what can be said of a job whose run time nobody knows.
//
// Alike are jobs of one tenant that ask for as many GPUs; where fewer than kAlikeMin of them are known, jobs with as
// many GPUs; then all jobs. Of each kind the last kKept are remembered, in the order of their ends.
//
// - Jobs that still run are known to run longer than they have. Without them only the short ones of the last days would
//   be known; they count as censored (E. Kaplan and P. Meier, 1958). Beyond the longest that has ended, a run time of T
//   is survived with a probability in proportion to 1 / T.
// - Jobs of one time are alike: somebody tries things, somebody trains for days. So what is known is also cut into
//   stretches of time, and whoever draws run times for many jobs draws them from one stretch.

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "schedule/cluster_view.h"

namespace orrery::simulate {

// Run times in seconds, each list sorted and of equally likely ones.
struct RunTimes {
  std::vector<double> all;
  std::vector<std::vector<double>> stretches;  // at least one
  double mean_s = 0;                           // of those that have ended
};

// The same time, whatever happens.
std::shared_ptr<const RunTimes> certain_run_time(double duration_s);

class DurationHistory {
 public:
  static constexpr std::size_t kAlikeMin = 20, kKept = 1000, kStretches = 10;

  void add(const schedule::JobFacts& job, double duration_s);
  // It has run for so long and goes on.
  void add_running(const schedule::JobFacts& job, double elapsed_s);
  bool empty() const { return all_.ended.empty(); }

  // Precondition: not empty.
  std::shared_ptr<const RunTimes> alike(const schedule::JobFacts& job) const;

 private:
  struct Kind {
    std::deque<double> ended;
    double ended_ever = 0;  // those that were forgotten included
    std::vector<double> running;
    mutable std::shared_ptr<const RunTimes> times;  // of the above, made when asked for
  };
  template <class Change>
  void change(const schedule::JobFacts& job, Change change);
  static std::shared_ptr<const RunTimes> times_of(const Kind& kind);

  std::map<std::pair<std::int32_t, std::int32_t>, Kind> by_tenant_and_gpus_;
  std::map<std::int32_t, Kind> by_gpus_;
  Kind all_;
};

// Equally likely run times by Kaplan and Meier: `running` ones count `weight` each, ended ones 1. Precondition: one has
// ended.
std::vector<double> likely_times(std::vector<double> ended, std::span<const double> running, double weight);

// A duration above `elapsed_s` from sorted durations, at the share `u` (in [0, 1)) of those that are; interpolated.
// Where none is, it goes on: for T / elapsed = 1 / (1 - u).
double longer_than(std::span<const double> sorted, double elapsed_s, double u);

}  // namespace orrery::simulate
