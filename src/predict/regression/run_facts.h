#pragma once
// What Orrery knows of a training run before it runs, by the names that columns of a table may have
// (docs/regression.md lists them). A regression of such columns can predict a run.

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "hardware/placement.h"
#include "workload/training_run.h"

namespace orrery::predict {

using Fact = std::variant<double, std::string>;
using RunFacts = std::map<std::string, Fact, std::less<>>;

struct FactName {
  std::string_view name, meaning;
};
// Every fact there is of a run, in the order of the documentation.
const std::vector<FactName>& fact_names();

// One value for every one of fact_names().
RunFacts run_facts(const workload::TrainingRun& run, const hardware::Placement& placement);

// "width=2,disk=ssd": numbers where they are, otherwise texts. An error names the part.
Result<RunFacts> parse_facts(const std::vector<std::string>& parts);

}  // namespace orrery::predict
