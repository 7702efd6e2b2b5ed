#include "schedule/decision.h"

#include <fmt/format.h>

namespace orrery::schedule {

std::string_view to_string(Action action) {
  switch (action) {
    case Action::kStart:
      return "start";
    case Action::kSuspend:
      return "suspend";
    case Action::kMigrate:
      return "migrate";
    case Action::kResize:
      return "resize";
    case Action::kPack:
      return "pack";
    case Action::kUnpack:
      return "unpack";
    case Action::kInterleave:
      return "interleave";
    case Action::kStop:
      return "stop";
    case Action::kSetBatch:
      return "set batch";
    case Action::kEvict:
      return "evict";
  }
  return "";
}

std::string to_string(const Reason& reason) {
  const double a = reason.a, b = reason.b;
  switch (reason.why) {
    case Why::kNextInOrder:
      return fmt::format("next in order (key {:.6g})", a);
    case Why::kFitsBeside:
      return fmt::format("fits into {:.0f} free GPUs that jobs before it cannot use", a);
    case Why::kOvertaken:
      return "a job before it in the order needs its GPUs";
    case Why::kQueue:
      return fmt::format("in queue {:.0f} of attained service", a);
    case Why::kServedLeast:
      return fmt::format("its tenant has the smallest dominant share ({:.4f})", a);
    case Why::kAligned:
      return fmt::format("best combined score ({:.4g})", a);
    case Why::kMarginalGain:
      return fmt::format("marginal gain of {:.4g} s, from {:.0f} GPUs", a, b);
    case Why::kServersAndWorkers:
      return fmt::format("marginal gains give it {:.0f} servers and {:.0f} workers", a, b);
    case Why::kFewerServers:
      return fmt::format("together on {1:.0f} servers instead of {0:.0f}", a, b);
    case Why::kTimeSlice:
      return fmt::format("its turn ended after {:.0f} s", a);
    case Why::kPackedRates:
      return fmt::format("packed rates {:.2f} + {:.2f} beat time slicing", a, b);
    case Why::kPackedTooSlow:
      return fmt::format("packed rates {:.2f} + {:.2f} are worse than time slicing", a, b);
    case Why::kIdleGpus:
      return fmt::format("{:.0f} idle GPUs on its server", a);
    case Why::kMatched:
      return fmt::format("matched to place {:.0f} from the end, {:.1f} s there", a, b);
    case Why::kDeadlineFirst:
      return fmt::format("deadlines first, {:.1f} s to spare", a);
    case Why::kMachineFailed:
      return fmt::format("machine {:.0f} failed or was taken back", a) +
             (b > 0 ? fmt::format(", {:.6g} s of work are lost", b) : "");
    case Why::kTooLarge:
      return fmt::format("asks for {:.0f} GPUs, the cluster has {:.0f}", a, b);
    case Why::kNotFaster:
      return fmt::format("more GPUs made it no faster: rate {:.2f} before, {:.2f} now", a, b);
    case Why::kFastestType:
      return fmt::format("on the fastest type with enough free GPUs, {:.2f} of its best speed", a);
    case Why::kStraggler:
      return fmt::format("its slowest worker has {:.2f} of the median speed", a);
    case Why::kAged:
      return fmt::format("has waited {:.0f} s and goes before all other jobs", a);
    case Why::kLargerBatch:
      return fmt::format("{:.2f} times its batch, {:.2f} times as fast", a, b);
    case Why::kClassesFit:
      return fmt::format("classes {:.0f} and {:.0f} can share GPUs", a, b);
    case Why::kSpeedup:
      return a > 0 ? fmt::format("with {:.0f} GPUs {:.2f} times as fast as with one, restart included", a, b)
                   : "its GPUs speed up others more";
    case Why::kEqualShare:
      return fmt::format("{:.0f} GPUs are its equal share", a);
    case Why::kMinimumShare:
      return fmt::format("{:.0f} GPUs now let it end in time, {:.0f} s from now", a, b);
    case Why::kBestEffort:
      return "nothing was promised to it: no deadline, or none that can be kept";
    case Why::kLeftOver:
      return fmt::format("{:.0f} GPUs with those that no other job needs", a);
    case Why::kConfiguration:
      return fmt::format("{:.0f} GPUs there make it {:.2f} times as fast as its slowest configuration", a, b);
    case Why::kFlow:
      return fmt::format("{1:.0f} GPUs for one that needs {0:.0f} s on one: the shorter, the more", a, b);
    case Why::kShareDue:
      return a > 0 ? fmt::format("its share of time there is {:.3f}, {:.2f} times what it has had", a, b)
                   : "GPUs are left in which no job has a share";
    case Why::kShareUsed:
      return "others have had less of their share of time";
    case Why::kInterleaved:
      return fmt::format("stages of {:.0f} jobs fit together: resources are in use for {:.0f} % of the time", a,
                         100 * b);
    case Why::kStartFailed:
      return fmt::format("it could not be started ({:.0f} failures in a row)", a);
    case Why::kMoveFailed:
      return fmt::format("it could not be moved ({:.0f} failures in a row)", a);
    case Why::kGivenUp:
      return fmt::format("given up after {:.0f} failures in a row", a);
    case Why::kCheapestPlan:
      return fmt::format("part of the cheapest plan: a machine at ${:.2f} an hour, ${:.2f} for all jobs", a, b);
  }
  return "";
}

}  // namespace orrery::schedule
