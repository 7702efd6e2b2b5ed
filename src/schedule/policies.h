#pragma once
// Policies by name, for command lines and files.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schedule/policies/gandiva.h"
#include "schedule/policies/las.h"
#include "schedule/policy.h"
#include "schedule/scaling_model.h"

namespace orrery::schedule {

// Inputs that policies may need beyond the view.
struct PolicyInputs {
  std::string placement = "consolidated";
  const ScalingModel* scaling = nullptr;       // for optimus; borrowed
  double young_factor = 1;                     // on the gains of young jobs, where scaling is learned while jobs run
  std::vector<double> service_sample_gpu_s{};  // for gittins; empty: of the jobs that have ended
  LasOptions las{};
  GandivaOptions gandiva{};
  double round_s = 0;                 // of policies that work in rounds; 0: their own
  std::vector<double> type_prices{};  // of a GPU, by type, for gavel-cost; empty: all the same
  // The share of its speed that the first keeps when it shares GPUs with the second, for gavel-packed.
  std::function<double(const ClusterView&, JobIndex, JobIndex)> packed_share{};
  bool typed = false;  // jobs are faster on some types of devices than on others
};

struct PolicyInfo {
  std::string name;
  std::string summary;
};

const std::vector<PolicyInfo>& all_policies();

// Policies that give jobs other numbers of GPUs than they ask for.
bool needs_elastic_jobs(std::string_view policy);

// The error names the nearest policy, or what is missing.
Result<std::unique_ptr<Policy>> make_policy(std::string_view name, const PolicyInputs& inputs);

}  // namespace orrery::schedule
