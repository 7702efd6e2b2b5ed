#include "service/simulate.h"

#include <algorithm>
#include <fmt/format.h>

#include "simulate/job_story.h"

namespace orrery::service {

using simulate::RunResult;
using simulate::SweepFailure;

namespace {

std::string policy_names() {
  std::string names;
  for (const schedule::PolicyRecord& policy : simulate::runnable_policies())
    names += (names.empty() ? "" : ", ") + policy.name;
  return names;
}

}  // namespace

const Fields<SimulateRequest>& simulate_fields() {
  using S = SimulateRequest;
  static const auto kFields =
      Fields<S>()
          .add(&S::trace, trace_option())
          .add(&S::cluster, cluster_option())
          .add(&S::policies,
               text_option("policy", "fifo,srtf,las", "policies to run, of: " + policy_names()).in("NAME").list())
          .add(&S::threads, integer_option("threads", 2, "simulations to run in parallel").bounds(1, 256))
          .add(&S::seed,
               integer_option("seed", 1, "seed of prediction errors, failures and stragglers").bounds(0, 1e15))
          .add(&S::seeds,
               integer_option("seeds", 1, "run every policy with this many seeds, starting at --seed").bounds(1, 1e5))
          .add(&S::sweep,
               text_option("sweep", "",
                           "keep the metrics of every run in this file; runs that it already holds are not repeated")
                   .in("FILE.jsonl"))
          .add(&S::explain, text_option("explain", "", "explain every decision about this job").in("JOB"))
          .add(&S::setup, setup_fields())
          .add(&S::read, job_trace_fields());
  return kFields;
}

namespace {

Status check_sweep(const SimulateRequest& request, const Simulation& loaded) {
  const FieldNames& names = request.names;
  if (loaded.explained) {
    return names.error("explain", fmt::format("describes one run of each policy; leave out {} and {}", names("seeds"),
                                              names("sweep")));
  }
  if (request.seeds > 1 && !loaded.setups.is_random) {
    return names.error(
        "seeds", fmt::format("every seed gives the same run; give {}, {}, {} or {} fitted", names("prediction-error"),
                             names("mtbf"), names("stragglers"), names("scaling")));
  }
  return {};
}

Result<SimulateAnswer> run_sweep(env::Env env, const SimulateRequest& request, const Simulation& loaded, Watch& watch) {
  const auto all = static_cast<std::int64_t>(request.policies.size()) * request.seeds;
  watch.begin("simulating", all, "runs");
  std::int64_t ended = 0;
  ORRERY_TRY(simulate::SweepResult sweep,
             simulate::run_sweep(sweep_of(request, loaded), env.files, [&] { watch.at(++ended); }));
  watch.finish();
  return SimulateAnswer{{}, std::move(sweep.rows), std::move(sweep.failures), sweep.kept};
}

SimulateAnswer run_once(const SimulateRequest& request, const Simulation& loaded, Watch& watch) {
  simulate::RunSetup setup = loaded.setups.with_seed(request.seed);
  setup.engine.keep_log = request.keep_log || loaded.explained;
  setup.engine.keep_holdings = request.keep_holdings;
  watch.begin("simulating", static_cast<std::int64_t>(request.policies.size()), "policies");
  std::int64_t ended = 0;
  std::vector<Result<RunResult>> results = simulate::run_policies(loaded.file.job_trace, setup, request.policies,
                                                                  request.threads, [&] { watch.at(++ended); });
  watch.finish();
  SimulateAnswer answer;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) {
      answer.failures.push_back({request.policies[i], request.seed, std::move(results[i]).error()});
      continue;
    }
    answer.summaries.push_back(
        simulate::summarise(loaded.file.job_trace, *results[i], loaded.cluster.gpus, request.setup.gpu_price.value()));
    answer.summaries.back().seed = request.seed;
    answer.runs.push_back(std::move(*results[i]));
  }
  return answer;
}

}  // namespace

Result<Simulation> load_simulation(const env::Env& env, const SimulateRequest& request) {
  const FieldNames& names = request.names;
  const Status known = simulate::check_policies(request.policies);
  if (!known) return names.error("policy", known.error());
  ORRERY_TRY(simulate::JobTraceFile file, load_job_trace(env, request.trace, request.read));
  ORRERY_TRY(ClusterChoice cluster, load_cluster(env, request.cluster, names));
  ORRERY_TRY(SimulationSetup setups, load_setup(env, request.setup, cluster, file.job_trace, names));
  Simulation loaded{std::move(file), std::move(cluster), std::move(setups)};
  if (!request.explain.empty()) {
    const auto job = simulate::find_job(loaded.file.job_trace, request.explain);
    if (!job) return names.error("explain", job.error());
    loaded.explained = *job;
  }
  if (request.is_sweep()) ORRERY_TRY_VOID(check_sweep(request, loaded));
  if (!request.sweep.empty()) {
    ORRERY_TRY(loaded.fingerprint, fingerprint(env, request.setup, loaded.cluster, loaded.file.job_trace));
  }
  return loaded;
}

simulate::SweepInput sweep_of(const SimulateRequest& request, const Simulation& loaded) {
  return {.job_trace = loaded.file.job_trace,
          .setup = [&loaded](std::uint64_t seed) { return loaded.setups.with_seed(seed); },
          .policies = request.policies,
          .first_seed = request.seed,
          .seeds = request.seeds,
          .threads = request.threads,
          .gpu_price = request.setup.gpu_price.value(),
          .fingerprint = loaded.fingerprint,
          .file = request.sweep};
}

Result<SimulateAnswer> simulate(env::Env env, const SimulateRequest& request, const Simulation& loaded, Watch& watch) {
  if (request.is_sweep()) return run_sweep(env, request, loaded, watch);
  return run_once(request, loaded, watch);
}

Status failure_of(const SimulateAnswer& answer) {
  if (answer.failures.empty()) return {};
  const ErrorCode code = answer.failures.front().error.code();
  std::vector<std::string> texts;
  for (const SweepFailure& failure : answer.failures) {
    std::string text = failure.error.to_string();
    if (!text.starts_with(failure.policy)) text = fmt::format("{}: {}", failure.policy, text);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  const std::size_t runs = answer.failures.size() + answer.summaries.size();
  if (runs == 1) return Error(code, texts.front());
  return Error(code, fmt::format("{} of {} runs gave no metrics:\n  {}", answer.failures.size(), runs,
                                 fmt::join(texts, "\n  ")));
}

}  // namespace orrery::service
