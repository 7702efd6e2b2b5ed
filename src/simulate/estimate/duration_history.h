#pragma once
// How long jobs like this one ran: an estimate for a job whose run time is not known.
//
// Alike are jobs of one tenant that ask for the same: as many GPUs and as much of each, as many processors, as much
// memory. Where fewer than kAlikeMin of them are known, jobs of one tenant with as many GPUs; then jobs with as many
// GPUs; then all jobs. Of each kind the last kKept are remembered, in the order of their ends.
//
// - Jobs that still run are known to run longer than they have. Without them only the short ones of the last days would
//   be known; they count as censored (E. Kaplan and P. Meier, 1958). Beyond the longest that is known, a run time of T
//   is survived with a probability in proportion to 1 / T.
// - Jobs of one time are alike: some users try things, others train for days. So what is known is also cut into periods
//   by when jobs were submitted, and run times for many jobs are drawn from one period. A job that has run for months
//   shows how long jobs of its time run, not those of yesterday. Beyond the longest of a
//   period, run times are as likely as over all of them.

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
  std::vector<std::vector<double>> periods;  // at least one
  double mean_s = 0;                         // of those that have ended
};

// The same time, whatever happens.
std::shared_ptr<const RunTimes> certain_run_time(double duration_s);

class DurationHistory {
 public:
  static constexpr std::size_t kAlikeMin = 20, kKept = 1000, kPeriods = 10;

  void add(const schedule::JobFacts& job, double duration_s);
  // It has run for this long and continues.
  void add_running(const schedule::JobFacts& job, double elapsed_s);
  bool empty() const { return kinds_.find(Likeness{}) == kinds_.end() || kinds_.at({}).ended.empty(); }

  // Precondition: not empty.
  std::shared_ptr<const RunTimes> alike(const schedule::JobFacts& job) const;
  // The mean over ended jobs of the tenant with as many GPUs, or over the next kind that is known well enough.
  double mean_s(const schedule::JobFacts& job) const;

 private:
  // What jobs have in common; -1 where they need not.
  struct Likeness {
    std::int32_t tenant = -1, gpus = -1;
    double cpus = -1, memory = -1, gpu_share = -1;
    auto operator<=>(const Likeness&) const = default;
  };
  struct Past {
    schedule::TimeNs submit_ns = 0;
    double time_s = 0;  // it ran, or has run so far
    bool runs = false;
  };
  struct Kind {
    std::deque<Past> ended;
    bool has_forgotten = false;
    std::vector<Past> running;
    mutable std::shared_ptr<const RunTimes> times;  // of the above, made on request
  };
  // The closest first, all jobs last.
  static std::vector<Likeness> likenesses(const schedule::JobFacts& job);
  template <class Change>
  void change(const schedule::JobFacts& job, Change change);
  const Kind& closest(const schedule::JobFacts& job, std::size_t level) const;
  static std::vector<Past> remembered(const Kind& kind);
  static std::vector<double> likely_of(std::span<const Past> past, std::span<const double> beyond);
  static std::shared_ptr<const RunTimes> times_of(const Kind& kind);

  std::map<Likeness, Kind> kinds_;
};

// Equally likely run times by Kaplan and Meier. Beyond the longest they are those of `beyond` (sorted) that are longer,
// or, without it, survived in proportion to 1 / T. Precondition: one has ended.
std::vector<double> likely_times(std::vector<double> ended, std::vector<double> running,
                                 std::span<const double> beyond);

// A duration above `elapsed_s` from sorted durations, at the share `u` (in [0, 1)) of those above; interpolated. Where
// none is above, it is extrapolated: T / elapsed = 1 / (1 - u).
double longer_than(std::span<const double> sorted, double elapsed_s, double u);

}  // namespace orrery::simulate
