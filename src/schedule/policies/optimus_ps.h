#pragma once
// Optimus (EuroSys'18) for jobs with parameter servers and workers: how many of each every job gets.
//
// Assumes: the speed model of each job (steps/s with p servers and w workers) and its steps left are known; tasks of a
// job have fixed demands.
// 1. In order of arrival, every job gets one parameter server and one worker while they fit.
// 2. Gain of one more server: (Q/f(p,w) - Q/f(p+1,w)) / D, of one more worker likewise, where D is the task's share of
//    the cluster of its dominant resource. The job's gain is the larger of the two; on ties the server.
// 3. The job with the largest gain gets what it wants. Stop when no gain is positive, or when the largest one does not
//    fit any more (others are not tried).
// Ties: earlier job.
//
// What a job is granted one after the other does not depend on other jobs, and it is granted when the smallest of its
// gains so far comes up. So the result is, for every job, a beginning of its own chain of grants down to one threshold.
// When one job changes, its chain is made anew and the threshold moves a little: OptimusAllocator::change() gives
// exactly what allocating from scratch gives, in O(changed grants x log jobs). Source: Peng et al., "Optimus" (EuroSys
// 2018).

#include <array>
#include <set>
#include <vector>

#include "schedule/scaling_model.h"

namespace orrery::schedule {

inline constexpr std::size_t kPsResources = 4;  // CPUs, memory, bandwidth, GPUs; 0: not used
using PsDemand = std::array<double, kPsResources>;

struct PsJob {
  PsSpeed speed;
  double steps_left = 0;
  PsDemand server{}, worker{};
  int tasks_max = 1 << 20;  // of each kind
  double factor = 1;        // on gains; 0.95 for young jobs, whose predictions are uncertain
};

struct PsTasks {
  int servers = 0;
  int workers = 0;
  friend bool operator==(const PsTasks&, const PsTasks&) = default;
};

class OptimusAllocator {
 public:
  OptimusAllocator(std::vector<PsJob> jobs, const PsDemand& capacity);

  // From scratch.
  void allocate();
  // Job `index` is another one now (no steps left: it has ended). Jobs whose tasks changed are appended to `changed`.
  void change(std::size_t index, const PsJob& job, std::vector<std::size_t>& changed);

  const std::vector<PsTasks>& tasks() const { return tasks_; }
  const std::vector<PsJob>& jobs() const { return jobs_; }

 private:
  struct Grant {
    double key = 0;  // smallest gain so far on the chain
    bool server = false;
  };
  struct Place {
    double key = 0;
    std::size_t job = 0;
    // The first to be granted first.
    friend bool operator<(const Place& a, const Place& b) { return a.key != b.key ? a.key > b.key : a.job < b.job; }
  };
  Grant next_grant(std::size_t job) const;
  double dominant_share(const PsDemand& demand) const;
  bool fits(const PsDemand& demand) const;
  void use(const PsDemand& demand, double sign);
  void offer(std::size_t job);
  void withdraw(std::size_t job);
  void grant(std::size_t job);
  void take_back(std::size_t job);
  void grant_while_fits(std::vector<std::size_t>* changed);
  const PsDemand& demand_of(std::size_t job, const Grant& what) const;

  std::vector<PsJob> jobs_;
  PsDemand capacity_;
  PsDemand used_{};
  std::vector<PsTasks> tasks_;
  std::vector<std::vector<Grant>> chains_;  // granted, by job
  std::vector<Grant> offered_;              // by job; key <= 0: nothing
  std::set<Place> next_;                    // offers
  std::set<Place> last_;                    // the last grant of every job
};

}  // namespace orrery::schedule
