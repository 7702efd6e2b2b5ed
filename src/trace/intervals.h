#pragma once
// Half-open intervals of nanoseconds: how much time a set of them covers.

#include <cstdint>
#include <vector>

namespace orrery::trace {

struct Interval {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;

  std::int64_t length() const { return end_ns > begin_ns ? end_ns - begin_ns : 0; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

// The part of `a` inside `b`; empty (length 0) if there is none.
Interval clip(Interval a, Interval b);

// The same set of points as disjoint intervals in order, without empty ones. O(n log n).
std::vector<Interval> unite(std::vector<Interval> intervals);

// Of disjoint intervals.
std::int64_t total_length(const std::vector<Interval>& united);

// How long both sets hold; both disjoint and in order. O(n + m).
std::int64_t shared_length(const std::vector<Interval>& a, const std::vector<Interval>& b);

}  // namespace orrery::trace
