#include "schedule/policies/edf.h"

#include "schedule/policies/preemptive_order.h"

namespace orrery::schedule {

std::unique_ptr<Policy> make_edf(std::unique_ptr<Placer> placer) {
  return make_preemptive_order("edf", OrderRule::kDeadline, std::move(placer));
}

}  // namespace orrery::schedule
