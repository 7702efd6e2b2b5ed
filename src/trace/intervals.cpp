#include "trace/intervals.h"

#include <algorithm>

namespace orrery::trace {

Interval clip(Interval a, Interval b) {
  const std::int64_t begin = std::max(a.begin_ns, b.begin_ns);
  return {begin, std::max(begin, std::min(a.end_ns, b.end_ns))};
}

std::vector<Interval> unite(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& i) { return i.length() == 0; });
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
  std::vector<Interval> united;
  for (const Interval& i : intervals) {
    if (!united.empty() && i.begin_ns <= united.back().end_ns) {
      united.back().end_ns = std::max(united.back().end_ns, i.end_ns);
    } else {
      united.push_back(i);
    }
  }
  return united;
}

std::int64_t total_length(const std::vector<Interval>& united) {
  std::int64_t total = 0;
  for (const Interval& i : united) total += i.length();
  return total;
}

std::int64_t shared_length(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::int64_t total = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    total += clip(a[i], b[j]).length();
    a[i].end_ns < b[j].end_ns ? ++i : ++j;
  }
  return total;
}

}  // namespace orrery::trace
