#include "predict/operators/device_ensemble.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>

#include "base/statistics.h"

namespace orrery::predict {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kOverheadShare = 0.01;         // of the fastest rows show the overhead
constexpr std::size_t kCalibrationRows = 6000;  // per device
constexpr double kUnknownOverheadMs = 0.03;
constexpr float kSlack = 0.02F;  // of a feature's range that still counts as inside

// The time of the fastest rows, if the work in them hardly counts.
double overhead_of(std::vector<std::pair<double, double>> measured_and_roof) {
  if (measured_and_roof.empty()) return kNan;
  std::sort(measured_and_roof.begin(), measured_and_roof.end());
  const auto place = static_cast<std::size_t>(kOverheadShare * static_cast<double>(measured_and_roof.size()));
  const auto [measured, roof] = measured_and_roof[place];
  return roof > measured / 2 ? kNan : measured;
}

double median_of_known(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  return values.empty() ? kNan : median(values);
}

Status check_rows(const std::vector<DeviceFacts>& devices, const Features& features, const std::vector<WorkRow>& rows) {
  if (features.rows() != rows.size()) return Error::invalid("as many feature rows as rows of work are needed");
  for (const WorkRow& row : rows) {
    if (row.device >= devices.size()) return Error::invalid("a row of work names a device that is not there");
    if (!(row.roof_ms > 0) || !std::isfinite(row.roof_ms)) return Error::invalid("a roof must be positive and finite");
    if (row.weight > 0 && !(row.measured_ms > 0)) return Error::invalid("a row to fit needs a measured time above 0");
  }
  return {};
}

}  // namespace

void FeatureRange::add(std::span<const float> row) {
  if (low.empty()) {
    low.assign(row.begin(), row.end());
    high = low;
  }
  for (std::size_t c = 0; c < row.size(); ++c) {
    low[c] = std::min(low[c], row[c]);
    high[c] = std::max(high[c], row[c]);
  }
}

bool FeatureRange::has(std::span<const float> row) const {
  if (row.size() != low.size()) return false;
  for (std::size_t c = 0; c < row.size(); ++c) {
    const float slack = kSlack * (high[c] - low[c]);
    if (!(row[c] >= low[c] - slack && row[c] <= high[c] + slack)) return false;
  }
  return true;
}

double weighted_median(std::span<const std::pair<double, double>> values_and_weights) {
  ORRERY_CHECK(!values_and_weights.empty());
  std::vector<std::pair<double, double>> sorted(values_and_weights.begin(), values_and_weights.end());
  std::sort(sorted.begin(), sorted.end());
  double total = 0;
  for (const auto& [value, weight] : sorted) total += weight;
  double before = 0;
  double last_middle = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double middle = (before + sorted[i].second / 2) / total;
    if (middle >= 0.5) {
      if (i == 0) return sorted[0].first;
      const double share = (0.5 - last_middle) / (middle - last_middle);
      return sorted[i - 1].first + share * (sorted[i].first - sorted[i - 1].first);
    }
    last_middle = middle;
    before += sorted[i].second;
  }
  return sorted.back().first;
}

Result<DeviceEnsemble> DeviceEnsemble::fit(std::vector<DeviceFacts> devices, const Features& features,
                                           std::vector<WorkRow> rows, const EnsembleOptions& options) {
  ORRERY_TRY_VOID(check_rows(devices, features, rows));
  DeviceEnsemble ensemble;
  ensemble.devices_ = std::move(devices);
  ensemble.rows_ = std::move(rows);
  ensemble.options_ = options;
  ensemble.find_members();
  if (ensemble.members_.empty()) return Error::invalid("no rows to learn from");
  ensemble.fill_unknown_overheads();
  for (Member& member : ensemble.members_) ORRERY_TRY_VOID(ensemble.fit_member(member, features));
  return ensemble;
}

void DeviceEnsemble::find_members() {
  std::size_t kinds = 0;
  for (const WorkRow& row : rows_) kinds = std::max(kinds, row.kind + 1);
  for (std::size_t device = 0; device < devices_.size(); ++device) {
    std::vector<std::vector<std::pair<double, double>>> by_kind(kinds);
    bool has_rows = false;
    for (const WorkRow& row : rows_) {
      if (row.device != device || !(row.weight > 0)) continue;
      by_kind[row.kind].push_back({row.measured_ms, row.roof_ms});
      has_rows = true;
    }
    if (!has_rows) continue;
    Member member{.device = device, .overhead_ms = {}, .trees = {}, .log_ratio = {}, .in_range = {}, .range = {}};
    for (auto& pairs : by_kind) member.overhead_ms.push_back(overhead_of(std::move(pairs)));
    members_.push_back(std::move(member));
  }
}

// A device measured on large work only shows no overhead: the median of the others replaces it.
void DeviceEnsemble::fill_unknown_overheads() {
  for (std::size_t kind = 0; kind < members_[0].overhead_ms.size(); ++kind) {
    std::vector<double> known;
    for (const Member& member : members_) known.push_back(member.overhead_ms[kind]);
    const double typical = median_of_known(known);
    for (Member& member : members_) {
      if (!std::isnan(member.overhead_ms[kind])) continue;
      member.overhead_ms[kind] = std::isnan(typical) ? kUnknownOverheadMs : typical;
    }
  }
}

Status DeviceEnsemble::fit_member(Member& member, const Features& features) const {
  Features fitted(features.names());
  std::vector<double> targets;
  std::vector<double> weights;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].device != member.device || !(rows_[i].weight > 0)) continue;
    fitted.add(features.row(i));
    member.range.add(features.row(i));
    targets.push_back(std::log(rows_[i].measured_ms / (member.overhead_ms[rows_[i].kind] + rows_[i].roof_ms)));
    weights.push_back(rows_[i].weight);
  }
  ORRERY_TRY(member.trees, BoostedTrees::fit(fitted, targets, weights, options_.boost));
  member.log_ratio.resize(rows_.size());
  member.in_range.resize(rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    member.log_ratio[i] = static_cast<float>(member.trees.predict(features.row(i)));
    member.in_range[i] = member.range.has(features.row(i)) ? 1 : 0;
  }
  return {};
}

bool DeviceEnsemble::is_out(std::size_t member, std::size_t own, std::span<const std::size_t> excluded) const {
  const std::size_t device = members_[member].device;
  return device == own || std::find(excluded.begin(), excluded.end(), device) != excluded.end();
}

double DeviceEnsemble::overhead_for(std::size_t kind, std::size_t own, std::span<const std::size_t> excluded) const {
  std::vector<double> overheads;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (!is_out(m, own, excluded)) overheads.push_back(members_[m].overhead_ms[kind]);
  }
  ORRERY_CHECK(!overheads.empty());
  return median(overheads) * options_.overhead_share;
}

double DeviceEnsemble::floor_ms(std::size_t row, std::span<const std::size_t> excluded) const {
  return overhead_for(rows_[row].kind, rows_[row].device, excluded) + rows_[row].roof_ms;
}

double DeviceEnsemble::weight_of(double generations) const {
  return std::isnan(generations) ? 1 : std::exp(-std::abs(generations) / options_.reach);
}

EnsembleAnswer DeviceEnsemble::predict(std::size_t row, std::span<const std::size_t> excluded) const {
  const WorkRow& work = rows_[row];
  const double generation = devices_[work.device].generation;
  std::vector<std::pair<double, double>> opinions;
  bool inside = false;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (is_out(m, work.device, excluded)) continue;
    inside |= members_[m].in_range[row] != 0;
    const double weight = weight_of(devices_[members_[m].device].generation - generation);
    opinions.push_back({static_cast<double>(members_[m].log_ratio[row]), weight});
  }
  ORRERY_CHECK(!opinions.empty());
  return {std::exp(weighted_median(opinions)) * floor_ms(row, excluded), false, inside};
}

EnsembleAnswer DeviceEnsemble::predict_seen(std::size_t row) const {
  const WorkRow& work = rows_[row];
  const auto own = std::find_if(members_.begin(), members_.end(),
                                [&](const Member& member) { return member.device == work.device; });
  ORRERY_CHECK(own != members_.end());
  const double floor = own->overhead_ms[work.kind] + work.roof_ms;
  const bool inside = own->in_range[row] != 0;
  return {std::exp(static_cast<double>(own->log_ratio[row])) * floor, inside, inside};
}

EnsembleAnswer DeviceEnsemble::predict_new(const DeviceFacts& device, std::span<const float> features, double roof_ms,
                                           std::size_t kind, std::string_view excluded) const {
  std::vector<std::pair<double, double>> opinions;
  std::vector<double> overheads;
  bool inside = false;
  for (const Member& member : members_) {
    const DeviceFacts& measured = devices_[member.device];
    if (measured.name == excluded) continue;
    const double log_ratio = member.trees.predict(features);
    const bool in_range = member.range.has(features);
    if (measured.name == device.name) {
      return {std::exp(log_ratio) * (member.overhead_ms[kind] + roof_ms), in_range, in_range};
    }
    inside |= in_range;
    opinions.push_back({log_ratio, weight_of(measured.generation - device.generation)});
    overheads.push_back(member.overhead_ms[kind]);
  }
  ORRERY_CHECK(!opinions.empty());
  return {std::exp(weighted_median(opinions)) * (median(overheads) * options_.overhead_share + roof_ms), false, inside};
}

std::size_t DeviceEnsemble::members_beside(std::size_t device) const {
  return static_cast<std::size_t>(
      std::count_if(members_.begin(), members_.end(), [&](const Member& member) { return member.device != device; }));
}

Result<Conformal> DeviceEnsemble::calibrate(std::size_t device) const {
  if (members_beside(device) < 2) {
    return Error::invalid(fmt::format("an interval for {} needs measurements of two other devices",
                                      device < devices_.size() ? devices_[device].name : "new devices"));
  }
  std::vector<CalibrationPair> pairs;
  const std::size_t excluded[] = {device};
  for (const Member& member : members_) {
    if (member.device == device) continue;
    std::vector<std::size_t> own;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].device == member.device && rows_[i].measured_ms > 0 && rows_[i].weight > 0) own.push_back(i);
    }
    const std::size_t step = own.size() / kCalibrationRows + 1;
    for (std::size_t i = 0; i < own.size(); i += step) {
      pairs.push_back({predict(own[i], excluded).time_ms, rows_[own[i]].measured_ms, rows_[own[i]].group,
                       devices_[member.device].name});
    }
  }
  return Conformal::fit(pairs);
}

void DeviceEnsemble::write(ByteWriter& out) const {
  out.f64(options_.reach);
  out.f64(options_.overhead_share);
  out.u32(static_cast<std::uint32_t>(members_.size()));
  for (const Member& member : members_) {
    out.text(devices_[member.device].name);
    out.f64(devices_[member.device].generation);
    out.u32(static_cast<std::uint32_t>(member.overhead_ms.size()));
    for (const double overhead : member.overhead_ms) out.f64(overhead);
    member.trees.write(out);
    for (const float bound : member.range.low) out.f32(bound);
    for (const float bound : member.range.high) out.f32(bound);
  }
}

Result<DeviceEnsemble> DeviceEnsemble::read(ByteReader& in) {
  constexpr std::size_t kMembersMax = 1000, kKindsMax = 1000, kNameMax = 256;
  DeviceEnsemble ensemble;
  ORRERY_TRY(ensemble.options_.reach, in.f64());
  ORRERY_TRY(ensemble.options_.overhead_share, in.f64());
  if (!(ensemble.options_.reach > 0)) return Error::invalid("the reach of a device is damaged");
  ORRERY_TRY(const std::size_t members, in.count(24, kMembersMax));
  if (members == 0) return Error::invalid("no devices");
  for (std::size_t i = 0; i < members; ++i) {
    Member member{.device = i, .overhead_ms = {}, .trees = {}, .log_ratio = {}, .in_range = {}, .range = {}};
    DeviceFacts device;
    ORRERY_TRY(device.name, in.text(kNameMax));
    ORRERY_TRY(device.generation, in.f64());
    ORRERY_TRY(const std::size_t kinds, in.count(8, kKindsMax));
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      ORRERY_TRY(const double overhead, in.f64());
      if (!(overhead >= 0) || !std::isfinite(overhead)) return Error::invalid("an overhead is damaged");
      member.overhead_ms.push_back(overhead);
    }
    ORRERY_TRY(member.trees, BoostedTrees::read(in));
    for (std::vector<float>* bounds : {&member.range.low, &member.range.high}) {
      for (std::size_t column = 0; column < member.trees.columns(); ++column) {
        ORRERY_TRY(bounds->emplace_back(), in.f32());
      }
    }
    const bool is_alike = i == 0 || (kinds == ensemble.members_[0].overhead_ms.size() &&
                                     member.trees.columns() == ensemble.members_[0].trees.columns());
    if (!is_alike || kinds == 0) return Error::invalid("the devices were learned from different things");
    ensemble.devices_.push_back(std::move(device));
    ensemble.members_.push_back(std::move(member));
  }
  return ensemble;
}

}  // namespace orrery::predict
