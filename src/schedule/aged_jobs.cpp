#include "schedule/aged_jobs.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace orrery::schedule {

AgedJobs::AgedJobs(ClusterLedger& ledger) : ledger_(ledger), placer_(make_consolidated_placer()) {
  gpus_of_type_.resize(static_cast<std::size_t>(ledger.types()));
  for (const MachineView& machine : ledger.machines()) {
    gpus_of_type_[static_cast<std::size_t>(machine.device)] += machine.gpus;
  }
}

void AgedJobs::give_back() {
  for (const Slice& slice : kept_) ledger_.give_back(slice);
  kept_.clear();
  type_ = -1;
}

void AgedJobs::add_first(JobIndex job) {
  give_back();
  waiting_.push_front(job);
}

bool AgedJobs::remove(JobIndex job) {
  if (!waiting_.empty() && waiting_.front() == job) give_back();
  return std::erase(waiting_, job) > 0;
}

void AgedJobs::lose(MachineIndex machine) {
  std::erase_if(kept_, [&](const Slice& slice) {
    if (slice.machine != machine) return false;
    ledger_.give_back(slice);
    return true;
  });
}

std::optional<AgedJobs::Ready> AgedJobs::next() {
  if (waiting_.empty() || ledger_.free_gpus() == 0) return std::nullopt;
  const JobIndex job = waiting_.front();
  FreeGpus free(ledger_);
  if (ledger_.is_typed()) {
    if (type_ < 0) {
      int most = -1;
      for (const std::int32_t type : ledger_.types_of(job)) {
        // A type with fewer GPUs than it asks for would be kept for ever.
        if (gpus_of_type_[static_cast<std::size_t>(type)] < ledger_.facts(job).gpus) continue;
        const int there = free.of_type(ledger_, type).total();
        if (there > most) type_ = type;
        most = std::max(most, there);
      }
    }
    free = free.of_type(ledger_, type_);
  }
  const int missing = ledger_.facts(job).gpus - gpus_in(kept_);
  const int taken = std::min(missing, free.total());
  if (taken == 0) return std::nullopt;
  const auto more = placer_->place(ledger_, free, job, taken);
  ORRERY_CHECK(more.has_value());
  for (const Slice& slice : *more) {
    ledger_.withhold(slice);
    const auto same =
        std::find_if(kept_.begin(), kept_.end(), [&](const Slice& held) { return held.machine == slice.machine; });
    if (same == kept_.end()) {
      kept_.push_back(slice);
    } else {
      same->gpus += slice.gpus;
    }
  }
  if (taken < missing) return std::nullopt;
  waiting_.pop_front();
  type_ = -1;
  return Ready{job, std::exchange(kept_, {})};
}

}  // namespace orrery::schedule
