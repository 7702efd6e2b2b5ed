#include "schedule/policies/first_fit.h"

#include "schedule/policies/ordered_start.h"

namespace orrery::schedule {

std::unique_ptr<Policy> make_first_fit(std::unique_ptr<Placer> placer) {
  return make_ordered_start(
      "first-fit", [](const ClusterView& view, JobIndex job) { return view.facts(job).submit_ns; }, std::move(placer));
}

}  // namespace orrery::schedule
