#include "elastic/member/view.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace orrery::elastic {

namespace {

constexpr std::size_t kNameBytesMax = 128;

}  // namespace

QuorumRule View::rule() const {
  const bool one_host = std::all_of(members.begin(), members.end(),
                                    [this](const MemberRecord& member) { return member.host == members[0].host; });
  return one_host ? QuorumRule::kSurvivors : QuorumRule::kMajority;
}

bool View::stops() const {
  const auto stop = parameters.find(kStopParameter);
  return stop != parameters.end() && stop->second > 0;
}

int View::rank_of(MemberId id) const {
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    if (members[rank].id == id) return static_cast<int>(rank);
  }
  return -1;
}

std::uint64_t batch_of(const View& view) {
  const auto batch = view.parameters.find("batch");
  if (batch == view.parameters.end() || !(batch->second >= 1) || !(batch->second < 1e15)) return 1;
  return static_cast<std::uint64_t>(batch->second);
}

void encode(const MemberRecord& member, ByteWriter& writer) {
  writer.u64(member.id);
  writer.u32(member.host);
  writer.u32(member.slot);
  writer.text(member.address);
}

Result<MemberRecord> decode_member(ByteReader& reader) {
  MemberRecord member;
  ORRERY_TRY(member.id, reader.u64());
  ORRERY_TRY(member.host, reader.u32());
  ORRERY_TRY(member.slot, reader.u32());
  ORRERY_TRY(member.address, reader.text(kNameBytesMax));
  if (member.id == 0) return Error::invalid("a member with the id 0");
  return member;
}

void encode(const TrainingProgress& progress, ByteWriter& writer) {
  writer.u64(progress.step);
  writer.u64(progress.cursor.samples);
  writer.u64(progress.cursor.seed);
  writer.u64(progress.cursor.pass);
  writer.u64(progress.cursor.offset);
}

Result<TrainingProgress> decode_progress(ByteReader& reader) {
  TrainingProgress progress;
  ORRERY_TRY(progress.step, reader.u64());
  ORRERY_TRY(progress.cursor.samples, reader.u64());
  ORRERY_TRY(progress.cursor.seed, reader.u64());
  ORRERY_TRY(progress.cursor.pass, reader.u64());
  ORRERY_TRY(progress.cursor.offset, reader.u64());
  ORRERY_TRY_VOID(check(progress.cursor));
  return progress;
}

void encode(const View& view, ByteWriter& writer) {
  writer.u64(view.epoch);
  writer.u32(static_cast<std::uint32_t>(view.members.size()));
  for (const MemberRecord& member : view.members) encode(member, writer);
  writer.u32(static_cast<std::uint32_t>(view.without_state.size()));
  for (const MemberId id : view.without_state) writer.u64(id);
  encode(view.progress, writer);
  writer.u32(static_cast<std::uint32_t>(view.parameters.size()));
  for (const auto& [name, value] : view.parameters) {
    writer.text(name);
    writer.f64(value);
  }
  writer.u32(static_cast<std::uint32_t>(view.applied.size()));
  for (const auto& [member, number] : view.applied) {
    writer.u64(member);
    writer.u64(number);
  }
}

Result<View> decode_view(ByteReader& reader) {
  View view;
  ORRERY_TRY(view.epoch, reader.u64());
  ORRERY_TRY(const std::size_t members, reader.count(20, View::kMembersMax));
  std::set<MemberId> ids;
  for (std::size_t i = 0; i < members; ++i) {
    ORRERY_TRY(const MemberRecord member, decode_member(reader));
    if (!ids.insert(member.id).second) return Error::invalid(fmt::format("member {} twice in a view", member.id));
    view.members.push_back(member);
  }
  ORRERY_TRY(const std::size_t without_state, reader.count(8, View::kMembersMax));
  for (std::size_t i = 0; i < without_state; ++i) {
    ORRERY_TRY(const MemberId id, reader.u64());
    if (!view.without_state.empty() && id <= *view.without_state.rbegin()) {
      return Error::invalid(fmt::format("member {} without state is out of order", id));
    }
    view.without_state.insert(id);
  }
  ORRERY_TRY(view.progress, decode_progress(reader));
  ORRERY_TRY(const std::size_t parameters, reader.count(12, View::kParametersMax));
  for (std::size_t i = 0; i < parameters; ++i) {
    ORRERY_TRY(std::string name, reader.text(kNameBytesMax));
    ORRERY_TRY(const double value, reader.f64());
    if (!std::isfinite(value)) return Error::invalid(fmt::format("parameter \"{}\" is no number", name));
    if (!view.parameters.empty() && name <= view.parameters.rbegin()->first) {
      return Error::invalid(fmt::format("parameter \"{}\" is out of order", name));
    }
    view.parameters[std::move(name)] = value;
  }
  ORRERY_TRY(const std::size_t applied, reader.count(16, View::kMembersMax));
  for (std::size_t i = 0; i < applied; ++i) {
    ORRERY_TRY(const MemberId member, reader.u64());
    if (!view.applied.empty() && member <= view.applied.rbegin()->first) {
      return Error::invalid(fmt::format("the requests of member {} are out of order", member));
    }
    ORRERY_TRY(view.applied[member], reader.u64());
  }
  return view;
}

}  // namespace orrery::elastic
