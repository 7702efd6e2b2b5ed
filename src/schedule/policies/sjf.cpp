#include "schedule/policies/sjf.h"

#include "schedule/policies/ordered_start.h"

namespace orrery::schedule {

std::unique_ptr<Policy> make_sjf(std::unique_ptr<Placer> placer) {
  return make_ordered_start(
      "sjf", [](const ClusterView& view, JobIndex job) { return view.left_ns(job); }, std::move(placer));
}

}  // namespace orrery::schedule
