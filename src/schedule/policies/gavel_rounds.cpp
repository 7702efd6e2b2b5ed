#include "schedule/policies/gavel_rounds.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/check.h"

namespace orrery::schedule {

namespace {

constexpr double kUncounted = 1e9;  // priority of a share of 1 while no time is counted

}  // namespace

// There may be many pairs, of which most have the numbers of the pair before them: one byte says what is the same.
void GavelRounds::exchange(StateArchive& state) {
  std::uint64_t count = entries_.size();
  state(counted_s_, added_, has_shares_, count);
  state.expect(counted_s_.size() == types_, "there is another number of types");
  auto next = entries_.begin();
  std::map<RoundUnit, Entry> read;
  RoundUnit before;
  Entry entry_before;
  for (std::uint64_t i = 0; i < count && state.is_ok(); ++i) {
    RoundUnit unit = before;
    Entry entry = entry_before;
    if (!state.is_reading()) std::tie(unit, entry) = *next++;
    std::uint32_t same = 0;
    int bit = 0;
    const auto exchange_changed = [&](const auto& was, auto& value) {
      const std::uint32_t mask = 1U << bit++;
      if ((same & mask) == 0)
        state(value);
      else
        value = was;
    };
    const auto mark_same = [&](bool is_same) {
      same |= is_same ? 1U << bit : 0;
      ++bit;
    };
    mark_same(unit.first == before.first);
    mark_same(entry.has_share == entry_before.has_share);
    mark_same(entry.runs == entry_before.runs);
    mark_same(entry.share == entry_before.share);
    mark_same(entry.received_s == entry_before.received_s);
    mark_same(entry.deficit_s == entry_before.deficit_s);
    state(same);
    bit = 0;
    exchange_changed(before.first, unit.first);
    exchange_changed(entry_before.has_share, entry.has_share);
    exchange_changed(entry_before.runs, entry.runs);
    exchange_changed(entry_before.share, entry.share);
    exchange_changed(entry_before.received_s, entry.received_s);
    exchange_changed(entry_before.deficit_s, entry.deficit_s);
    state.maybe(unit.second);
    std::int64_t later = entry.added - entry_before.added;
    state(later);
    entry.added = entry_before.added + later;
    if (state.is_reading()) {
      const auto has_types = [&](const auto& of_types) { return of_types.size() == types_; };
      state.expect(unit.first.valid() && has_types(entry.runs) && has_types(entry.share) &&
                       has_types(entry.received_s) && has_types(entry.deficit_s),
                   "a unit is not complete");
      if (!state.is_ok()) break;
      entry.gpus = state.view().facts(unit.first).gpus;
      read.emplace(unit, entry);
    }
    before = unit;
    entry_before = entry;
  }
  if (state.is_reading()) entries_ = std::move(read);
}

void GavelRounds::add(RoundUnit unit, int gpus, std::vector<bool> runs) {
  Entry& entry = entries_[unit];
  entry.gpus = gpus;
  entry.added = added_++;
  entry.runs = std::move(runs);
  entry.share.assign(types_, 0);
  entry.deficit_s.assign(types_, 0);
  entry.received_s.assign(types_, unit.second == kNoJob ? round_s_ / 2 : 0);
}

void GavelRounds::remove(JobIndex job) {
  std::erase_if(entries_, [job](const auto& entry) { return entry.first.first == job || entry.first.second == job; });
}

void GavelRounds::restart(double elapsed_s) {
  std::fill(counted_s_.begin(), counted_s_.end(), 0.0);
  for (auto& [unit, entry] : entries_) {
    for (std::size_t k = 0; k < types_; ++k) {
      const double due_s = entry.has_share ? entry.share[k] * elapsed_s : 0;
      entry.deficit_s[k] += due_s - (entry.received_s[k] - round_s_ / 2);
      entry.received_s[k] = round_s_ / 2;
      counted_s_[k] += entry.received_s[k];
    }
    entry.has_share = false;
    std::fill(entry.share.begin(), entry.share.end(), 0.0);
  }
  has_shares_ = true;
}

void GavelRounds::set_share(RoundUnit unit, std::vector<double> share) {
  const auto found = entries_.find(unit);
  ORRERY_CHECK(found != entries_.end() && share.size() == types_);
  found->second.share = std::move(share);
  found->second.has_share = true;
}

void GavelRounds::count(RoundUnit unit, std::size_t type, double seconds) {
  const auto found = entries_.find(unit);
  if (found == entries_.end()) return;
  found->second.received_s[type] += seconds;
  counted_s_[type] += seconds;
}

double GavelRounds::priority(const Entry& entry, std::size_t type) const {
  if (!entry.has_share || entry.share[type] == 0 || !entry.runs[type]) return 0;
  const double part = counted_s_[type] == 0 ? 0 : entry.received_s[type] / counted_s_[type];
  return part > 0 ? entry.share[type] / part : entry.share[type] * kUncounted;
}

std::vector<GavelRounds::Taken> GavelRounds::choose(std::span<const std::size_t> order, std::vector<int> free,
                                                    const Choice& choice) const {
  struct Candidate {
    double priority = 0;
    const Entry* entry = nullptr;
    RoundUnit unit;
  };
  std::vector<Taken> taken;
  std::set<JobIndex> busy(choice.without.begin(), choice.without.end());
  std::vector<Candidate> candidates;
  for (const std::size_t k : order) {
    candidates.clear();
    for (const auto& [unit, entry] : entries_) {
      const double p = priority(entry, k);
      const bool idle_runs = unit.second == kNoJob ? choice.idle_jobs : choice.idle_pairs;
      if (entry.runs[k] && (p > 0 || idle_runs)) candidates.push_back({p, &entry, unit});
    }
    std::sort(candidates.begin(), candidates.end(), [k](const Candidate& a, const Candidate& b) {
      if (a.priority != b.priority) return a.priority > b.priority;
      if (a.entry->deficit_s[k] != b.entry->deficit_s[k]) return a.entry->deficit_s[k] > b.entry->deficit_s[k];
      if (a.entry->share[k] != b.entry->share[k]) return a.entry->share[k] > b.entry->share[k];
      return a.entry->added < b.entry->added;
    });
    for (const Candidate& candidate : candidates) {
      if (free[k] == 0) break;
      const RoundUnit& unit = candidate.unit;
      if (busy.contains(unit.first) || busy.contains(unit.second) || candidate.entry->gpus > free[k]) continue;
      free[k] -= candidate.entry->gpus;
      busy.insert(unit.first);
      if (unit.second != kNoJob) busy.insert(unit.second);
      taken.push_back({unit, k, candidate.entry->has_share, candidate.entry->share[k], candidate.priority});
    }
  }
  return taken;
}

}  // namespace orrery::schedule
