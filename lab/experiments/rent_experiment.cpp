#include "lab/experiments/rent_experiment.h"

#include <cmath>
#include <fmt/format.h>

#include "plan/rent_policies.h"

namespace orrery::lab {

using plan::Job;
using plan::Market;
using plan::RentOrder;

namespace {

MakeRentPolicy rent_by(RentOrder order) {
  return [order](const Market& market, const plan::MarketJobs& jobs) {
    return plan::make_rent_policy(order, market, jobs);
  };
}

MakeRentPolicy rent_by_plan(const plan::MilpPolicyOptions& options, env::Env env, plan::MilpPolicyStats* stats) {
  return [&options, env, stats](const Market& market, const plan::MarketJobs& jobs) {
    return plan::make_milp_policy(options, market, jobs, env, stats);
  };
}

}  // namespace

Result<std::vector<LoopRow>> loop_experiment(const LoopOptions& options, const std::vector<KindTimes>& times,
                                             env::Env env, const std::function<void()>& done) {
  std::vector<LoopRow> rows;
  const TimeNs lost = schedule::from_seconds(options.switch_s);
  const Costs switching{.resume_ns = lost, .move_ns = lost};
  for (const int nodes : options.nodes) {
    const Market market = published_market(nodes, options.in_house);
    for (const double gap_s : options.gaps_s) {
      for (int i = 0; i < options.instances; ++i) {
        const PublishedOptions how{.jobs = static_cast<std::size_t>(options.jobs_per_node * nodes),
                                   .gap_s = gap_s,
                                   .seed = options.seed + static_cast<std::uint64_t>(i)};
        plan::MarketJobs jobs = published_jobs(market, times, how);
        for (Job& job : jobs) job.switch_s = options.switch_s;
        plan::MilpPolicyStats stats;
        const MakeRentPolicy policies[] = {rent_by(RentOrder::kFifo), rent_by(RentOrder::kDue),
                                           rent_by(RentOrder::kWeight), rent_by_plan(options.milp, env, &stats)};
        for (const MakeRentPolicy& policy : policies) {
          ORRERY_TRY(const RentRun run, simulate_rent(market, {jobs, jobs}, policy, switching));
          rows.push_back({nodes, gap_s, i + 1, run.run.policy, run.bill, stats});
          done();
        }
      }
    }
  }
  return rows;
}

namespace {

constexpr double kNinetiethNormal = 1.2815515655446004;

double sigma_of(const JobKind& kind, const predict::Estimate<double>& at, double draw, PrototypeErrors errors) {
  if (errors == PrototypeErrors::kMeasured) return std::sqrt(std::acos(-1.0) / 2) * kind.mean_error;
  return std::log(draw > 0 ? at.high / at.value : at.value / at.low) / kNinetiethNormal;
}

// What the job really takes: one error for every type of GPU.
Job with_errors(const Job& job, const KindTimes& predicted, const JobKind& kind, PrototypeErrors errors,
                Random random) {
  Job real = job;
  for (auto& [gpu, times] : real.times_s) {
    const double draw = random.split(gpu).normal();
    for (std::size_t i = 0; i < times.size(); ++i)
      times[i] *= std::exp(draw * sigma_of(kind, predicted.sample_s.at(gpu)[i], draw, errors));
  }
  return real;
}

Market prototype_market() {
  Market market = published_market(2, false);
  std::erase_if(market.vm_types, [](const plan::VmType& type) { return type.name == "NC12" || type.name == "NC24"; });
  return market;
}

}  // namespace

Result<std::vector<PrototypeRow>> prototype_experiment(const PrototypeOptions& options,
                                                       const predict::Predictor& predictor, env::Env env,
                                                       const std::function<void()>& done) {
  const Market market = prototype_market();
  ORRERY_TRY(const std::vector<KindTimes> times, predicted_times(market, predictor));
  std::vector<PrototypeRow> rows;
  for (std::uint64_t seed = 1; seed <= options.seeds; ++seed) {
    Random random = Random(seed).split("prototype");
    RentJobs jobs;
    for (std::size_t i = 0; i < options.jobs; ++i) {
      const std::size_t kind = i % times.size();
      Job job = job_of_kind(times[kind], published_kinds()[kind].prototype_samples);
      job.id = fmt::format("J{:03}", i + 1);
      job.submit_s = options.gap_s * static_cast<double>(i);
      job.due_s = job.submit_s + options.slack * random.uniform(1, 3) * plan::shortest_s(market, job);
      job.weight_usd_s = 2 * random.uniform(0.0015, 0.0075);
      jobs.real.push_back(with_errors(job, times[kind], published_kinds()[kind], options.errors, random.split(i)));
      jobs.believed.push_back(std::move(job));
    }
    const MakeRentPolicy policy = rent_by_plan(options.milp, env, nullptr);
    ORRERY_TRY(const RentRun predicted, simulate_rent(market, {jobs.believed, jobs.believed}, policy));
    ORRERY_TRY(const RentRun real, simulate_rent(market, jobs, policy));
    rows.push_back({seed, predicted.bill, real.bill});
    done();
  }
  return rows;
}

}  // namespace orrery::lab
