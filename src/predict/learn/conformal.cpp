#include "predict/learn/conformal.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

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
  std::vector<double> all;
  std::map<std::string, std::vector<double>> by_group;
  for (const CalibrationPair& pair : pairs) {
    const double ratio = std::log(pair.measured / pair.predicted);
    if (!(pair.measured > 0) || !(pair.predicted > 0) || !std::isfinite(ratio)) {
      return Error::invalid(fmt::format("a pair of {} predicted and {} measured; both must be positive and finite",
                                        pair.predicted, pair.measured));
    }
    all.push_back(ratio);
    by_group[pair.group].push_back(ratio);
  }
  Conformal model;
  model.all_ = ratio_interval(std::move(all), level);
  for (auto& [group, ratios] : by_group) {
    if (ratios.size() >= group_min) model.groups_[group] = ratio_interval(std::move(ratios), level);
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
