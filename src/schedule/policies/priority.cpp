#include "schedule/policies/priority.h"

#include "schedule/policies/preemptive_order.h"

namespace orrery::schedule {

std::unique_ptr<Policy> make_priority(std::unique_ptr<Placer> placer) {
  return make_preemptive_order("priority", OrderRule::kPriority, std::move(placer));
}

}  // namespace orrery::schedule
