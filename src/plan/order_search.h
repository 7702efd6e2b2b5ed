#pragma once
// A good order for dispatching jobs to the last one: simple rules, then changes that make it cheaper.
//
// Procedure
//   1. Every dispatch rule is played to the end; so are the lists of keys that are given. The cheapest is the start.
//   2. `tries` times: a job, drawn at random, goes to another place of the order, also at random, or changes places
//   with
//      another job; kept if the score (Forecast::score) gets less.
//
// The same seed gives the same order. O(tries · dispatch).

#include <cstdint>

#include "plan/dispatch.h"

namespace orrery::plan {

struct OrderSearch {
  Dispatched best;
  std::vector<double> keys;  // by job: best.order as DispatchOrder::kListed wants it
  double crowding = 1;

  DispatchRule rule() const { return {DispatchOrder::kListed, crowding, keys}; }
};

// `known`: keys of an earlier search, by job; may be empty. Precondition: the instance has a job.
OrderSearch search_order(const Instance& instance, const Plan& kept, std::span<const double> known, int tries,
                         std::uint64_t seed);

}  // namespace orrery::plan
