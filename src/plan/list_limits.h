#pragma once
// What a list of jobs (job_list.h) states about the machines it may rent: quotas, how many of a VM type, budgets, how
// often spot machines are taken back, and what energy costs.
//
// VM types come from a price list, so a list names them by part of their name or of their GPU's, ignoring case:
// "azure", "V100", "p3.8xlarge".

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/yaml.h"
#include "plan/horizon/tariffs.h"
#include "plan/instance.h"

namespace orrery::plan {

inline constexpr std::size_t kMatchBytesMax = 200;
inline constexpr double kBudgetMax = 1e9;

struct ListedQuota {
  std::string name;
  std::vector<std::string> match;  // VM types that match any of them
  int gpus_max = 0;
  std::size_t line = 0;
};

struct ListedCap {
  std::vector<std::string> match;
  int nodes_max = 0;  // of each VM type that matches
  std::size_t line = 0;
};

struct ListLimits {
  double budget_usd = std::numeric_limits<double>::infinity();  // of rent, over the horizon
  double budget_kgco2 = std::numeric_limits<double>::infinity();
  std::vector<ListedQuota> quotas{};
  std::vector<ListedCap> caps{};
};

// The fields `limits`, `energy` and `spot` of a list. Errors read `file:line: field: message`.
Result<ListLimits> read_limits(YamlFields& list);
Result<horizon::EnergyFacts> read_energy(YamlFields& list);
Result<std::optional<SpotRules>> read_spot(YamlFields& list);

// A time after the start, or a length: "90s", "6h". Nothing if the field is missing.
Result<std::optional<Seconds>> time_field(YamlFields& fields, std::string_view key);

// The quotas on these types; those that match none are left out.
std::vector<Quota> quotas_on(const ListLimits& limits, const std::vector<VmType>& types);

bool matches(const VmType& type, const std::vector<std::string>& patterns);

// Lowers VmType::nodes_max to what limits and quotas leave; 0: none. A limit that matches no VM type is an error at its
// line of `file`.
Status apply_limits(const ListLimits& limits, const std::string& file, std::vector<VmType>& types);

}  // namespace orrery::plan
