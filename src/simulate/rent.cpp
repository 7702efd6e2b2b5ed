#include "simulate/rent.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace orrery::simulate {

using plan::Job;
using plan::Market;
using schedule::ClusterView;

namespace {

class RentSpeed final : public SpeedModel {
 public:
  RentSpeed(const Market& market, const RentJobs& jobs) : market_(market), jobs_(jobs) {}

  double rate(const ClusterView& view, JobIndex job, const schedule::Allocation& allocation) const override {
    const schedule::Slice& held = allocation.front();
    const auto vm = static_cast<std::size_t>(view.machines()[held.machine].device);
    const Job& real = jobs_.real[job];
    const auto time = plan::time_s(real, market_.vm_types[vm], held.gpus);
    return time ? schedule::to_seconds(view.facts(job).work_ns) / std::max(*time, 1e-9) : 0;
  }
  double packed_share(const ClusterView&, JobIndex, JobIndex) const override { return 0; }
  double batch_gain(const ClusterView&, JobIndex, const schedule::Allocation&, double) const override { return 1; }

 private:
  const Market& market_;
  const RentJobs& jobs_;
};

Result<JobTrace> job_trace_of(const Market& market, const plan::MarketJobs& jobs) {
  JobTrace job_trace{.name = "rented", .jobs = {}, .tenants = {"all"}};
  int gpus_max = 1;
  for (const plan::VmType& type : market.vm_types) gpus_max = std::max(gpus_max, type.gpus);
  for (const Job& job : jobs) {
    const double work = plan::shortest_s(market, job);
    if (!(work > 0)) return Error::infeasible(fmt::format("job {} cannot run on any VM type", job.id));
    TraceJob one{.id = job.id, .model = {}, .facts = {}};
    one.facts.submit_ns = schedule::from_seconds(job.submit_s);
    one.facts.work_ns = schedule::from_seconds(work);
    one.facts.deadline_ns = schedule::from_seconds(job.due_s);
    one.facts.gpus_max = gpus_max;
    one.facts.priority = job.weight_usd_s;
    job_trace.jobs.push_back(std::move(one));
  }
  return job_trace;
}

// Intervals in which a machine held jobs, and the GPU-seconds of those.
struct Stretch {
  TimeNs from = 0, to = 0;
};

std::vector<Stretch> merged(std::vector<Stretch> all) {
  std::sort(all.begin(), all.end(), [](const Stretch& a, const Stretch& b) { return a.from < b.from; });
  std::vector<Stretch> merged;
  for (const Stretch& one : all) {
    if (!merged.empty() && one.from <= merged.back().to)
      merged.back().to = std::max(merged.back().to, one.to);
    else
      merged.push_back(one);
  }
  return merged;
}

// The largest number of intervals at the same time; those that end when others begin do not overlap.
int most_at_once(const std::vector<std::pair<Stretch, int>>& stretches) {
  std::vector<std::pair<TimeNs, int>> changes;
  for (const auto& [one, size] : stretches) {
    if (one.to == one.from) continue;
    changes.emplace_back(one.from, size);
    changes.emplace_back(one.to, -size);
  }
  std::sort(changes.begin(), changes.end());
  int now = 0, most = 0;
  for (const auto& [at, change] : changes) most = std::max(most, now += change);
  return most;
}

}  // namespace

Result<RentBill> rent_bill(const Market& market, const plan::MarketJobs& jobs, const RunResult& run) {
  const schedule::Machines machines = plan::machines_of(market);
  std::map<MachineIndex, std::vector<Stretch>> held;
  std::map<MachineIndex, double> gpu_s;
  for (const Holding& one : run.holdings) {
    held[one.machine].push_back({one.from_ns, one.to_ns});
    gpu_s[one.machine] += one.gpus * schedule::to_seconds(one.to_ns - one.from_ns);
  }
  RentBill bill;
  std::vector<std::pair<Stretch, int>> all;
  std::vector<std::vector<std::pair<Stretch, int>>> gpus(market.quotas.size());
  for (const auto& [machine, stretches] : held) {
    const auto vm = static_cast<std::size_t>(machines[machine].device);
    const plan::VmType& type = market.vm_types[vm];
    double open_s = 0;
    for (const Stretch& one : merged(stretches)) {
      open_s += schedule::to_seconds(one.to - one.from);
      all.emplace_back(one, 1);
      for (std::size_t q = 0; q < gpus.size(); ++q) {
        const auto& vms = market.quotas[q].vms;
        if (std::find(vms.begin(), vms.end(), vm) != vms.end()) gpus[q].emplace_back(one, type.gpus);
      }
    }
    bill.rental_usd += type.price_usd_h / 3600 * open_s;
    bill.idle_usd += type.price_usd_h / 3600 * (open_s - gpu_s[machine] / type.gpus);
  }
  bill.nodes_most = most_at_once(all);
  if (bill.nodes_most > market.nodes)
    return Error::internal(fmt::format("{} machines were open at once, {} may be", bill.nodes_most, market.nodes));
  for (std::size_t q = 0; q < gpus.size(); ++q)
    if (const int most = most_at_once(gpus[q]); most > market.quotas[q].gpus_max)
      return Error::internal(fmt::format("quota \"{}\": {} GPUs were rented at once, {} may be", market.quotas[q].name,
                                         most, market.quotas[q].gpus_max));
  for (const JobIndex i : jobs.indices()) {
    const double late = schedule::to_seconds(run.jobs[i].end_ns) - jobs[i].due_s;
    if (late <= 0) continue;
    bill.tardiness_usd += jobs[i].weight_usd_s * late;
    ++bill.late;
  }
  return bill;
}

Result<RentRun> simulate_rent(const Market& market, const RentJobs& jobs, const MakeRentPolicy& policy,
                              const Costs& costs) {
  ORRERY_TRY(const JobTrace job_trace, job_trace_of(market, jobs.believed));
  EngineOptions options;
  options.costs = costs;
  options.keep_holdings = true;
  const auto make = [&](const ClusterView&) -> Result<std::unique_ptr<schedule::Policy>> {
    return policy(market, jobs.believed);
  };
  ORRERY_TRY(RunResult run, simulate(job_trace, plan::machines_of(market), RentSpeed(market, jobs), make, options));
  if (!run.unfinished.empty())
    return Error::internal(fmt::format("{} left {} jobs behind", run.policy, run.unfinished.size()));
  ORRERY_TRY(const RentBill bill, rent_bill(market, jobs.real, run));
  return RentRun{std::move(run), bill};
}

}  // namespace orrery::simulate
