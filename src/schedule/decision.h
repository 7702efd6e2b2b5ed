#pragma once
// An action that a policy asks for, and its reason.

#include <string>
#include <string_view>

#include "schedule/allocation.h"
#include "schedule/job_time.h"

namespace orrery::schedule {

enum class Action : std::uint8_t {
  kStart,       // a waiting or suspended job takes GPUs
  kSuspend,     // a running job releases its GPUs and keeps its work
  kMigrate,     // a running job moves to as many GPUs elsewhere
  kResize,      // a running job continues with another number of GPUs
  kPack,        // a job shares the GPUs of another
  kUnpack,      // a packed job leaves the GPUs it shares
  kInterleave,  // a job shares the GPUs of others, their stages take turns
  kStop,        // a job ends without having finished
  kSetBatch,    // a running job continues with another batch
  kEvict,       // a running job lost its GPUs with a machine; in logs only, no policy decides it
};

std::string_view to_string(Action action);

// Whether the job takes the GPUs of another.
constexpr bool shares(Action action) {
  return action == Action::kPack || action == Action::kInterleave;
}
// Whether the job releases its GPUs, and whether it takes some; resizing and migrating do both.
constexpr bool releases(Action action) {
  return action != Action::kStart && !shares(action) && action != Action::kSetBatch;
}
constexpr bool takes(Action action) {
  return action == Action::kStart || action == Action::kMigrate || action == Action::kResize || shares(action);
}
constexpr bool takes_only(Action action) {
  return takes(action) && !releases(action);
}

// The reason, as a kind and up to two numbers: cheap to make a million times a second, text only on request.
enum class Why : std::uint8_t {
  kNextInOrder,        // a: place in the order's key, seconds
  kFitsBeside,         // earlier jobs wait for more GPUs than are free; a: GPUs free
  kOvertaken,          // a job before it in the order needs the GPUs
  kQueue,              // a: queue of attained service
  kServedLeast,        // a: dominant share
  kAligned,            // a: alignment score
  kMarginalGain,       // a: gain in seconds per unit of the dominant resource, b: GPUs before
  kServersAndWorkers,  // a: servers, b: workers, by marginal gain
  kFewerServers,       // a: servers before, b: after
  kTimeSlice,          // a: seconds it has run in this turn
  kPackedRates,        // a + b: rates of the two, of running alone
  kPackedTooSlow,      // the same
  kIdleGpus,           // a: idle GPUs on its server
  kMatched,            // a: position from the end of its machine's queue, b: its runtime there
  kDeadlineFirst,      // a: seconds to spare
  kMachineFailed,      // a: machine that failed or was taken back, b: seconds of work that are lost
  kTooLarge,           // a: GPUs asked for, b: GPUs there are
  kNotFaster,          // a: rate before it grew, b: after
  kFastestType,        // a: its speed there
  kStraggler,          // a: speed of its slowest worker, of the median one
  kAged,               // a: seconds it has waited
  kLargerBatch,        // a: batch, of the one it was submitted with, b: what it gains
  kClassesFit,         // a, b: classes of the two that share GPUs
  kSpeedup,            // a: GPUs, b: speedup over one, less what a restart takes
  kEqualShare,         // a: GPUs of every job that can use as many
  kMinimumShare,       // a: GPUs with which it ends in time, b: seconds until its deadline
  kBestEffort,         // no share lets it end in time, or it has no deadline
  kLeftOver,           // a: GPUs, with those that no other job needs
  kConfiguration,      // a: GPUs, b: speed there, of its slowest configuration, restart included
  kFlow,               // a: seconds it still needs on one GPU, b: GPUs it gets
  kShareDue,           // a: its share of time on the type, b: share / time received
  kShareUsed,          // others have had less of their share
  kInterleaved,        // a: jobs on the same GPUs, b: share of time for which their resources are in use
  kStartFailed,        // a: failures in a row
  kMoveFailed,         // the same
  kGivenUp,            // the same
  kCheapestPlan,       // a: dollars per hour of the machine, b: what all jobs will cost from now on
};

struct Reason {
  Why why = Why::kNextInOrder;
  double a = 0;
  double b = 0;
};

std::string to_string(const Reason& reason);

struct Decision {
  Action action = Action::kStart;
  JobIndex job = kNoJob;
  JobIndex other = kNoJob;  // of kPack and kInterleave: the job whose GPUs it shares
  float batch_factor = 1;   // of kSetBatch: the batch, of the one it was submitted with
  Allocation allocation{};  // of kStart, kMigrate, kResize
  Reason reason{};
};

}  // namespace orrery::schedule
