#pragma once
// Gavel (OSDI'20), second half: which jobs run in the next round, so that every job gets about the share that was
// computed.
//
// 1. Shares are set now and then; from then on the time every unit (a job, or a pair on the same GPUs) gets on each
//    type is counted, beginning with half a round for each. The time a unit got less than its share is added to its
//    deficit.
// 2. Priority on a type: share / (its part of the time counted on that type); 0 without a share or where it cannot run;
//    1e9 x share while no time is counted.
// 3. Each round, type by type in the order given: units by priority, then deficit, then share, all descending; every
//    one is taken that fits and of which no job is taken yet. Units with priority 0 come last: they use what is left.
// Ties: the unit that was added first. O(units log units) per type and round.
// Source: section 5 of the paper, with the details of the published simulator (stanford-futuredata/gavel).

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "schedule/state_archive.h"

namespace orrery::schedule {

// A job, or two on the same GPUs, in the order in which they came.
struct RoundUnit {
  JobIndex first = kNoJob;
  JobIndex second = kNoJob;

  friend auto operator<=>(const RoundUnit&, const RoundUnit&) = default;
  void exchange(StateArchive& state) {
    state(first);
    state.maybe(second);
  }
};

class GavelRounds {
 public:
  struct Taken {
    RoundUnit unit;
    std::size_t type = 0;
    bool has_share = false;  // it was there when shares were set
    double share = 0, priority = 0;
  };

  struct Choice {
    bool idle_jobs = true, idle_pairs = true;  // those with priority 0 use what is left
    std::span<const JobIndex> without{};       // jobs that are not to be chosen
  };

  GavelRounds(std::size_t types, double round_s) : types_(types), round_s_(round_s), counted_s_(types, 0) {}

  // `runs`: by type, whether it can run there.
  void add(RoundUnit unit, int gpus, std::vector<bool> runs);
  // The job, and every pair it is in.
  void remove(JobIndex job);
  bool has(RoundUnit unit) const { return entries_.contains(unit); }

  // Settles the old shares, `elapsed_s` after they were set. set_share() follows for units that have one.
  void restart(double elapsed_s);
  void set_share(RoundUnit unit, std::vector<double> share);
  bool has_shares() const { return has_shares_; }

  void count(RoundUnit unit, std::size_t type, double seconds);

  // `order`: the types; `free`: GPUs by type.
  std::vector<Taken> choose(std::span<const std::size_t> order, std::vector<int> free, const Choice& choice) const;

  // Units are those of live jobs. `gpus` of a job are what it asks for.
  void exchange(StateArchive& state);

 private:
  struct Entry {
    int gpus = 1;
    std::int64_t added = 0;
    bool has_share = false;
    std::vector<bool> runs;
    std::vector<double> share, received_s, deficit_s;  // by type
  };
  double priority(const Entry& entry, std::size_t type) const;

  std::size_t types_;
  double round_s_;
  std::vector<double> counted_s_;  // by type
  std::map<RoundUnit, Entry> entries_;
  std::int64_t added_ = 0;
  bool has_shares_ = false;
};

}  // namespace orrery::schedule
