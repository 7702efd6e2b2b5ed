#include "schedule/interleaving_table.h"

#include <algorithm>
#include <iterator>

namespace orrery::schedule {

namespace {

constexpr double kMemorySlack = 1e-9;

}  // namespace

InterleavingTable::Content InterleavingTable::content_of(const JobFacts& facts) {
  return {stages_of(facts), facts.stages != nullptr ? 0 : facts.gpu_memory_share};
}

InterleavingTable::Kind InterleavingTable::kind_of(const JobFacts& facts) {
  return kind_of(content_of(facts));
}

InterleavingTable::Kind InterleavingTable::kind_of(const Content& content) {
  const auto added = kinds_.emplace(content, static_cast<Kind>(stages_.size()));
  if (added.second) {
    stages_.push_back(content.first);
    memory_.push_back(content.second);
  }
  return added.first->second;
}

void InterleavingTable::keep(std::span<const JobFacts> jobs) {
  std::map<Kind, Content> kept;
  for (const JobFacts& facts : jobs) {
    const Content content = content_of(facts);
    if (const auto known = kinds_.find(content); known != kinds_.end()) kept.emplace(known->second, content);
  }
  *this = {};
  for (const auto& [kind, content] : kept) kind_of(content);
}

void InterleavingTable::exchange(StateArchive& state) {
  std::vector<Content> contents;
  for (std::size_t kind = 0; kind < stages_.size(); ++kind) contents.emplace_back(stages_[kind], memory_[kind]);
  state(contents);
  if (!state.is_reading()) return;
  *this = {};
  for (const Content& content : contents) kind_of(content);
}

bool InterleavingTable::fit(const Kinds& kinds) const {
  double memory = 0;
  for (const Kind kind : kinds) memory += memory_[static_cast<std::size_t>(kind)];
  return kinds.size() <= kGroupMax && memory <= 1 + kMemorySlack;
}

std::vector<StageTimes> InterleavingTable::stages_of_all(const Kinds& kinds) const {
  std::vector<StageTimes> all;
  for (const Kind kind : kinds) all.push_back(stages(kind));
  return all;
}

double InterleavingTable::efficiency(const Kinds& kinds) {
  return interleaving_efficiency(stages_of_all(kinds), iteration_s(kinds));
}

InterleavingTable::Group InterleavingTable::group_of(const Kinds& kinds) {
  const auto added = numbers_.emplace(kinds, static_cast<Group>(groups_.size()));
  if (added.second) groups_.push_back({kinds, interleaved_iteration_s(stages_of_all(kinds))});
  return added.first->second;
}

InterleavingTable::Group InterleavingTable::alone(Kind kind) {
  return group_of({kind});
}

InterleavingTable::Group InterleavingTable::with(Group group, Kind kind) {
  const auto g = static_cast<std::size_t>(group), k = static_cast<std::size_t>(kind);
  if (groups_[g].next.size() <= k) groups_[g].next.resize(stages_.size(), kUnknown);
  if (groups_[g].next[k] == kUnknown) {
    const Kinds both = joined(groups_[g].kinds, {kind});
    const Group next = fit(both) ? group_of(both) : kNone;
    groups_[g].next[k] = next;
  }
  return groups_[g].next[k];
}

InterleavingTable::Kinds joined(const InterleavingTable::Kinds& a, const InterleavingTable::Kinds& b) {
  InterleavingTable::Kinds both;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

}  // namespace orrery::schedule
