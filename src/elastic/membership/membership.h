#pragma once
// The membership of a job: which workers belong to it, from which generation on, and with which settings. It is the one
// record that all workers agree on.
//
// Memberships are numbered by generation. Everything that must be the same on all workers (the workers and their order,
// batch size, learning rate, position in the data) changes only from one membership to the next.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/codec.h"
#include "base/result.h"
#include "elastic/data/cursor.h"

namespace orrery::elastic {

using WorkerId = std::uint64_t;  // of one process, never used again; not 0

struct WorkerRecord {
  WorkerId id = 0;
  std::uint32_t host = 0;
  std::uint32_t slot = 0;  // slot lease in the memory of its host
  std::string address{};   // where other workers of the job connect; empty if it can be reached on its host only

  void exchange(Codec& fields) {
    fields(id, host, slot, address);
    fields.expect(id != 0, "a worker with the id 0");
  }
  friend bool operator==(const WorkerRecord&, const WorkerRecord&) = default;
};

// The progress of the training. It changes only when a step commits.
struct TrainingProgress {
  std::uint64_t step = 0;  // committed
  DataCursor cursor{};

  void exchange(Codec& fields) {
    fields(step, cursor.samples, cursor.seed, cursor.epoch, cursor.offset);
    fields.expect(check(cursor).has_value(), "a cursor outside its data");
  }
  friend bool operator==(const TrainingProgress&, const TrainingProgress&) = default;
};

// Which workers have to take part in a change of their membership.
enum class QuorumRule {
  // All except those that are certainly dead. This is for workers on one host, where the kernel tells which are dead:
  // any number of them may die, and those that are left continue.
  kSurvivors,
  // More than half, or exactly half including the first worker. This is for workers on several hosts, where silence may
  // be a cut cable: at most one side continues.
  kMajority,
};

// The parameter of a membership that ends the job for all of its workers, at the same step.
inline constexpr const char* kStopParameter = "stop";

struct Membership {
  static constexpr std::size_t kWorkersMax = 1024;
  static constexpr std::size_t kParametersMax = 256;

  std::uint64_t generation = 0;
  std::vector<WorkerRecord> workers;          // in rank order; the first living one leads
  std::set<WorkerId> without_state;           // workers that do not have the model yet
  TrainingProgress progress{};                // at the beginning of the generation
  std::map<std::string, double> parameters;   // "batch", "learning_rate", …
  std::map<WorkerId, std::uint64_t> applied;  // per worker, the number of its last fulfilled request

  QuorumRule rule() const;
  bool stops() const;
  // No worker has anything to do in this membership: a worker that installs it has ended. Across hosts workers end
  // together, and a worker without the model gets it first.
  bool is_last() const { return stops() && without_state.empty() && rule() == QuorumRule::kSurvivors; }
  // -1 if it is not a worker of this membership.
  int rank_of(WorkerId id) const;
  bool has(WorkerId id) const { return rank_of(id) >= 0; }

  // Rejects what is too large, ids that are not unique, and parameters that are no numbers.
  void exchange(Codec& fields);
  friend bool operator==(const Membership&, const Membership&) = default;
};

// Samples per step: the parameter "batch", or 1 if there is none.
std::uint64_t batch_of(const Membership& membership);

}  // namespace orrery::elastic
