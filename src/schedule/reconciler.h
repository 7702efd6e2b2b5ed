#pragma once
// Brings the actual cluster to what the dispatcher wants, by effects that take time, fail, or are never answered.
//
// 1. The desired cluster is the dispatcher's ledger. The actual one is kept here: which GPUs each job really holds.
// 2. Where the two differ for a job, and no effect is under way for it, one is sent: stop, when it shall run no more;
//    start and move, when the GPUs that they take are actually free. A move whose GPUs no leaving job gives back is a
//    stop and a start, so that jobs that change places cannot wait for each other.
// 3. The backend answers every effect once or more with an outcome. After a failed start or move nothing of the job runs:
//    the policy is told that it was evicted. After `failures_max` failures in a row the job ends. A failed stop is sent
//    again after `retry_ns`. Outcomes of effects that are over are ignored.
// 4. An effect without an answer for `answer_timeout_ns` is followed by a stop. A stop without an answer for that long
//    takes the machines of its job out of the view until one is answered, and is sent again. The job does not start
//    anywhere before.
// 5. Jobs on a machine that failed are stopped, because the rest of them may run elsewhere.
//
// What a backend must keep: it carries out the effects on one job in the order of their numbers, and leaves out one that
// is older than the last it carried out. It says that a job has ended before it answers an effect on it that came later.
// When it says that a machine failed, nothing runs there any more.

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "schedule/dispatcher.h"

namespace orrery::schedule {

using EffectNumber = std::int64_t;

struct Effect {
  enum class Kind : std::uint8_t {
    kStart,     // the job starts on `allocation`
    kStop,      // nothing of it runs any more; its work is saved if it can
    kMove,      // a running job continues on `allocation`
    kSetBatch,  // a running job continues with another batch
  };
  EffectNumber number = 0;  // grows
  Kind kind = Kind::kStart;
  JobIndex job = kNoJob;
  Allocation allocation{};
  // Which GPUs of those machines: jobs with the same number share the same ones, others have none in common.
  std::int64_t gpu_set = 0;
  float batch_factor = 1;
};

std::string_view to_string(Effect::Kind kind);

struct ReconcilerOptions {
  TimeNs answer_timeout_ns = 120 * kSecondNs;
  TimeNs retry_ns = kSecondNs;  // before a stop that failed is sent again
  int failures_max = 5;         // 0: any number
};

class Reconciler {
 public:
  // The dispatcher is borrowed, with DispatchOptions::awaits_starts, and no job runs. From here on all its changes are
  // taken by this, and machines and jobs are reported here.
  Reconciler(Dispatcher& dispatcher, const ReconcilerOptions& options = {});

  // What happened, at the dispatcher's time.
  void job_ended(JobIndex job);
  void machine_failed(MachineIndex machine);
  void machine_returned(MachineIndex machine);
  // Dispatcher::forget() as soon as nothing of the job, which has ended, is left anywhere.
  void forget(JobIndex job);
  // What became of an effect. The error says why it failed; empty: it was carried out.
  void answered(EffectNumber number, std::string error);

  // Effects to send now. Called after all of these, and after every step of the dispatcher.
  std::vector<Effect> effects();
  // When effects() must be called though nothing happens.
  TimeNs due_ns() const;

  // GPUs of a machine that no job actually holds; 0 while it is down.
  int actually_free(MachineIndex machine) const;
  // Whether the actual cluster is as desired, and no effect is under way.
  bool is_settled() const { return under_way_.empty() && unsettled_.empty(); }

  // Every GPU is held once at most, and what is held adds up.
  Status check_invariants() const;

 private:
  using HoldNumber = std::int32_t;
  static constexpr HoldNumber kNoHold = -1;

  // GPUs that are in use, by one job or by jobs that share them.
  struct Hold {
    Allocation allocation{};
    int jobs = 0;
    std::int64_t gpu_set = 0;
  };
  struct Actual {
    HoldNumber hold = kNoHold;  // what it runs on; kNoHold: nothing of it runs
    HoldNumber next = kNoHold;  // what a start or move under way takes
    Allocation allocation{};    // that it runs on, and that the effect under way gives it
    Allocation next_allocation{};
    std::int64_t next_gpu_set = 0;  // of a move
    float batch_factor = 1, next_batch_factor = 1;
    bool is_broken = false;   // lost a machine; must be stopped
    int failures = 0;         // in a row
    EffectNumber effect = 0;  // under way; 0: none
    Effect::Kind kind = Effect::Kind::kStart;
    TimeNs sent_ns = 0;
    TimeNs retry_at_ns = 0;                 // no stop is sent before
    TimeNs stops_since_ns = kNever;         // the first stop that was not carried out
    std::vector<MachineIndex> taken_out{};  // machines out of the view because its stop is not answered
  };

  Actual& actual(JobIndex job) { return jobs_[job]; }
  void take_changes();
  void expire();
  bool is_leaving(const Actual& job) const;
  bool is_as_desired(JobIndex job, const Actual& actual) const;
  bool settle(JobIndex job, bool only_stops, std::vector<Effect>& effects);
  void send(JobIndex job, Effect effect, std::vector<Effect>& effects);
  bool start_or_move(JobIndex job, Actual& actual, std::vector<Effect>& effects);
  // A job that shares its GPUs with this one and has them already, or is about to; kNoJob if there is none.
  JobIndex host_of(JobIndex job) const;
  // Whether all jobs of a hold shall share GPUs with this one.
  bool may_join(JobIndex job, HoldNumber hold) const;
  bool has_room(const Allocation& wanted) const;
  bool will_have_room(const Allocation& wanted) const;
  HoldNumber take(Allocation allocation, std::int64_t gpu_set);
  Hold& hold(HoldNumber number) { return holds_[static_cast<std::size_t>(number)]; }
  void release(HoldNumber& hold);
  void stopped(JobIndex job, Actual& actual);
  void failed(JobIndex job, Actual& actual, bool was_move, std::string error);
  void take_out(Actual& actual);
  void put_back(Actual& actual);
  void forget_if_idle(JobIndex job);

  Dispatcher& dispatcher_;
  ReconcilerOptions options_;
  std::map<JobIndex, Actual> jobs_;  // those that hold GPUs, or have an effect under way, or failures
  std::set<JobIndex> unsettled_;     // may differ from what is desired
  std::set<JobIndex> to_forget_;
  std::map<EffectNumber, JobIndex> under_way_;
  std::vector<Hold> holds_;
  std::vector<HoldNumber> unused_;
  IndexedVector<MachineIndex, int> gpus_, free_;
  IndexedVector<MachineIndex, bool> is_down_;     // as the backend says
  IndexedVector<MachineIndex, int> out_of_view_;  // stops without an answer
  EffectNumber last_ = 0;
  std::int64_t gpu_sets_ = 0;
};

}  // namespace orrery::schedule
