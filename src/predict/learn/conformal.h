#pragma once
// Split-conformal intervals around predictions of times: the distance of measurements from predictions that did not
// know them bounds that of the next one.
//
// From calibration pairs the ratios r = log(measured / predicted) are sorted; with n of them and level 1 − a the
// interval of a new prediction p is
//
//   [ p · exp(r of rank ⌊(n + 1) a/2⌋),  p · exp(r of rank ⌈(n + 1)(1 − a/2)⌉) ]
//
// which holds the truth with probability 1 − a at least if the new case is like the calibration cases (Vovk et al.
// 2005; Lei et al. 2018). A rank that does not exist (few pairs) becomes the smallest or largest ratio. A group with
// fewer than `group_min` pairs uses the pairs of all groups.
//
// Pairs of one device or family, a cluster, have similar errors, and a new prediction may be of a cluster that has no
// pairs. If pairs name clusters, K of them, the interval is widened around its middle by s, as a normal distribution of
// clusters known by K draws would have it (Student):
//
//   s² = 1 + b (f² − 1),   f = t(K − 1) / z · √(1 + 1/K),   b the share of the ratios' variance between clusters
//
// with z and t the quantiles of rank 1 − a/2. One cluster gives no information about others: s is 1.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace orrery::predict {

struct Interval {
  double low = 0, high = 0;
};

struct CalibrationPair {
  double predicted = 0, measured = 0;  // both above 0
  std::string group{};
  std::string cluster{};  // empty: the next case is like these
};

class Conformal {
 public:
  // Level: the share of cases the interval is to hold, above 0 and below 1.
  static Result<Conformal> fit(std::span<const CalibrationPair> pairs, std::size_t group_min = 50, double level = 0.8);

  Interval interval(double predicted, std::string_view group) const;

  void write(ByteWriter& out) const;
  static Result<Conformal> read(ByteReader& in);

 private:
  Interval all_;  // of log ratios
  std::map<std::string, Interval, std::less<>> groups_;
};

}  // namespace orrery::predict
