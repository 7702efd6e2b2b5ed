#include "cli/simulate_setup.h"

#include <fmt/format.h>

#include "base/random.h"
#include "base/text.h"
#include "simulate/data_file.h"
#include "simulate/prices.h"

namespace orrery::cli {

std::vector<OptionRecord> setup_options() {
  return {
      choice_option("placement", "consolidated", {"consolidated", "most-free", "best-fit", "rack"},
                    "where GPUs are taken from"),
      number_option("prediction-error", 0, "policies see run times times exp(N(0, this)) instead of the true ones")
          .bounds(0, 5),
      duration_option("start-cost", "0s", "without work when a job first starts"),
      duration_option("resume-cost", "0s", "without work when a suspended job goes on"),
      duration_option("move-cost", "0s", "without work when a job moves or is resized"),
      optional_duration("mtbf", "machines fail, on average after this time").bounds(1, 1e9),
      duration_option("repair", "1h", "and are down for this long, on average").bounds(1, 1e9),
      duration_option("checkpoint", "0s", "a failure loses the work since the last multiple of this"),
      optional_duration("preemption-notice", "machines that fail say so this long before, like spot machines"),
      duration_option("save-time", "30s", "that jobs need to save their work when they hear it"),
      number_option("stragglers", 0, "probability that a worker is slow, drawn whenever its job starts")
          .bounds(0, 0.999),
      number_option("straggler-slowdown", 3, "of a job with a slow worker").bounds(1, 1000),
      integer_option("quota", 0, "GPUs the jobs of one tenant may ask for at a time; 0: no limit").bounds(0, 1e6),
      optional_duration("age", "a job that has waited this long gets the next free GPUs, under any policy")
          .bounds(0.001, 1e9),
      optional_duration("min-run", "no job is suspended before it has run this long, under any policy")
          .bounds(0.001, 1e9),
      optional_duration("round", "ask policies at multiples of this only").bounds(0.001, 1e7),
      number_option("elastic", 4, "optimus may give a job up to this many times the GPUs it asks for").bounds(1, 1e4),
      choice_option("scaling", "known", {"known", "fitted"},
                    "what optimus knows of how jobs scale: all, or what trial runs and running jobs show"),
      number_option("trial-noise", 0.05, "error of trial runs, with --scaling fitted").bounds(0, 2),
      duration_option("trial-time", "10s", "of each of the five trial runs of a model, before its first job works"),
      number_option("serial-share", 0.03, "share of a step on one GPU that more GPUs do not shorten").bounds(0, 1),
      number_option("spread-cost", 0, "slowdown per machine beyond the fewest possible").bounds(0, 10),
      text_option("locality", "", "measured speeds of jobs that are spread over machines").in("FILE.csv"),
      text_option("interference", "", "measured speeds of jobs that share GPUs").in("FILE.csv"),
      number_option("gpu-price", 0, "for the cost of GPU time held").in("USD").bounds(0, 1e6),
      text_option("prices", "", "instead: what a GPU costs over time").in("FILE.csv"),
      optional_number("bid", "with --prices: machines are taken back while the price is above this")
          .in("USD")
          .bounds(0, 1e6)};
}

namespace {

Status check_combinations(const OptionValues& options) {
  if (options.has("bid") && !options.has("prices")) return Error::invalid("--bid is of --prices; give them as well");
  if (options.has("bid") && options.has("mtbf")) {
    return Error::invalid("--bid and --mtbf both take machines away; give one of them");
  }
  if (options.has("prices") && options.number("gpu-price") > 0) {
    return Error::invalid("--gpu-price and --prices both say what a GPU costs; give one of them");
  }
  if (options.has("preemption-notice") && !options.has("mtbf") && !options.has("bid")) {
    return Error::invalid("--preemption-notice is of machines that fail; give --mtbf or --bid as well");
  }
  return {};
}

}  // namespace

simulate::RunSetup SimulationSetup::with_seed(std::uint64_t seed) const {
  simulate::RunSetup setup = base;
  setup.engine.seed = seed;
  if (mtbf_s > 0) {
    setup.engine.outages = simulate::random_outages(setup.machines.size(), mtbf_s, repair_s, until_ns, seed);
  }
  if (told) simulate::announce(setup.engine.outages, notice_ns, save_ns);
  return setup;
}

Result<SimulationSetup> load_setup(Context& context, const OptionValues& options, const ClusterChoice& cluster,
                                   const simulate::JobTrace& job_trace) {
  ORRERY_TRY_VOID(check_combinations(options));
  SimulationSetup result;
  simulate::RunSetup& setup = result.base;
  simulate::EngineOptions& engine = setup.engine;
  const auto time = [&](std::string_view name) { return schedule::from_seconds(options.duration(name).value()); };
  std::string content = simulate::to_csv(job_trace) + cluster.text;
  const auto read = [&](std::string_view name) -> Result<std::string> {
    ORRERY_TRY(std::string text, simulate::read_data_file(context.env.files, options.text(name)));
    content += text;
    return text;
  };
  setup.env = &context.env;
  setup.machines = cluster.machines;
  setup.devices = cluster.devices;
  setup.placement = options.text("placement");
  setup.curve.serial_share = options.number("serial-share");
  setup.curve.spread_cost = options.number("spread-cost");
  setup.elastic = options.number("elastic");
  setup.fitted_scaling = options.text("scaling") == "fitted";
  setup.trials.noise = options.number("trial-noise");
  setup.trials.trial_s = options.duration("trial-time").value();
  if (options.has("locality")) {
    ORRERY_TRY(const std::string text, read("locality"));
    ORRERY_TRY(setup.locality, simulate::LocalityTable::parse(text, options.text("locality")));
  }
  if (options.has("interference")) {
    ORRERY_TRY(const std::string text, read("interference"));
    ORRERY_TRY(setup.interference, simulate::InterferenceTable::parse(text, options.text("interference")));
  }
  engine.prediction_sigma = options.number("prediction-error");
  engine.costs = {time("start-cost"), time("resume-cost"), time("move-cost"), time("checkpoint")};
  engine.stragglers = {options.number("stragglers"), options.number("straggler-slowdown")};
  engine.tenant_quota = static_cast<int>(options.integer("quota"));
  if (options.has("age")) engine.age_ns = time("age");
  if (options.has("min-run")) engine.min_run_ns = time("min-run");
  if (options.has("round")) engine.round_ns = time("round");
  if (options.has("prices")) {
    ORRERY_TRY(const std::string text, read("prices"));
    ORRERY_TRY(engine.prices, simulate::parse_prices(text, options.text("prices")));
  }
  if (options.has("bid")) {
    engine.outages = simulate::outages_above(engine.prices, options.number("bid"), setup.machines.size());
  }
  if (options.has("mtbf")) {
    result.mtbf_s = options.duration("mtbf").value();
    result.repair_s = options.duration("repair").value();
  }
  // Twice the time of the submissions and a month: most runs end before.
  result.until_ns = 2 * job_trace.jobs.back().facts.submit_ns + schedule::from_seconds(30 * 86'400.0);
  result.told = options.has("preemption-notice");
  if (result.told) result.notice_ns = time("preemption-notice");
  result.save_ns = time("save-time");
  result.is_random =
      setup.fitted_scaling || engine.prediction_sigma > 0 || engine.stragglers.probability > 0 || result.mtbf_s > 0;
  for (const OptionRecord& record : setup_options()) {
    content += fmt::format("\n{}={}", record.name, options.display(record.name));
  }
  result.fingerprint = fmt::format("{:016x}", hash64(content));
  return result;
}

}  // namespace orrery::cli
