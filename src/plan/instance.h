#pragma once
// One decision: the jobs that are there, the machines that can be rented, and the constants of the cost.
//
// Files have the form `capacity-oracle-1` (docs/reference/planning.md): an object with `instance`, or the instance
// itself. Jobs are kept in the order of their ids and VM types in that of their names, so their order in the file
// changes nothing.

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "plan/spot.h"

namespace orrery::plan {

inline constexpr Bytes kInstanceBytesMax = mebibytes(64);
inline constexpr int kNodesMax = 100'000;
inline constexpr int kVmGpusMax = 16;  // 231 partitions of one machine
inline constexpr std::size_t kVmTypesMax = 1'000;
inline constexpr std::size_t kJobsMax = 100'000;
inline constexpr std::size_t kQuotasMax = 100;
inline constexpr double kPriceMaxUsdH = 1e5;
inline constexpr double kTimeMaxS = 1e9;
inline constexpr double kCostMaxUsd = 1e15;  // all jobs at their worst; doubles still distinguish tenths of a dollar

struct VmType {
  std::string name;
  std::string gpu;
  int gpus = 1;
  double price_usd_h = 0;
  int nodes_max = kNodesMax;
  double memory_gib = std::numeric_limits<double>::infinity();  // of each GPU
  std::optional<SpotRules> spot{};                              // it can be taken back
};

// GPUs of several VM types together, as providers limit them by account or region.
struct Quota {
  std::string name;
  std::vector<std::size_t> vms;
  int gpus_max = 1;
};

struct Job {
  std::string id{};
  double submit_s = 0;
  double due_s = 0;
  double weight_usd_s = 0;                                  // what a second of tardiness costs
  std::map<std::string, std::vector<double>> times_s{};     // by type of GPU; [g - 1]: time left on g of them;
                                                            // infinite: it cannot run on that many
  std::map<std::string, std::vector<double>> machines_s{};  // by VM type; [m - 2]: time left on m whole machines of it
  std::vector<double> memory_gib{};                         // [g - 1]: of each of g GPUs; the last holds for more
  // The VM type and GPUs it has now; what it loses if it is started again, moved or resized; the machine it must stay
  // on, unless empty. Going from one machine to another of the same type costs nothing in a plan.
  std::optional<std::pair<std::size_t, int>> held{};
  double switch_s = 0;
  std::string pinned_on{};

  bool is_pinned() const { return !pinned_on.empty(); }
};

struct Instance {
  int nodes = 1;  // that may be open at once
  double now_s = 0;
  double horizon_s = 300;  // until the next decision
  double rho = 100;        // how much worse tardiness is for postponed jobs
  double kappa = 0;        // share of the horizon a postponed job pays as if late
  double wait_fraction = 0.25;
  std::vector<VmType> vm_types;
  std::vector<Job> jobs;
  std::vector<Quota> quotas{};
  double budget_usd = std::numeric_limits<double>::infinity();  // of rent: shares of running jobs and idle GPUs
};

// Errors name the file, the field and what was expected. kInfeasible: a job that no VM type can run, or pinned jobs
// that break a limit by themselves; says which and by how much.
Result<Instance> read_instance(std::string_view text, const std::string& name);

// The time left of a job on `gpus` GPUs of a machine of that type, on spot machines the expected one; no value if it
// cannot run there.
std::optional<double> time_s(const Job& job, const VmType& type, int gpus);
// The same, plus what it loses before unless it continues as it is.
std::optional<double> run_s(const Instance& instance, const Job& job, std::size_t vm, int gpus);
// The share of each of g GPUs that the job uses; 0 if it is not stated.
double memory_gib(const Job& job, int gpus);

}  // namespace orrery::plan
