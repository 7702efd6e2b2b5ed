#include "predict/regression/campaign_file.h"

#include <cmath>
#include <fmt/format.h>
#include <functional>

#include "base/text.h"
#include "predict/regression/python_literal.h"

namespace orrery::predict {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kLinesMax = 10'000;
constexpr std::size_t kGridMax = 10'000;

// Sections and their keys, in the order of the file.
using Section = std::vector<std::pair<std::string, Json>>;
using Sections = std::vector<std::pair<std::string, Section>>;

// What is not a literal is its own text.
Json value_of(std::string_view text) {
  auto value = parse_python_literal(text);
  return value ? std::move(*value) : Json(std::string(text));
}

Result<Sections> read_sections(std::string_view text) {
  Sections sections;
  std::size_t number = 0;
  while (!text.empty()) {
    if (++number > kLinesMax) return Error::invalid(fmt::format("more than {} lines", kLinesMax));
    const std::size_t end = text.find('\n');
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      if (line.back() != ']')
        return Error::invalid(fmt::format("line {}: a section needs its closing bracket", number));
      sections.emplace_back(std::string(trim(line.substr(1, line.size() - 2))), Section{});
      continue;
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || sections.empty()) {
      return Error::invalid(fmt::format("line {}: expected `[Section]` or `key = value`", number));
    }
    const std::string key(trim(line.substr(0, equals)));
    for (const auto& [other, value] : sections.back().second) {
      if (other == key) return Error::invalid(fmt::format("line {}: {} is given twice", number, key));
    }
    sections.back().second.emplace_back(key, value_of(trim(line.substr(equals + 1))));
  }
  return sections;
}

Error bad_value(std::string_view key, std::string_view expected) {
  return Error::invalid(fmt::format("{}: expected {}", key, expected));
}

Status set(std::string& to, const std::string& key, const Json& value) {
  if (value.is_string())
    to = value.get<std::string>();
  else
    return bad_value(key, "a text");
  return {};
}
Status set(double& to, const std::string& key, const Json& value) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) return bad_value(key, "a number");
  to = value.get<double>();
  return {};
}
Status set(bool& to, const std::string& key, const Json& value) {
  if (!value.is_boolean()) return bad_value(key, "True or False");
  to = value.get<bool>();
  return {};
}
Status set_count(int& to, const std::string& key, const Json& value, int least) {
  double number = 0;
  ORRERY_TRY_VOID(set(number, key, value));
  if (number < least || number > 1e6 || number != std::floor(number)) {
    return bad_value(key, fmt::format("a whole number from {} on", least));
  }
  to = static_cast<int>(number);
  return {};
}
Status set(std::vector<std::string>& to, const std::string& key, const Json& value) {
  if (value.is_string()) {  // "[*]" is no literal
    const auto text = value.get<std::string>();
    if (text != "[*]" && text != "*") return bad_value(key, "a list of columns or [*]");
    to = {"*"};
    return {};
  }
  if (!value.is_array()) return bad_value(key, "a list");
  for (const Json& one : value) {
    ORRERY_TRY_VOID(set(to.emplace_back(), key, one));
  }
  return {};
}
Status set(InterpolationRule& to, const std::string& key, const Json& value) {
  if (value.is_number()) {
    ORRERY_TRY_VOID(set(to.emplace<double>(), key, value));
    if (std::get<double>(to) < 2) return bad_value(key, "a step from 2 on or a list of values");
    return {};
  }
  if (!value.is_array()) return bad_value(key, "a step or a list of values");
  auto& values = to.emplace<std::vector<double>>();
  for (const Json& one : value) {
    ORRERY_TRY_VOID(set(values.emplace_back(), key, one));
  }
  return {};
}
template <class T>
Status set(std::map<std::string, T>& to, const std::string& key, const Json& value) {
  if (!value.is_object()) return bad_value(key, "{'column': value}");
  for (const auto& [column, one] : value.items()) {
    ORRERY_TRY_VOID(set(to[column], key + " " + quote(column), one));
  }
  return {};
}
Status set(std::vector<std::vector<std::string>>& to, const std::string& key, const Json& value) {
  std::vector<std::string> lists;
  ORRERY_TRY_VOID(set(lists, key, value));
  for (const std::string& list : lists) to.push_back(split(list, ' '));
  return {};
}
Status set(Validation& to, const std::string& key, const Json& value) {
  static const std::map<std::string, Validation> kNames = {{"All", Validation::kAll},
                                                           {"HoldOut", Validation::kHoldOut},
                                                           {"KFold", Validation::kKFold},
                                                           {"Extrapolation", Validation::kExtrapolation},
                                                           {"Interpolation", Validation::kInterpolation}};
  std::string name;
  ORRERY_TRY_VOID(set(name, key, value));
  const auto found = kNames.find(name);
  if (found == kNames.end()) return bad_value(key, "All, HoldOut, KFold, Extrapolation or Interpolation");
  to = found->second;
  return {};
}
Status set(Selection& to, const std::string& key, const Json& value) {
  std::string name;
  ORRERY_TRY_VOID(set(name, key, value));
  if (name != "SFS" && name != "XGBoost") return bad_value(key, "SFS or XGBoost");
  to = name == "SFS" ? Selection::kForward : Selection::kBoosted;
  return {};
}

Status set_ratio(double& to, const std::string& key, const Json& value) {
  ORRERY_TRY_VOID(set(to, key, value));
  if (!(to > 0 && to < 1)) return bad_value(key, "a share between 0 and 1");
  return {};
}

// What each key does to a campaign.
using Setter = std::function<Status(Campaign&, const std::string&, const Json&)>;
using Keys = std::map<std::string, Setter>;

template <class T>
Setter into(T Campaign::*field) {
  return [field](Campaign& to, const std::string& key, const Json& value) { return set(to.*field, key, value); };
}
Setter count_into(int Campaign::*field, int least) {
  return [field, least](Campaign& to, const std::string& key, const Json& value) {
    return set_count(to.*field, key, value, least);
  };
}
Setter ratio_into(double Campaign::*field) {
  return [field](Campaign& to, const std::string& key, const Json& value) { return set_ratio(to.*field, key, value); };
}

Status set_techniques(Campaign& to, const std::string& key, const Json& value) {
  std::vector<std::string> names;
  ORRERY_TRY_VOID(set(names, key, value));
  for (const std::string& name : names) to.techniques.push_back({name});
  return {};
}
Status set_degree(Campaign& to, const std::string& key, const Json& value) {
  if (value == "inf") {
    to.product_degree = 0;
    return {};
  }
  return set_count(to.product_degree, key, value, 1);
}
Status set_columns(Campaign& to, const std::string& key, const Json& value) {
  return set(to.utilisation_columns.emplace(), key, value);
}
Status set_seed(Campaign& to, const std::string& key, const Json& value) {
  int seed = 0;
  ORRERY_TRY_VOID(set_count(seed, key, value, 0));
  to.seed = static_cast<std::uint64_t>(seed);
  return {};
}

const std::map<std::string, Keys>& known_keys() {
  static const std::map<std::string, Keys> kKnown = {
      {"General",
       {{"run_num", count_into(&Campaign::runs, 1)},
        {"seed", set_seed},
        {"techniques", set_techniques},
        {"y", into(&Campaign::target)},
        {"hp_selection", into(&Campaign::hp_selection)},
        {"validation", into(&Campaign::validation)},
        {"hold_out_ratio", ratio_into(&Campaign::hold_out_ratio)},
        {"folds", count_into(&Campaign::folds, 2)},
        {"extrapolation_columns", into(&Campaign::extrapolation)},
        {"interpolation_columns", into(&Campaign::interpolation)}}},
      {"DataPreparation",
       {{"input_path", into(&Campaign::input)},
        {"rename_columns", into(&Campaign::rename)},
        {"skip_rows", into(&Campaign::skip_above)},
        {"utilisation_columns", set_columns},
        {"skip_columns", into(&Campaign::skip_columns)},
        {"inverse", into(&Campaign::inverse)},
        {"log", into(&Campaign::log)},
        {"product_max_degree", set_degree},
        {"product_interactions_only", into(&Campaign::interactions_only)},
        {"selected_products", into(&Campaign::products)},
        {"ernest", into(&Campaign::ernest)},
        {"normalization", into(&Campaign::normalise)}}},
      {"FeatureSelection",
       {{"method", into(&Campaign::selection)},
        {"max_features", count_into(&Campaign::features_max, 1)},
        {"min_features", count_into(&Campaign::features_min, 1)},
        {"folds", count_into(&Campaign::selection_folds, 2)},
        {"XGBoost_tolerance", ratio_into(&Campaign::boosted_share)}}}};
  return kKnown;
}

template <class Map>
std::vector<std::string> keys_of(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

Error unknown(std::string_view what, const std::string& name, const std::vector<std::string>& known) {
  return Error::invalid(fmt::format("unknown {} {}{}", what, quote(name), did_you_mean(name, known)));
}

// Every key a list of values, or one.
Status set_grid(TechniqueGrid& grid, const Section& section) {
  const auto& defaults = technique_defaults().at(grid.name);
  for (const auto& [key, value] : section) {
    if (!defaults.contains(key)) return unknown("key of [" + grid.name + "]", key, keys_of(defaults));
    std::vector<double>& values = grid.values[key];
    for (const Json& one : value.is_array() ? value : Json::array({value})) {
      if (one.is_boolean())
        values.push_back(one.get<bool>() ? 1 : 0);
      else
        ORRERY_TRY_VOID(set(values.emplace_back(), grid.name + " " + key, one));
    }
    if (values.empty()) return bad_value(grid.name + " " + key, "at least one value");
  }
  return {};
}

Status check(const Campaign& campaign) {
  if (campaign.target.empty()) return Error::invalid("[General] y: which column is to be predicted?");
  if (campaign.input.empty()) return Error::invalid("[DataPreparation] input_path: where are the measurements?");
  if (campaign.techniques.empty()) return Error::invalid("[General] techniques: none is given");
  if (campaign.hp_selection == Validation::kExtrapolation || campaign.hp_selection == Validation::kInterpolation) {
    return Error::invalid("hp_selection: All, HoldOut or KFold");
  }
  if (campaign.validation == Validation::kExtrapolation && campaign.extrapolation.empty()) {
    return Error::invalid("validation by extrapolation needs extrapolation_columns");
  }
  if (campaign.validation == Validation::kInterpolation && campaign.interpolation.empty()) {
    return Error::invalid("validation by interpolation needs interpolation_columns");
  }
  const bool has_features = campaign.utilisation_columns || !campaign.skip_columns.empty() ||
                            !campaign.inverse.empty() || campaign.product_degree != 1 || campaign.normalise;
  if (campaign.ernest && has_features) {
    return Error::invalid(
        "ernest excludes utilisation_columns, skip_columns, inverse, product_max_degree and normalization");
  }
  for (const TechniqueGrid& grid : campaign.techniques) {
    std::size_t points = 1;
    for (const auto& [key, values] : grid.values) points *= values.size();
    if (points > kGridMax) return Error::invalid(fmt::format("{}: {} combinations are too many", grid.name, points));
  }
  return {};
}

}  // namespace

const std::map<std::string, std::map<std::string, double>>& technique_defaults() {
  static const std::map<std::string, std::map<std::string, double>> kTechniques = {
      {"LRRidge", {{"alpha", 0.1}}},
      {"NNLS", {{"fit_intercept", 1}}},
      {"Relative", {{"fit_intercept", 1}}},
      {"Stepwise", {{"p_to_add", 0.05}, {"p_to_remove", 0.10}, {"partial", 0}, {"max_iter", 100}}},
      {"DecisionTree", {{"max_depth", 3}, {"min_samples_leaf", 0.01}}},
      {"RandomForest", {{"n_estimators", 5}, {"max_depth", 3}, {"min_samples_leaf", 0.01}}},
      {"XGBoost", {{"n_estimators", 500}, {"learning_rate", 0.1}, {"max_leaves", 32}, {"reg_lambda", 1}}}};
  return kTechniques;
}

Result<Campaign> parse_campaign(std::string_view text) {
  ORRERY_TRY(const Sections sections, read_sections(text));
  Campaign campaign;
  for (const auto& [name, section] : sections) {
    const auto known = known_keys().find(name);
    if (known == known_keys().end()) {
      if (technique_defaults().contains(name)) continue;
      std::vector<std::string> names = keys_of(known_keys());
      for (const std::string& technique : keys_of(technique_defaults())) names.push_back(technique);
      return unknown("section", name, names);
    }
    for (const auto& [key, value] : section) {
      const auto setter = known->second.find(key);
      if (setter == known->second.end()) return unknown("key of [" + name + "]", key, keys_of(known->second));
      ORRERY_TRY_VOID(setter->second(campaign, key, value));
    }
  }
  for (TechniqueGrid& grid : campaign.techniques) {
    if (!technique_defaults().contains(grid.name)) {
      return unknown("technique", grid.name, keys_of(technique_defaults()));
    }
    for (const auto& [name, section] : sections) {
      if (name == grid.name) ORRERY_TRY_VOID(set_grid(grid, section));
    }
  }
  ORRERY_TRY_VOID(check(campaign));
  return campaign;
}

}  // namespace orrery::predict
