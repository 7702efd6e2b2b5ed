#include "schedule/policies/srsf.h"

#include "schedule/policies/preemptive_order.h"

namespace orrery::schedule {

std::unique_ptr<Policy> make_srsf(std::unique_ptr<Placer> placer) {
  return make_preemptive_order("srsf", OrderRule::kRemainingService, std::move(placer));
}

}  // namespace orrery::schedule
