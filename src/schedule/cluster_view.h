#pragma once
// What a policy sees: machines with their free GPUs, and jobs with their progress. Times are those of the view, never
// of a clock, so a policy cannot tell a simulated cluster from a real one.
//
// The code that carries out decisions keeps a ClusterLedger (cluster_ledger.h), which is a ClusterView that can change.

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "schedule/allocation.h"
#include "schedule/job_table.h"
#include "schedule/stage_times.h"

namespace orrery::schedule {

enum class JobState : std::uint8_t { kUnknown, kWaiting, kRunning, kSuspended, kEnded };

// Work of which nothing is known: 73 years, longer than any that is. Orders by work have such jobs behind all others, and
// among them the one first that has done most.
inline constexpr TimeNs kUnknownWork = TimeNs{1} << 61;

// A job as policies see it. `work` is time on the GPUs asked for: a job with work of one hour runs one hour on them.
struct JobFacts {
  TimeNs submit_ns = 0;
  TimeNs work_ns = 0;            // predicted, which may be wrong; may be kUnknownWork
  TimeNs deadline_ns = kNever;   // by which it should have ended
  std::int32_t gpus = 1;         // asked for; a gang: all or none
  std::int32_t gpus_max = 0;     // more than `gpus`: elastic up to this many
  std::int32_t speed_class = 0;  // on which types of devices it runs how fast: ClusterView::speed_on
  std::int32_t tenant = 0;
  double priority = 0;          // higher goes first
  double gpu_utilisation = 1;   // share of a GPU it keeps busy when alone
  double gpu_memory_share = 1;  // of one GPU's memory
  double cpus = 0, memory = 0;  // of a machine, in its units; 0: not said
  SharedStages stages{};
};

struct JobProgress {
  JobState state = JobState::kUnknown;
  bool is_guest = false;      // not the first of the jobs that share GPUs; its GPUs are counted with the first
  bool is_withheld = false;   // runs on withheld GPUs, which MachineView does not count
  bool interleaves = false;   // the stages of those that share GPUs take turns (interleaving.h)
  bool is_starting = false;   // has its GPUs in the view, and has not begun to work on them
  JobIndex partner = kNoJob;  // the next of the jobs that share its GPUs, around a ring; of two jobs the other
  Allocation allocation{};
  double rate = 0;         // work per time while it runs
  TimeNs since_ns = 0;     // when the values below were true; later than now while it is starting
  TimeNs started_ns = 0;   // when it got the GPUs it holds
  TimeNs resumes_ns = 0;   // no work is done before: it restarts or is moved. Expected while it is starting
  TimeNs executed_ns = 0;  // time on GPUs
  TimeNs done_ns = 0;      // work
  TimeNs first_start_ns = kNever;
  std::int32_t starts = 0;
  float slowest_worker = 1;  // speed of its slowest worker, of the median one
  float batch_factor = 1;    // its batch, of the one it was submitted with

  TimeNs executed_ns_at(TimeNs now) const {
    return state == JobState::kRunning ? executed_ns + std::max<TimeNs>(0, now - since_ns) : executed_ns;
  }
  TimeNs done_ns_at(TimeNs now) const {
    if (state != JobState::kRunning) return done_ns;
    const TimeNs worked = std::max<TimeNs>(0, now - std::max(since_ns, resumes_ns));
    // The rate of most jobs is exactly 1; then no rounding is involved.
    return done_ns + (rate == 1 ? worked : static_cast<TimeNs>(static_cast<double>(worked) * rate));
  }
};

struct MachineView {
  std::int32_t gpus = 0;
  std::int32_t free = 0;  // GPUs that no job holds; packed jobs count once
  // Parameter servers it has processors for: as many as GPUs.
  std::int32_t servers = 0, servers_free = 0;
  std::int32_t device = 0;  // type
  std::int32_t rack = 0;
  double cpus = 0, memory = 0;  // 0: not known
  double cpus_free = 0, memory_free = 0;
  bool up = true;
};

using Machines = IndexedVector<MachineIndex, MachineView>;

// Which machines have another number of free GPUs than before, so that a copy of a large cluster can be updated without
// copying all of it. For small clusters nothing is kept.
class MachineChanges {
 public:
  // Up to this many machines a copy costs less than keeping the list.
  static constexpr std::size_t kMachinesMin = 256;

  void add(MachineIndex machine, std::size_t machines) {
    if (machines < kMachinesMin) return;
    // A list as long as the cluster is no better than a copy.
    if (changed_.size() >= machines || list_ == nullptr) restart();
    changed_.push_back(machine);
  }
  // The present position in the list. Another list, or none, means that everything may have changed.
  const std::shared_ptr<const int>& list() const { return list_; }
  std::span<const MachineIndex> changed() const { return changed_; }

 private:
  void restart() {
    changed_.clear();
    list_ = std::make_shared<const int>(0);
  }
  std::vector<MachineIndex> changed_;
  std::shared_ptr<const int> list_;  // identifies the list by its address, which is unique while a copy holds it
};

class ClusterView {
 public:
  TimeNs now() const { return now_; }
  int gpus() const { return gpus_; }
  int free_gpus() const { return free_; }
  const Machines& machines() const { return machines_; }
  const MachineChanges& changes() const { return changes_; }
  // Submitted so far, forgotten ones included: the number of the next.
  std::size_t jobs() const { return facts_.end().place(); }
  // Those that are not forgotten, by number. A forgotten job reads as one that has ended.
  std::vector<JobIndex> known_jobs() const;
  // Makes room for the jobs in a table of a policy.
  template <class T>
  void cover(JobTable<T>& table) const {
    table.cover(facts_.first(), facts_.end());
  }
  const JobFacts& facts(JobIndex job) const { return facts_[job]; }
  const JobProgress& progress(JobIndex job) const { return progress_[job]; }

  bool is_running(JobIndex job) const { return progress(job).state == JobState::kRunning; }
  // A running job that must not be suspended yet, because it has not had its minimum run time.
  bool is_protected(JobIndex job) const { return min_run_ns_ > 0 && is_running(job) && now_ < protected_until(job); }
  TimeNs protected_until(JobIndex job) const { return progress(job).started_ns + min_run_ns_; }
  TimeNs min_run_ns() const { return min_run_ns_; }

  // Whether jobs are faster on some types of devices than on others; if not, policies may ignore types.
  bool is_typed() const { return !speeds_.empty(); }
  // How fast a job is on a type: 1 where its work is measured, 0 where it cannot run.
  double speed_on(JobIndex job, std::int32_t device) const { return is_typed() ? typed_speed_on(job, device) : 1; }
  // The types it runs on, the fastest first; of equal ones the lower number.
  std::vector<std::int32_t> types_of(JobIndex job) const;
  // Jobs with the same number run on the same types, at whatever speeds.
  std::int32_t fit_class(JobIndex job) const {
    return is_typed() ? fit_classes_[static_cast<std::size_t>(facts(job).speed_class)] : 0;
  }
  // Of a running job.
  std::int32_t type_under(JobIndex job) const {
    return is_typed() ? machines_[progress(job).allocation.front().machine].device : 0;
  }
  // Types of devices that machines have: 0 to this, exclusive.
  std::int32_t types() const { return types_; }
  // The job and those that share its GPUs, in the order of the ring.
  std::vector<JobIndex> group_of(JobIndex job) const;
  // Time on GPUs until now.
  TimeNs executed_ns(JobIndex job) const { return progress(job).executed_ns_at(now_); }
  // Work done until now, and work predicted to be left; the latter is negative for a job that was underestimated.
  TimeNs done_ns(JobIndex job) const { return progress(job).done_ns_at(now_); }
  TimeNs left_ns(JobIndex job) const { return facts(job).work_ns - done_ns(job); }
  bool knows_work(JobIndex job) const { return facts(job).work_ns != kUnknownWork; }
  // The same where work is added up or weighed: a job of unknown work is taken to have as much left as it has done, and
  // at least an hour.
  TimeNs expected_left_ns(JobIndex job) const {
    constexpr TimeNs kLeast = 3600 * kSecondNs;
    const TimeNs work = facts(job).work_ns, done = done_ns(job);
    return work != kUnknownWork ? work - done : std::max(kLeast, done);
  }

 private:
  double typed_speed_on(JobIndex job, std::int32_t device) const;

 protected:
  TimeNs now_ = 0;
  TimeNs min_run_ns_ = 0;
  std::int32_t types_ = 1;
  std::vector<std::vector<double>> speeds_;  // by class and type; empty: 1 everywhere
  std::vector<std::int32_t> fit_classes_;    // by class: the first class with the same types
  int gpus_ = 0;
  int free_ = 0;
  Machines machines_;
  MachineChanges changes_;
  JobTable<JobFacts> facts_;
  JobTable<JobProgress> progress_{JobProgress{.state = JobState::kEnded}};
};

}  // namespace orrery::schedule
