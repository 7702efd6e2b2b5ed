#pragma once
// What policies are restarted in the middle of, in tests.

#include "simulate/generate.h"
#include "simulate/runner.h"

namespace orrery::simulate {

struct RestartCase {
  JobTrace job_trace;
  RunSetup setup;
};

// Three clusters: crowded with jobs of all kinds; several types of devices with failing machines; elastic jobs with
// deadlines that share GPUs.
inline RestartCase crowded_cluster() {
  RestartCase played;
  played.job_trace = generate({.jobs = 150, .rate_per_h = 400, .seed = 5});
  played.setup.machines.assign(3, {.gpus = 8});
  played.setup.engine.costs = {.first_start_ns = 5 * schedule::kSecondNs,
                               .resume_ns = 20 * schedule::kSecondNs,
                               .move_ns = 30 * schedule::kSecondNs};
  return played;
}

inline RestartCase failing_types() {
  RestartCase played;
  played.job_trace = generate({.jobs = 120, .rate_per_h = 200, .arrivals = Arrivals::kBursts, .seed = 6});
  played.job_trace.devices = played.setup.devices = {"V100", "K80"};
  played.job_trace.speeds = {{}, {1, 0.4}, {1, 0}, {0.7, 1}};
  for (const JobIndex job : played.job_trace.jobs.indices()) {
    played.job_trace.jobs[job].facts.speed_class = static_cast<std::int32_t>(job.place() % 4);
  }
  played.setup.machines = {{.gpus = 8}, {.gpus = 8}, {.gpus = 8, .device = 1}, {.gpus = 4, .device = 1}};
  EngineOptions& engine = played.setup.engine;
  engine.outages = random_outages(4, 20'000, 2000, schedule::from_seconds(2e6), 3);
  engine.costs.checkpoint_ns = 600 * schedule::kSecondNs;
  engine.min_run_ns = 300 * schedule::kSecondNs;
  return played;
}

inline RestartCase elastic_jobs() {
  RestartCase played;
  played.job_trace = generate({.jobs = 120, .rate_per_h = 300, .mix = Mix::kOptimus, .tenants = 3, .seed = 7});
  for (const JobIndex job : played.job_trace.jobs.indices()) {
    JobFacts& facts = played.job_trace.jobs[job].facts;
    facts.gpu_utilisation = 0.1 + 0.1 * static_cast<double>(job.place() % 8);
    facts.gpu_memory_share = 0.1 + 0.1 * static_cast<double>(job.place() % 5);
    if (job.place() % 3 == 0) facts.deadline_ns = facts.submit_ns + 3 * facts.work_ns;
    if (job.place() % 2 == 0) {
      facts.stages = schedule::shared_stages({.load_s = 0.1 * static_cast<double>(job.place() % 7),
                                              .gpu_s = 0.3,
                                              .network_s = 0.1 * static_cast<double>(job.place() % 3),
                                              .iteration_s = 1.3});
    }
  }
  played.setup.machines.assign(4, {.gpus = 4});
  played.setup.engine.tenant_quota = 24;
  played.setup.engine.age_ns = 20'000 * schedule::kSecondNs;
  return played;
}

}  // namespace orrery::simulate
