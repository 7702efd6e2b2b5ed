#pragma once
// Who belongs to a job, from when on, and with which settings: the one record that all members agree on.
//
// Views are numbered by epoch. Everything that must be the same on all members (who they are and in which order, batch
// size, learning rate, position in the data) changes only from one view to the next.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "elastic/data/cursor.h"

namespace orrery::elastic {

using MemberId = std::uint64_t;  // of one process, never used again; not 0

struct MemberRecord {
  MemberId id = 0;
  std::uint32_t host = 0;
  std::uint32_t slot = 0;  // in the memory of its host
  std::string address{};   // where others of the job connect to; empty if it can be reached on its host only

  friend bool operator==(const MemberRecord&, const MemberRecord&) = default;
};

// How far the training is. Changes only when a step commits.
struct TrainingProgress {
  std::uint64_t step = 0;  // committed
  DataCursor cursor{};

  friend bool operator==(const TrainingProgress&, const TrainingProgress&) = default;
};

// Which members have to take part in the change of their view.
enum class QuorumRule {
  // All but those that are certainly dead. For members on one host, where the kernel tells who is dead: any number of
  // them may die, and whoever is left goes on.
  kSurvivors,
  // More than half; exactly half if the first member is among them. For members on several hosts, where silence may be
  // a cut cable: at most one side goes on.
  kMajority,
};

// The parameter of a view that ends the job for all of its members, at the same step.
inline constexpr const char* kStopParameter = "stop";

struct View {
  static constexpr std::size_t kMembersMax = 1024;
  static constexpr std::size_t kParametersMax = 256;

  std::uint64_t epoch = 0;
  std::vector<MemberRecord> members;          // in rank order; the first that lives leads
  std::set<MemberId> without_state;           // members that have yet to get the model
  TrainingProgress progress{};                // at the beginning of the epoch
  std::map<std::string, double> parameters;   // "batch", "learning_rate", …
  std::map<MemberId, std::uint64_t> applied;  // per member, the number of its last request that is in here

  QuorumRule rule() const;
  bool stops() const;
  // Nobody has anything to do in it: who comes to it is at the end. Across hosts members part together, and who has no
  // model gets it first.
  bool is_last() const { return stops() && without_state.empty() && rule() == QuorumRule::kSurvivors; }
  // -1 if it is no member.
  int rank_of(MemberId id) const;
  bool has(MemberId id) const { return rank_of(id) >= 0; }

  friend bool operator==(const View&, const View&) = default;
};

// Samples per step: the parameter "batch", 1 if there is none.
std::uint64_t batch_of(const View& view);

void encode(const View& view, ByteWriter& writer);
// Refuses what is too large, ids that are 0 or not unique, and cursors outside their data.
Result<View> decode_view(ByteReader& reader);
void encode(const TrainingProgress& progress, ByteWriter& writer);
Result<TrainingProgress> decode_progress(ByteReader& reader);
void encode(const MemberRecord& member, ByteWriter& writer);
Result<MemberRecord> decode_member(ByteReader& reader);

}  // namespace orrery::elastic
