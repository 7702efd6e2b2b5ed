// Any bytes are a job or an error with its place; a job that was read can be written, read back, checked and predicted.

#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "cli/main.h"
#include "env/sim_env.h"
#include "expect.h"
#include "workload/job_file.h"

namespace {

using namespace orrery;

void check_round_trip(const workload::JobSpec& job) {
  for (const std::string& text : {workload::to_yaml(job), workload::to_json(job)}) {
    const auto again = workload::read_job(text, "f");
    expect(again.has_value() && again->spec == job);
  }
}

void check_counts(const workload::JobSpec& job) {
  expect(!job.resources.empty());
  for (const workload::DeviceRequest& request : job.resources) {
    const auto counts = workload::counts_to_try(job, request.count);
    expect(!counts.empty());
    for (const int count : counts) {
      expect(count >= request.count.min && count <= request.count.max && !workload::misfit(job, count));
    }
  }
}

void check_command(env::SimEnv& sim, const std::vector<std::string>& words) {
  const cli::Outcome outcome = cli::run(words, sim.env());
  expect(outcome.exit_code == cli::kDone || !outcome.errors.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  workload::looks_like_job(text);
  const auto job = workload::read_job(text, "f");
  if (!job) {
    expect(job.error().message().starts_with("f:") && is_printable(job.error().message()));
    return 0;
  }
  check_round_trip(job->spec);
  check_counts(job->spec);
  // A large model takes too long to be built for every input.
  if (!job->spec.model.empty() && job->spec.model != "lenet") return 0;
  env::SimEnv sim;
  expect(sim.files.write_atomically("f", text).has_value());
  check_command(sim, {"job", "check", "f"});
  check_command(sim, {"predict", "f"});
  return 0;
}
