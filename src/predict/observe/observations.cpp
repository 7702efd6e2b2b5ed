#include "predict/observe/observations.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/statistics.h"
#include "base/text.h"

namespace orrery::predict {

namespace {

using Json = nlohmann::ordered_json;

constexpr Bytes kFileMax = mebibytes(64);
constexpr std::size_t kTextMax = 1000;
constexpr double kOutlier = 6;
constexpr std::size_t kOutliersFrom = 8;  // runs
constexpr double kNinetieth = 0.9;
constexpr double kLeastDeviation = 0.005;  // no two runs take exactly the same time

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double deviation(std::span<const double> values) {
  const double middle = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - middle) * (value - middle);
  return std::max(kLeastDeviation, std::sqrt(sum / static_cast<double>(values.size() - 1)));
}

// Ratios without those far from the rest; with a handful of ratios an outlier cannot be identified.
std::vector<double> without_outliers(const std::vector<double>& ratios) {
  if (ratios.size() < kOutliersFrom) return ratios;
  const double middle = median(ratios);
  std::vector<double> distances;
  for (const double ratio : ratios) distances.push_back(std::abs(ratio - middle));
  const double reach = kOutlier * std::max(kLeastDeviation, median(distances));
  std::vector<double> kept;
  for (const double ratio : ratios) {
    if (std::abs(ratio - middle) <= reach) kept.push_back(ratio);
  }
  return kept;
}

double relative_error(double log_ratio) {
  return std::abs(std::exp(-log_ratio) - 1);
}

Result<Observation> parse_line(const std::string& line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return Error::invalid("not a JSON object");
  Observation one;
  for (const auto& [key, text] :
       {std::pair{"device", &one.device}, std::pair{"predictor", &one.predictor}, std::pair{"run", &one.run}}) {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_string()) return Error::invalid(fmt::format("\"{}\" is not a text", key));
    *text = found->get<std::string>();
    if (text->size() > kTextMax) return Error::invalid(fmt::format("\"{}\" is too long", key));
  }
  for (const auto& [key, number] : {std::pair{"predicted_s", &one.predicted}, std::pair{"measured_s", &one.measured}}) {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_number()) return Error::invalid(fmt::format("\"{}\" is not a number", key));
    *number = found->get<double>();
    if (!(*number > 0) || !std::isfinite(*number)) return Error::invalid(fmt::format("\"{}\" is not above 0", key));
  }
  return one;
}

}  // namespace

std::optional<Correction> correction_of(std::span<const Observation> all, std::string_view device,
                                        std::string_view predictor) {
  std::vector<double> ratios;
  for (const Observation& one : all) {
    if (one.device == device && one.predictor == predictor) ratios.push_back(std::log(one.measured / one.predicted));
  }
  if (ratios.size() < kObservationsMin) return std::nullopt;
  const std::vector<double> kept = without_outliers(ratios);
  const auto count = static_cast<double>(kept.size());
  const double middle = mean(kept);
  const double reach = student_quantile(kNinetieth, count - 1) * deviation(kept) * std::sqrt(1 + 1 / count);
  Correction correction{.factor = std::exp(middle),
                        .low = std::exp(-reach),
                        .high = std::exp(reach),
                        .runs = kept.size(),
                        .outliers = ratios.size() - kept.size()};
  for (const double ratio : kept) {
    const double others = (middle * count - ratio) / (count - 1);
    correction.error_before += relative_error(ratio) / count;
    correction.error_after += relative_error(ratio - others) / count;
  }
  return correction;
}

Result<std::vector<Observation>> parse_observations(std::string_view text) {
  std::vector<Observation> all;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    const std::string line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto one = parse_line(line);
    if (!one) return Error::invalid(fmt::format("line {}: {}", number, one.error().message()));
    all.push_back(std::move(*one));
  }
  return all;
}

Result<std::vector<Observation>> read_observations(env::Files& files, const std::string& path) {
  if (!files.exists(path)) return std::vector<Observation>{};
  ORRERY_TRY(const std::string text, files.read(path, kFileMax));
  auto all = parse_observations(text);
  if (!all) return std::move(all).error().with_context(path);
  return all;
}

Status append_observation(env::Files& files, const std::string& path, const Observation& observation) {
  const Json json = {{"device", observation.device},
                     {"predictor", observation.predictor},
                     {"run", observation.run},
                     {"predicted_s", observation.predicted},
                     {"measured_s", observation.measured}};
  const std::string line = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  // A line that cannot be read again would make the whole file unusable.
  if (const auto again = parse_line(line); !again) return again.error();
  ORRERY_TRY(const auto log, files.open_log(path));
  ORRERY_TRY_VOID(log->append(line + "\n"));
  return log->sync();
}

}  // namespace orrery::predict
