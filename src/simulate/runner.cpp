#include "simulate/runner.h"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <optional>

#include "base/parallel.h"
#include "base/text.h"
#include "hardware/offer.h"
#include "plan/milp_policy.h"
#include "schedule/predicted_scaling.h"
#include "simulate/device_types.h"

namespace orrery::simulate {

namespace {

// What one GPU of each type costs in an hour, from the cheapest offer.
Result<std::vector<double>> prices_of(const std::vector<std::string>& devices) {
  std::vector<double> prices;
  for (const std::string& device : devices) {
    auto offer = hardware::cheapest_offer(device, 1);
    if (!offer) return std::move(offer).error().with_context("prices of GPUs");
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

}  // namespace

std::vector<schedule::PolicyRecord> runnable_policies(const env::Env* env) {
  std::vector<schedule::PolicyRecord> policies = schedule::all_policies();
  policies.push_back(plan::milp_record(env));
  return policies;
}

Result<RunResult> run_policy(const JobTrace& job_trace, const RunSetup& setup, std::string_view policy) {
  const schedule::PolicyRecord milp = plan::milp_record(setup.env);
  const schedule::PolicyRecord* record = schedule::find_policy(schedule::all_policies(), policy);
  if (record == nullptr && policy == milp.name) record = &milp;
  if (record == nullptr) return schedule::no_such_policy(runnable_policies(), policy);
  schedule::PolicyInputs inputs;
  inputs.placement = setup.placement;
  inputs.round_s = setup.round_s;
  const bool is_fitted = setup.scaling == ScalingKnowledge::kFitted;
  if (is_fitted) inputs.young_factor = setup.young_factor;
  inputs.gandiva = setup.gandiva;
  EngineOptions engine = setup.engine;
  inputs.switch_s = schedule::to_seconds(std::max(engine.costs.resume_ns, engine.costs.move_ns));
  ORRERY_TRY(engine.speeds, speeds_on(job_trace, setup.devices));
  inputs.typed = !engine.speeds.empty();
  const JobCurves measured_curves = setup.step_times.curves_of(job_trace);
  const JobCurves predicted_curves = setup.predicted_times.curves_of(job_trace);
  engine.predicted = &predicted_curves;
  const CurveSpeed curve(setup.curve, measured_curves.empty() ? nullptr : &measured_curves);
  const TableSpeed tables(curve, job_trace, setup.interference, setup.locality);
  const bool measured = !setup.interference.empty() || !setup.locality.empty();
  const SpeedModel& speed = measured ? static_cast<const SpeedModel&>(tables) : curve;
  inputs.packed_share = [&speed](const schedule::ClusterView& view, JobIndex job, JobIndex other) {
    return speed.packed_share(view, job, other);
  };
  if (record->has_need(schedule::Need::kPrices) && inputs.typed) {
    ORRERY_TRY(inputs.type_prices, prices_of(setup.devices));
  }
  std::unique_ptr<schedule::ScalingModel> scaling, erred;
  const auto make_scaling = [&](const schedule::ClusterView& view) {
    if (setup.scaling == ScalingKnowledge::kPredicted) {
      scaling = std::make_unique<schedule::PredictedScaling>(view, predicted_curves);
    } else if (is_fitted) {
      TrialOptions trials = setup.trials;
      trials.seed = engine.seed;
      trials.with_servers = record->has_need(schedule::Need::kServers);
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
    return schedule::make_policy(*record, inputs);
  };
  if (!record->is_elastic) return simulate(job_trace, setup.machines, speed, make, engine);
  if (is_fitted) {
    const TimeNs trials_ns = schedule::from_seconds(setup.trials.trials * setup.trials.trial_s);
    for (const bool makes_trials : trial_jobs(job_trace)) engine.first_starts.push_back(makes_trials ? trials_ns : 0);
  }
  return simulate(made_elastic(job_trace, setup.elastic), setup.machines, speed, make, engine);
}

Status check_policies(const std::vector<std::string>& policies) {
  const std::vector<schedule::PolicyRecord> known = runnable_policies();
  for (const std::string& policy : policies) {
    if (schedule::find_policy(known, policy) == nullptr) return schedule::no_such_policy(known, policy);
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
