#pragma once
// Policies by name: one record each.
//
// To add a policy: its files in policies/, and its record in the table of policies.cpp. Everything that lists or makes
// policies reads the records.

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

// What a policy decides by, beside the number of GPUs that jobs ask for, their tenants and priorities.
enum class Need : std::uint8_t {
  kWork,            // how long a job still runs (ClusterView::left_ns)
  kScaling,         // how fast it would be on other numbers of GPUs (ScalingModel)
  kServers,         // the same with parameter servers
  kDeadlines,       // JobFacts::deadline_ns
  kUtilisation,     // of a GPU and its memory (JobFacts::gpu_utilisation, gpu_memory_share)
  kStages,          // of an iteration (JobFacts::stages)
  kServiceSamples,  // how much service other jobs needed
  kPairSpeeds,      // of jobs that share GPUs
  kPrices,          // of a GPU, by type
};
std::string_view to_string(Need need);

// On clusters where jobs are faster on some types of devices than on others.
enum class OnTypes : std::uint8_t {
  kRefuses,  // it knows one type only
  kFastest,  // the placer finds the fastest type with enough GPUs
  kChooses,  // it chooses the type itself
};

// What a policy that needs kWork does with a job of which nothing says how much work it is (kUnknownWork).
enum class UnknownWork : std::uint8_t {
  kGoesLast,  // behind all jobs of known work; of several the one that has done most first
  kAsDone,    // it has as much left as it has done, and at least an hour (ClusterView::expected_left_ns)
};
std::string_view to_string(UnknownWork rule);

// Inputs that policies may need beyond the view.
struct PolicyInputs {
  std::string placement = "consolidated";
  const ScalingModel* scaling = nullptr;       // borrowed
  double young_factor = 1;                     // on the gains of young jobs, where scaling is learned while jobs run
  std::vector<double> service_sample_gpu_s{};  // empty: of the jobs that have ended
  LasOptions las{};
  GandivaOptions gandiva{};
  double round_s = 0;                 // of policies that work in rounds; 0: their own
  double switch_s = 0;                // that a job loses when it is started again, moved or resized
  std::vector<double> type_prices{};  // of a GPU, by type; empty: all the same
  // The share of its speed that the first keeps when it shares GPUs with the second.
  std::function<double(const ClusterView&, JobIndex, JobIndex)> packed_share{};
  bool typed = false;  // jobs are faster on some types of devices than on others
};

struct PolicyRecord {
  using Make = std::function<Result<std::unique_ptr<Policy>>(const PolicyInputs&, std::unique_ptr<Placer>)>;

  std::string name;
  std::string summary;
  std::vector<Need> needs{};
  OnTypes on_types = OnTypes::kChooses;
  bool is_preemptive = true;  // it suspends, moves or resizes jobs
  bool is_elastic = false;    // it gives jobs other numbers of GPUs than they ask for, whatever their gpus_max
  // It can work with a placement that rather waits than takes any free GPUs ("best-fit").
  bool may_wait = false;
  UnknownWork unknown_work = UnknownWork::kAsDone;
  Make make{};

  bool has_need(Need need) const;
};

// Those of this module.
const std::vector<PolicyRecord>& all_policies();
// Whether it is one of them that makes jobs elastic (PolicyRecord::is_elastic).
bool needs_elastic_jobs(std::string_view policy);
// nullptr: there is none.
const PolicyRecord* find_policy(const std::vector<PolicyRecord>& policies, std::string_view name);
// The error of a name that is none of them, with the nearest match.
Error no_such_policy(const std::vector<PolicyRecord>& policies, std::string_view name);

// The error says what the policy lacks.
Result<std::unique_ptr<Policy>> make_policy(const PolicyRecord& record, const PolicyInputs& inputs);
// One of all_policies().
Result<std::unique_ptr<Policy>> make_policy(std::string_view name, const PolicyInputs& inputs);

}  // namespace orrery::schedule
