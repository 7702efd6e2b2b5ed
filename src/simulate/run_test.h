#pragma once
// What tests of runs share: small jobs, clusters and runs.

#include <gtest/gtest.h>

#include "env/sim_env.h"
#include "simulate/runner.h"

namespace orrery::simulate {

inline TraceJob job_of(double submit_s, double length_s, int gpus) {
  TraceJob result;
  result.id = std::to_string(submit_s);
  result.facts.submit_ns = schedule::from_seconds(submit_s);
  result.facts.work_ns = schedule::from_seconds(length_s);
  result.facts.gpus = gpus;
  return result;
}

inline JobTrace job_trace_of(IndexedVector<JobIndex, TraceJob> jobs) {
  JobTrace job_trace;
  job_trace.jobs = std::move(jobs);
  job_trace.tenants = {""};
  return job_trace;
}

inline RunSetup setup_of(std::size_t machines, int gpus) {
  RunSetup setup;
  setup.machines.assign(machines, {.gpus = gpus});
  setup.engine.check_invariants = true;
  return setup;
}

inline RunResult run(const JobTrace& job_trace, const RunSetup& setup, std::string_view policy) {
  env::SimEnv sim;
  const env::Env env = sim.env();
  RunSetup with_clock = setup;
  with_clock.env = &env;
  auto result = run_policy(job_trace, with_clock, policy);
  EXPECT_TRUE(result.has_value()) << result.error().to_string();
  return result ? std::move(*result) : RunResult{};
}

inline std::vector<TimeNs> ends_s(const RunResult& result) {
  std::vector<TimeNs> ends;
  for (const JobOutcome& outcome : result.jobs) ends.push_back(outcome.end_ns / schedule::kSecondNs);
  return ends;
}

}  // namespace orrery::simulate
