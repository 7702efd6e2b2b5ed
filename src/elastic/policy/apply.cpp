#include "elastic/policy/apply.h"

namespace orrery::elastic {

void apply(const Proposal& agreed, Worker& worker) {
  if (worker.rank() != 0) return;
  const View& view = worker.view();
  for (const auto& [name, value] : agreed.values) {
    if (name == kWorkersValue) {
      if (static_cast<double>(view.members.size()) != value) worker.request_size(static_cast<std::uint64_t>(value));
      continue;
    }
    const auto now = view.parameters.find(name);
    if (now == view.parameters.end() || now->second != value) worker.set_parameter(name, value);
  }
}

}  // namespace orrery::elastic
