#include "simulate/runner.h"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <optional>

#include "base/parallel.h"
#include "base/text.h"
#include "hardware/offer.h"
#include "plan/milp_policy.h"
#include "plan/scheduler_adapter.h"
#include "simulate/device_types.h"

namespace orrery::simulate {

namespace {

// What one GPU of each type costs in an hour, from the cheapest offer.
Result<std::vector<double>> prices_of(const std::vector<std::string>& devices) {
  std::vector<double> prices;
  for (const std::string& device : devices) {
    auto offer = hardware::cheapest_offer(device, 1);
    if (!offer) return std::move(offer).error().with_context("gavel-cost");
    prices.push_back(hardware::price_per_device(*offer).value());
  }
  return prices;
}

JobTrace made_elastic(JobTrace job_trace, double factor) {
  for (TraceJob& job : job_trace.jobs) {
    if (job.facts.gpus_max == 0) job.facts.gpus_max = static_cast<std::int32_t>(job.facts.gpus * std::max(1.0, factor));
  }
  return job_trace;
}

// Renting by plan where nothing has to be rented: heuristics only, since a trace has thousands of decisions.
Result<std::unique_ptr<schedule::Policy>> make_milp(const RunSetup& setup, const schedule::ScalingModel& scaling) {
  if (setup.env == nullptr) return Error::invalid("milp needs a clock");
  const Costs& costs = setup.engine.costs;
  plan::SchedulerAdapterOptions adapter;
  adapter.switch_s = schedule::to_seconds(std::max(costs.resume_ns, costs.move_ns));
  plan::MilpPolicyOptions options;
  options.horizon_s = 6 * 3600;
  options.tries = 20;
  options.planned_max = 30;
  options.planner.heuristic_only = true;
  return plan::make_milp_policy(options, std::make_unique<plan::SchedulerAdapter>(adapter, scaling), *setup.env);
}

}  // namespace

std::vector<schedule::PolicyInfo> runnable_policies() {
  std::vector<schedule::PolicyInfo> policies = schedule::all_policies();
  policies.push_back({"milp", "least weighted tardiness, or time without deadlines, by plans that are played on"});
  return policies;
}

Result<RunResult> run_policy(const JobTrace& job_trace, const RunSetup& setup, std::string_view policy) {
  schedule::PolicyInputs inputs;
  inputs.placement = setup.placement;
  inputs.round_s = setup.round_s;
  if (setup.fitted_scaling) inputs.young_factor = setup.young_factor;
  inputs.gandiva = setup.gandiva;
  const bool is_elastic = schedule::needs_elastic_jobs(policy);
  EngineOptions engine = setup.engine;
  ORRERY_TRY(engine.speeds, speeds_on(job_trace, setup.devices));
  inputs.typed = !engine.speeds.empty();
  const CurveSpeed curve(setup.curve);
  const TableSpeed tables(curve, job_trace, setup.interference, setup.locality);
  const bool measured = !setup.interference.empty() || !setup.locality.empty();
  const SpeedModel& speed = measured ? static_cast<const SpeedModel&>(tables) : curve;
  inputs.packed_share = [&speed](const schedule::ClusterView& view, JobIndex job, JobIndex other) {
    return speed.packed_share(view, job, other);
  };
  if (policy == "gavel-cost" && inputs.typed) {
    ORRERY_TRY(inputs.type_prices, prices_of(setup.devices));
  }
  std::unique_ptr<schedule::ScalingModel> scaling, erred;
  const auto make_scaling = [&](const schedule::ClusterView& view) {
    if (setup.fitted_scaling) {
      TrialOptions trials = setup.trials;
      trials.seed = engine.seed;
      trials.with_servers = policy == "optimus-ps";
      scaling = std::make_unique<FittedScaling>(view, curve, job_trace, trials);
    } else {
      scaling = std::make_unique<CurveScaling>(view, curve);
    }
    inputs.scaling = scaling.get();
    if (setup.scaling_errors.any()) {
      erred = std::make_unique<PerturbedScaling>(view, *scaling, setup.scaling_errors, engine.seed);
      inputs.scaling = erred.get();
    }
  };
  const auto make = [&](const schedule::ClusterView& view) {
    // What is learned about jobs belongs to the run, not to the policy, which may be made anew.
    if (scaling == nullptr) make_scaling(view);
    return policy == "milp" ? make_milp(setup, *inputs.scaling) : schedule::make_policy(policy, inputs);
  };
  if (!is_elastic) return simulate(job_trace, setup.machines, speed, make, engine);
  if (setup.fitted_scaling) {
    const TimeNs trials_ns = schedule::from_seconds(setup.trials.trials * setup.trials.trial_s);
    for (const bool makes_trials : trial_jobs(job_trace)) engine.first_starts.push_back(makes_trials ? trials_ns : 0);
  }
  return simulate(made_elastic(job_trace, setup.elastic), setup.machines, speed, make, engine);
}

Status check_policies(const std::vector<std::string>& policies) {
  std::vector<std::string> names;
  for (const schedule::PolicyInfo& policy : runnable_policies()) names.push_back(policy.name);
  for (const std::string& policy : policies) {
    if (std::find(names.begin(), names.end(), policy) != names.end()) continue;
    return Error::not_found(fmt::format("no policy {}{} (policies: {})", quote(policy), did_you_mean(policy, names),
                                        fmt::join(names, ", ")));
  }
  return {};
}

std::vector<Result<RunResult>> run_policies(const JobTrace& job_trace, const RunSetup& setup,
                                            const std::vector<std::string>& policies, int threads,
                                            const std::function<void()>& done) {
  std::vector<std::optional<Result<RunResult>>> results(policies.size());
  std::mutex lock;
  run_parallel(policies.size(), threads, [&](std::size_t i) {
    results[i].emplace(run_policy(job_trace, setup, policies[i]));
    const std::lock_guard<std::mutex> guard(lock);
    if (done) done();
  });
  std::vector<Result<RunResult>> runs;
  for (std::optional<Result<RunResult>>& result : results) runs.push_back(std::move(*result));
  return runs;
}

}  // namespace orrery::simulate
