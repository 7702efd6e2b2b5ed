#include "predict/learn/conformal.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "base/statistics.h"

namespace orrery::predict {

namespace {

constexpr std::size_t kGroupsMax = 100'000;
constexpr std::size_t kNameMax = 4096;
constexpr double kRounding = 1e-9;  // 20 · 0.1 is rank 2

// Precondition: ratios is not empty.
Interval ratio_interval(std::vector<double> ratios, double level) {
  std::sort(ratios.begin(), ratios.end());
  const double ranks = static_cast<double>(ratios.size()) + 1;
  const double outside = (1 - level) / 2;
  const auto last = static_cast<double>(ratios.size());
  const double low = std::clamp(std::floor(ranks * outside + kRounding), 1.0, last);
  const double high = std::clamp(std::ceil(ranks * (1 - outside) - kRounding), 1.0, last);
  return {ratios[static_cast<std::size_t>(low) - 1], ratios[static_cast<std::size_t>(high) - 1]};
}

struct Ratio {
  double log = 0;  // of measured over predicted
  std::string_view cluster{};
};

// The share of the variance that is between clusters. Each cluster counts alike, however many ratios it has. Means of
// few ratios differ even if their clusters do not: that part is subtracted.
double share_between(const std::map<std::string_view, std::vector<double>>& clusters) {
  const auto count = static_cast<double>(clusters.size());
  double mean = 0, within = 0, of_means = 0, between = 0;
  std::vector<double> means;
  for (const auto& [name, ratios] : clusters) {
    const auto size = static_cast<double>(ratios.size());
    means.push_back(std::accumulate(ratios.begin(), ratios.end(), 0.0) / size);
    mean += means.back() / count;
    double variance = 0;
    for (const double ratio : ratios)
      variance += (ratio - means.back()) * (ratio - means.back()) / std::max(1.0, size - 1);
    within += variance / count;
    of_means += variance / size / count;
  }
  for (const double one : means) between += (one - mean) * (one - mean) / (count - 1);
  between = std::max(0.0, between - of_means);
  return between + within > 0 ? between / (between + within) : 0;
}

double stretch_of(std::span<const Ratio> ratios, double level) {
  constexpr double kManyDegrees = 1e6;  // a normal distribution
  std::map<std::string_view, std::vector<double>> clusters;
  for (const Ratio& ratio : ratios) {
    if (!ratio.cluster.empty()) clusters[ratio.cluster].push_back(ratio.log);
  }
  if (clusters.size() < 2) return 1;
  const auto count = static_cast<double>(clusters.size());
  const double share = (1 + level) / 2;
  const double wider =
      student_quantile(share, count - 1) / student_quantile(share, kManyDegrees) * std::sqrt(1 + 1 / count);
  return std::sqrt(1 + share_between(clusters) * (wider * wider - 1));
}

Interval interval_of(std::span<const Ratio> ratios, double level) {
  std::vector<double> logs;
  for (const Ratio& ratio : ratios) logs.push_back(ratio.log);
  const Interval plain = ratio_interval(std::move(logs), level);
  const double middle = (plain.low + plain.high) / 2, stretch = stretch_of(ratios, level);
  return {middle + (plain.low - middle) * stretch, middle + (plain.high - middle) * stretch};
}

Result<Interval> read_interval(ByteReader& in) {
  Interval interval;
  ORRERY_TRY(interval.low, in.f64());
  ORRERY_TRY(interval.high, in.f64());
  if (!std::isfinite(interval.low) || !std::isfinite(interval.high) || interval.low > interval.high) {
    return Error::invalid("an interval is damaged");
  }
  return interval;
}

void write_interval(const Interval& interval, ByteWriter& out) {
  out.f64(interval.low);
  out.f64(interval.high);
}

}  // namespace

Result<Conformal> Conformal::fit(std::span<const CalibrationPair> pairs, std::size_t group_min, double level) {
  if (pairs.empty()) return Error::invalid("no pairs to calibrate with");
  if (!(level > 0 && level < 1)) return Error::invalid("the level must be above 0 and below 1");
  std::vector<Ratio> all;
  std::map<std::string, std::vector<Ratio>> by_group;
  for (const CalibrationPair& pair : pairs) {
    const double ratio = std::log(pair.measured / pair.predicted);
    if (!(pair.measured > 0) || !(pair.predicted > 0) || !std::isfinite(ratio)) {
      return Error::invalid(fmt::format("a pair of {} predicted and {} measured; both must be positive and finite",
                                        pair.predicted, pair.measured));
    }
    all.push_back({ratio, pair.cluster});
    by_group[pair.group].push_back(all.back());
  }
  Conformal model;
  model.all_ = interval_of(all, level);
  for (const auto& [group, ratios] : by_group) {
    if (ratios.size() >= group_min) model.groups_[group] = interval_of(ratios, level);
  }
  return model;
}

Interval Conformal::interval(double predicted, std::string_view group) const {
  const auto found = groups_.find(group);
  const Interval& ratios = found == groups_.end() ? all_ : found->second;
  return {predicted * std::exp(ratios.low), predicted * std::exp(ratios.high)};
}

void Conformal::write(ByteWriter& out) const {
  write_interval(all_, out);
  out.u32(static_cast<std::uint32_t>(groups_.size()));
  for (const auto& [group, ratios] : groups_) {
    out.text(group);
    write_interval(ratios, out);
  }
}

Result<Conformal> Conformal::read(ByteReader& in) {
  Conformal model;
  ORRERY_TRY(model.all_, read_interval(in));
  ORRERY_TRY(const std::size_t groups, in.count(20, kGroupsMax));
  for (std::size_t i = 0; i < groups; ++i) {
    ORRERY_TRY(std::string group, in.text(kNameMax));
    ORRERY_TRY(model.groups_[group], read_interval(in));
  }
  return model;
}

}  // namespace orrery::predict
