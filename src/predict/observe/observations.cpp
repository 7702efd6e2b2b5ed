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

// Finite, from 0 on.
Result<double> amount(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return Error::invalid(fmt::format("\"{}\" is not a number", key));
  const auto value = found->get<double>();
  if (!(value >= 0) || !std::isfinite(value)) return Error::invalid(fmt::format("\"{}\" is not 0 or more", key));
  return value;
}

// The same, or null: never.
Result<double> amount_or_never(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found != json.end() && found->is_null()) return kNever;
  return amount(json, key);
}

Json to_json(const ObservedLosses& losses) {
  const auto or_null = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  Json json = {{"unit", losses.counts_epochs ? "epochs" : "steps"},
               {"losses", losses.losses},
               {"last", losses.last},
               {"needed", or_null(losses.step)},
               {"low", or_null(losses.low)},
               {"high", or_null(losses.high)},
               {"b0", losses.curve.b0},
               {"b1", losses.curve.b1},
               {"b2", losses.curve.b2},
               {"scale", losses.curve.scale},
               {"seed", losses.seed}};
  if (losses.target) {
    json["target"] = *losses.target;
  } else {
    json["threshold"] = losses.threshold;
    json["window"] = losses.window;
  }
  return json;
}

Result<ObservedLosses> parse_losses_of(const Json& json) {
  if (!json.is_object()) return Error::invalid("\"losses\" is not an object");
  ObservedLosses losses;
  const auto unit = json.find("unit");
  if (unit == json.end() || (*unit != "steps" && *unit != "epochs")) {
    return Error::invalid("\"unit\" of \"losses\" is neither \"steps\" nor \"epochs\"");
  }
  losses.counts_epochs = *unit == "epochs";
  for (const auto& [key, number] : {std::pair{"losses", &losses.losses}, std::pair{"seed", &losses.seed}}) {
    ORRERY_TRY(const double value, amount(json, key));
    if (value > 1e15) return Error::invalid(fmt::format("\"{}\" is above 1e15", key));
    *number = static_cast<std::uint64_t>(value);
  }
  for (const auto& [key, number] :
       {std::pair{"last", &losses.last}, std::pair{"b0", &losses.curve.b0}, std::pair{"b1", &losses.curve.b1},
        std::pair{"b2", &losses.curve.b2}, std::pair{"scale", &losses.curve.scale}}) {
    ORRERY_TRY(*number, amount(json, key));
  }
  for (const auto& [key, number] :
       {std::pair{"needed", &losses.step}, std::pair{"low", &losses.low}, std::pair{"high", &losses.high}}) {
    ORRERY_TRY(*number, amount_or_never(json, key));
  }
  if (!(losses.curve.scale > 0)) return Error::invalid("\"scale\" is not above 0");
  if (!(losses.low <= losses.step && losses.step <= losses.high)) {
    return Error::invalid("\"needed\" is not between \"low\" and \"high\"");
  }
  if (json.contains("target")) {
    ORRERY_TRY(losses.target, amount(json, "target"));
    return losses;
  }
  ORRERY_TRY(losses.threshold, amount(json, "threshold"));
  ORRERY_TRY(losses.window, amount(json, "window"));
  return losses;
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
  if (const auto losses = json.find("losses"); losses != json.end()) {
    ORRERY_TRY(one.losses, parse_losses_of(*losses));
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
  Json json = {{"device", observation.device},
               {"predictor", observation.predictor},
               {"run", observation.run},
               {"predicted_s", observation.predicted},
               {"measured_s", observation.measured}};
  if (observation.losses) json["losses"] = to_json(*observation.losses);
  const std::string line = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  // A line that cannot be read again would make the whole file unusable.
  if (const auto again = parse_line(line); !again) return again.error();
  ORRERY_TRY(const auto log, files.open_log(path));
  ORRERY_TRY_VOID(log->append(line + "\n"));
  return log->sync();
}

}  // namespace orrery::predict
