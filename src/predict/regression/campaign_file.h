#pragma once
// The configuration file of a regression campaign: INI text, one value per key, each a Python literal (list, dict,
// number, True, False, quoted text) or, failing that, the bare text. docs/regression.md lists the keys.
//
// Unknown sections and keys are errors that name the nearest known one.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace orrery::predict {

enum class Validation { kAll, kHoldOut, kKFold, kExtrapolation, kInterpolation };
enum class Selection { kNone, kForward, kBoosted };

// Which values of a column are kept for validation: those in a list, or every n-th of the sorted ones.
using InterpolationRule = std::variant<std::vector<double>, double>;

// A technique and the values of each of its hyper-parameters; every combination is tried.
struct TechniqueGrid {
  std::string name;
  std::map<std::string, std::vector<double>> values{};
};

struct Campaign {
  // General
  int runs = 1;
  std::uint64_t seed = 0;
  std::vector<TechniqueGrid> techniques;
  std::string target;
  Validation hp_selection = Validation::kAll;
  Validation validation = Validation::kAll;
  double hold_out_ratio = 0.2;
  int folds = 5;
  std::map<std::string, double> extrapolation;
  std::map<std::string, InterpolationRule> interpolation;
  // DataPreparation
  std::string input;
  std::map<std::string, std::string> rename;
  std::map<std::string, double> skip_above;
  std::optional<std::vector<std::string>> utilisation_columns;
  std::vector<std::string> skip_columns;
  std::vector<std::string> inverse, log;  // "*": every numeric column
  int product_degree = 1;                 // 0: without limit
  bool interactions_only = false;
  std::vector<std::vector<std::string>> products;  // explicit ones
  bool ernest = false;
  bool normalise = false;
  // FeatureSelection
  Selection selection = Selection::kNone;
  int features_min = 1, features_max = 0;  // 0: all
  int selection_folds = 5;
  double boosted_share = 0.95;
};

// Techniques there are, with the defaults of their hyper-parameters.
const std::map<std::string, std::map<std::string, double>>& technique_defaults();

// Any text gives a campaign or an error that names the line, the section or the key.
Result<Campaign> parse_campaign(std::string_view text);

}  // namespace orrery::predict
