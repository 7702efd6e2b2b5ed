#include "elastic/membership/membership.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

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

void encode(const WorkerRecord& worker, ByteWriter& writer) {
  writer.u64(worker.id);
  writer.u32(worker.host);
  writer.u32(worker.slot);
  writer.text(worker.address);
}

Result<WorkerRecord> decode_worker(ByteReader& reader) {
  WorkerRecord worker;
  ORRERY_TRY(worker.id, reader.u64());
  ORRERY_TRY(worker.host, reader.u32());
  ORRERY_TRY(worker.slot, reader.u32());
  ORRERY_TRY(worker.address, reader.text(kNameBytesMax));
  if (worker.id == 0) return Error::invalid("a worker with the id 0");
  return worker;
}

void encode(const TrainingProgress& progress, ByteWriter& writer) {
  writer.u64(progress.step);
  writer.u64(progress.cursor.samples);
  writer.u64(progress.cursor.seed);
  writer.u64(progress.cursor.epoch);
  writer.u64(progress.cursor.offset);
}

Result<TrainingProgress> decode_progress(ByteReader& reader) {
  TrainingProgress progress;
  ORRERY_TRY(progress.step, reader.u64());
  ORRERY_TRY(progress.cursor.samples, reader.u64());
  ORRERY_TRY(progress.cursor.seed, reader.u64());
  ORRERY_TRY(progress.cursor.epoch, reader.u64());
  ORRERY_TRY(progress.cursor.offset, reader.u64());
  ORRERY_TRY_VOID(check(progress.cursor));
  return progress;
}

void encode(const Membership& membership, ByteWriter& writer) {
  writer.u64(membership.generation);
  writer.u32(static_cast<std::uint32_t>(membership.workers.size()));
  for (const WorkerRecord& worker : membership.workers) encode(worker, writer);
  writer.u32(static_cast<std::uint32_t>(membership.without_state.size()));
  for (const WorkerId id : membership.without_state) writer.u64(id);
  encode(membership.progress, writer);
  writer.u32(static_cast<std::uint32_t>(membership.parameters.size()));
  for (const auto& [name, value] : membership.parameters) {
    writer.text(name);
    writer.f64(value);
  }
  writer.u32(static_cast<std::uint32_t>(membership.applied.size()));
  for (const auto& [worker, number] : membership.applied) {
    writer.u64(worker);
    writer.u64(number);
  }
}

Result<Membership> decode_membership(ByteReader& reader) {
  Membership membership;
  ORRERY_TRY(membership.generation, reader.u64());
  ORRERY_TRY(const std::size_t workers, reader.count(20, Membership::kWorkersMax));
  std::set<WorkerId> ids;
  for (std::size_t i = 0; i < workers; ++i) {
    ORRERY_TRY(const WorkerRecord worker, decode_worker(reader));
    if (!ids.insert(worker.id).second) return Error::invalid(fmt::format("worker {} twice in a membership", worker.id));
    membership.workers.push_back(worker);
  }
  ORRERY_TRY(const std::size_t without_state, reader.count(8, Membership::kWorkersMax));
  for (std::size_t i = 0; i < without_state; ++i) {
    ORRERY_TRY(const WorkerId id, reader.u64());
    if (!membership.without_state.empty() && id <= *membership.without_state.rbegin()) {
      return Error::invalid(fmt::format("worker {} without state is out of order", id));
    }
    membership.without_state.insert(id);
  }
  ORRERY_TRY(membership.progress, decode_progress(reader));
  ORRERY_TRY(const std::size_t parameters, reader.count(12, Membership::kParametersMax));
  for (std::size_t i = 0; i < parameters; ++i) {
    ORRERY_TRY(std::string name, reader.text(kNameBytesMax));
    ORRERY_TRY(const double value, reader.f64());
    if (!std::isfinite(value)) return Error::invalid(fmt::format("parameter \"{}\" is no number", name));
    if (!membership.parameters.empty() && name <= membership.parameters.rbegin()->first) {
      return Error::invalid(fmt::format("parameter \"{}\" is out of order", name));
    }
    membership.parameters[std::move(name)] = value;
  }
  ORRERY_TRY(const std::size_t applied, reader.count(16, Membership::kWorkersMax));
  for (std::size_t i = 0; i < applied; ++i) {
    ORRERY_TRY(const WorkerId worker, reader.u64());
    if (!membership.applied.empty() && worker <= membership.applied.rbegin()->first) {
      return Error::invalid(fmt::format("the requests of worker {} are out of order", worker));
    }
    ORRERY_TRY(membership.applied[worker], reader.u64());
  }
  return membership;
}

}  // namespace orrery::elastic
