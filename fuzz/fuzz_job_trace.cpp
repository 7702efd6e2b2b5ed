// Any bytes are a workload or an error. Every row is a job, skipped with a line, or none for us; every job can be
// simulated, and all of them end or are reported.

#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "expect.h"
#include "simulate/readers/reader.h"
#include "simulate/runner.h"
#include "simulate/summary.h"

using namespace orrery;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = simulate::read_job_trace(text, "trace");
  if (!file) {
    expect(!file.error().message().empty());
    return 0;
  }
  expect(file->rows == file->job_trace.jobs.size() + file->skipped + file->not_jobs);
  for (const simulate::ReadProblem& problem : file->problems) expect(problem.line > 0 && !problem.what.empty());
  expect(file->job_trace.jobs.front().facts.submit_ns == 0);
  if (file->job_trace.jobs.size() > 200) return 0;
  simulate::RunSetup setup;
  setup.machines.assign(2, {.gpus = 4});
  setup.engine.check_invariants = true;
  for (const char* policy : {"fifo", "srsf", "las"}) {
    const auto run = simulate::run_policy(file->job_trace, setup, policy);
    expect(run.has_value());
    const simulate::Summary summary = simulate::summarise(file->job_trace, *run, 8, 1);
    expect(static_cast<std::size_t>(summary.jobs + summary.too_large) == file->job_trace.jobs.size());
    expect(summary.unfinished == 0);
  }
  return 0;
}
