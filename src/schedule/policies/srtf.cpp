#include "schedule/policies/srtf.h"

#include "schedule/policies/preemptive_order.h"

namespace orrery::schedule {

std::unique_ptr<Policy> make_srtf(std::unique_ptr<Placer> placer) {
  return make_preemptive_order("srtf", OrderRule::kRemainingTime, std::move(placer));
}

}  // namespace orrery::schedule
