#include "elastic/policy/apply.h"

namespace orrery::elastic {

void apply(const Proposal& agreed, Worker& worker) {
  for (const auto& [name, value] : agreed.values) {
    if (name != kWorkersValue) {
      worker.set_parameter(name, value);
    } else if (worker.rank() == 0 && static_cast<double>(worker.membership().workers.size()) != value) {
      worker.request_size(static_cast<std::uint64_t>(value));
    }
  }
}

}  // namespace orrery::elastic
