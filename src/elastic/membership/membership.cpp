#include "elastic/membership/membership.h"

#include <algorithm>
#include <cmath>

namespace orrery::elastic {

namespace {

constexpr std::size_t kNameBytesMax = 128;

}  // namespace

QuorumRule Membership::rule() const {
  const bool one_host = std::all_of(workers.begin(), workers.end(),
                                    [this](const WorkerRecord& worker) { return worker.host == workers[0].host; });
  return one_host ? QuorumRule::kSurvivors : QuorumRule::kMajority;
}

bool Membership::stops() const {
  const auto stop = parameters.find(kStopParameter);
  return stop != parameters.end() && stop->second > 0;
}

int Membership::rank_of(WorkerId id) const {
  for (std::size_t rank = 0; rank < workers.size(); ++rank) {
    if (workers[rank].id == id) return static_cast<int>(rank);
  }
  return -1;
}

std::uint64_t batch_of(const Membership& membership) {
  const auto batch = membership.parameters.find("batch");
  if (batch == membership.parameters.end() || !(batch->second >= 1) || !(batch->second < 1e15)) return 1;
  return static_cast<std::uint64_t>(batch->second);
}

void Membership::exchange(Codec& fields) {
  fields(generation, workers, without_state, progress, parameters, applied);
  std::set<WorkerId> ids;
  for (const WorkerRecord& worker : workers) {
    fields.expect(ids.insert(worker.id).second, "a worker that is twice in a membership");
    fields.expect(worker.address.size() <= kNameBytesMax, "an address that is too long");
  }
  for (const auto& [name, value] : parameters) {
    fields.expect(std::isfinite(value) && name.size() <= kNameBytesMax, "a parameter that is no number or too long");
  }
  fields.expect(workers.size() <= kWorkersMax && without_state.size() <= kWorkersMax && applied.size() <= kWorkersMax &&
                    parameters.size() <= kParametersMax,
                "a membership that is too large");
}

}  // namespace orrery::elastic
