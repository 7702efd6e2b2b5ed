#include "predict/learn/conformal.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

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
  double log = 0;
  std::string_view cluster{};
};

std::vector<double> logs_without(const std::vector<Ratio>& ratios, std::string_view cluster) {
  std::vector<double> logs;
  for (const Ratio& ratio : ratios) {
    if (cluster.empty() || ratio.cluster != cluster) logs.push_back(ratio.log);
  }
  return logs;
}

// How far the interval of the other clusters must be stretched to hold `level` of the pairs of each in turn.
double stretch_for_new_clusters(const std::vector<Ratio>& ratios, const std::set<std::string_view>& clusters,
                                double level) {
  constexpr double kLeast = 0.5, kMost = 10;
  std::vector<double> needed;
  for (const std::string_view cluster : clusters) {
    const Interval others = ratio_interval(logs_without(ratios, cluster), level);
    const double centre = (others.low + others.high) / 2, half = (others.high - others.low) / 2;
    for (const Ratio& ratio : ratios) {
      if (ratio.cluster != cluster) continue;
      needed.push_back(half > 0 ? std::abs(ratio.log - centre) / half : kMost);
    }
  }
  std::sort(needed.begin(), needed.end());
  const double rank = std::ceil((static_cast<double>(needed.size()) + 1) * level - kRounding);
  const auto place = static_cast<std::size_t>(std::clamp(rank, 1.0, static_cast<double>(needed.size()))) - 1;
  return std::clamp(needed[place], kLeast, kMost);
}

Interval interval_of(const std::vector<Ratio>& ratios, double level) {
  const Interval all = ratio_interval(logs_without(ratios, {}), level);
  std::set<std::string_view> clusters;
  for (const Ratio& ratio : ratios) clusters.insert(ratio.cluster);
  if (clusters.size() < kClustersMin || clusters.size() > kClustersMax || clusters.contains("")) return all;
  const double stretch = stretch_for_new_clusters(ratios, clusters, level);
  const double centre = (all.low + all.high) / 2, half = stretch * (all.high - all.low) / 2;
  return {centre - half, centre + half};
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
