#pragma once
// A good order for dispatching jobs to the last one, and how many GPUs each may want: simple rules, then changes that
// make it cheaper.
//
// Procedure
//   1. Every dispatch rule is played to the end, with and without placing all jobs anew whenever a job ends; so is the
//      result of an earlier search. The cheapest is the start.
//   2. `tries` times: one job, drawn at random, goes to another place of the order, or changes places with another job,
//      or gets another factor of crowding; seldom, all of them do. Kept unless the score (Forecast::score) grows by
//      more than a share that falls to 0.
//   3. The best of all that was played.
//
// The same seed gives the same order. O(tries · dispatch).

#include <cstdint>

#include "plan/dispatch.h"

namespace orrery::plan {

// With more jobs, placing all of them anew at every end takes too long.
inline constexpr std::size_t kAnewJobsMax = 100;

// What a list of jobs is dispatched by.
struct ListedOrder {
  std::vector<double> keys{};    // by job
  std::vector<double> modest{};  // by job: DispatchRule::modest
  double crowding = 1;
  bool anew = false;

  DispatchRule rule() const { return {DispatchOrder::kListed, crowding, keys, modest, anew}; }
};

struct OrderSearch {
  Dispatched best;
  ListedOrder list;  // best.plan and best.forecast are what it leads to

  DispatchRule rule() const { return list.rule(); }
};

// `known`: the list of an earlier search; none if it has no keys. Precondition: the instance has a job.
OrderSearch search_order(const Outlook& outlook, const Plan& kept, const ListedOrder& known, int tries,
                         std::uint64_t seed);

}  // namespace orrery::plan
