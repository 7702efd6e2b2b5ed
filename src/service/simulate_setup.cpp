#include "service/simulate_setup.h"

#include <fmt/format.h>

#include "base/random.h"
#include "service/predicted_times.h"
#include "simulate/data_file.h"
#include "simulate/prices.h"
#include "simulate/readers/reader.h"

namespace orrery::service {

using simulate::ScalingKnowledge;

std::string_view to_string(ScalingChoice choice) {
  switch (choice) {
    case ScalingChoice::kAuto:
      return "auto";
    case ScalingChoice::kKnown:
      return "known";
    case ScalingChoice::kFitted:
      return "fitted";
    case ScalingChoice::kPredicted:
      return "predicted";
  }
  return "";
}

std::string_view to_string(JobInputs inputs) {
  return inputs == JobInputs::kLive ? "live" : "trace";
}

const Fields<SetupFields>& setup_fields() {
  using S = SetupFields;
  static constexpr ScalingChoice kScaling[] = {ScalingChoice::kAuto, ScalingChoice::kKnown, ScalingChoice::kFitted,
                                               ScalingChoice::kPredicted};
  static constexpr JobInputs kInputs[] = {JobInputs::kTrace, JobInputs::kLive};
  // The fingerprint of a sweep has names and order of these.
  static const auto kFields =
      Fields<S>()
          .add(&S::placement,
               choice_option("placement", "consolidated", {"consolidated", "most-free", "best-fit", "rack"},
                             "how GPUs are chosen for a job"))
          .add(&S::prediction_error,
               number_option("prediction-error", 0,
                             "policies see run times multiplied by exp(N(0, X)) instead of the true ones")
                   .bounds(0, 5))
          .add(&S::start_cost, duration_option("start-cost", "0s", "time without progress when a job first starts"))
          .add(&S::resume_cost,
               duration_option("resume-cost", "0s", "time without progress when a suspended job resumes"))
          .add(&S::move_cost,
               duration_option("move-cost", "0s", "time without progress when a job migrates or is resized"))
          .add(&S::mtbf,
               optional_duration("mtbf", "mean time between failures of a machine (default: machines do not fail)")
                   .bounds(1, 1e9))
          .add(&S::repair, duration_option("repair", "1h", "mean time that a failed machine is down").bounds(1, 1e9))
          .add(&S::checkpoint, duration_option("checkpoint", "0s",
                                               "interval between checkpoints; a failure loses the work since the last "
                                               "one (0s: no work is lost)"))
          .add(&S::preemption_notice,
               optional_duration("preemption-notice",
                                 "machines announce a failure this long before it, like spot machines"))
          .add(&S::save_time,
               duration_option("save-time", "30s", "time that a job needs to save its work after such a notice"))
          .add(&S::stragglers,
               number_option("stragglers", 0, "probability that a worker is slow; drawn each time its job starts")
                   .bounds(0, 0.999))
          .add(&S::straggler_slowdown,
               number_option("straggler-slowdown", 3, "slowdown of a job with a slow worker").bounds(1, 1000))
          .add(&S::quota, integer_option("quota", 0, "GPUs that the jobs of one tenant may hold at a time; 0: no limit")
                              .bounds(0, 1e6))
          .add(&S::age,
               optional_duration("age", "a job that has waited this long gets the next free GPUs, whatever the policy")
                   .bounds(0.001, 1e9))
          .add(&S::min_run,
               optional_duration("min-run", "no job is suspended before it has run this long, whatever the policy")
                   .bounds(0.001, 1e9))
          .add(&S::round,
               optional_duration("round", "call the policy only at multiples of this time").bounds(0.001, 1e7))
          .add(&S::elastic,
               number_option("elastic", 4,
                             "elastic policies may give a job up to this many times the GPUs that it requests")
                   .bounds(1, 1e4))
          .add(&S::scaling,
               choice_option("scaling", "auto", {"auto", "known", "fitted", "predicted"},
                             "what elastic policies know of how jobs scale: the true curve, a fit to trial runs and "
                             "running jobs, or what is predicted for the models that the trace names; auto: predicted "
                             "with live inputs, otherwise known"),
               named_values(kScaling))
          .add(&S::inputs,
               choice_option("inputs", "trace", {"trace", "live"},
                             "what policies know of jobs: what the trace says, or what a real cluster could know "
                             "(predictions, jobs that have ended, time limits, measurements of running jobs)"),
               named_values(kInputs))
          .add(&S::trial_noise,
               number_option("trial-noise", 0.05, "relative error of trial runs, with --scaling fitted").bounds(0, 2))
          .add(&S::trial_time,
               duration_option("trial-time", "10s",
                               "length of each of the five trial runs of a model before its first job makes progress"))
          .add(&S::serial_share,
               number_option("serial-share", 0.03, "serial share of a step on one GPU, which more GPUs do not shorten")
                   .bounds(0, 1))
          .add(&S::spread_cost,
               number_option("spread-cost", 0, "relative slowdown for each machine beyond the fewest possible")
                   .bounds(0, 10))
          .add(&S::step_times,
               text_option("step-times", "",
                           "file of measured times of a step, by model and number of GPUs: how jobs of these models "
                           "really scale")
                   .in("FILE.csv"))
          .add(&S::locality,
               text_option("locality", "", "file of measured speeds of jobs that are spread over machines")
                   .in("FILE.csv"))
          .add(&S::interference,
               text_option("interference", "", "file of measured speeds of jobs that share GPUs").in("FILE.csv"))
          .add(&S::gpu_price,
               number_option("gpu-price", 0, "price of one GPU per hour, for the cost of the GPU time held")
                   .in("USD")
                   .bounds(0, 1e6))
          .add(&S::prices,
               text_option("prices", "", "prices of a GPU over time, instead of --gpu-price").in("FILE.csv"))
          .add(&S::bid, optional_number("bid", "with --prices: machines are lost while the price is above this bid")
                            .in("USD")
                            .bounds(0, 1e6));
  return kFields;
}

const Fields<SimulatedCluster>& simulated_cluster_fields() {
  using C = SimulatedCluster;
  static const auto kFields =
      Fields<C>()
          .add(&C::cluster, cluster_option())
          .add(&C::policy,
               text_option("policy", "fifo", "the policy; `orrery simulate --help` lists all policies").in("NAME"))
          .add(&C::setup, setup_fields());
  return kFields;
}

namespace {

Status check_combinations(const SetupFields& fields, const FieldNames& names) {
  if (fields.bid && fields.prices.empty()) {
    return names.error("bid", fmt::format("is of {}; give them as well", names("prices")));
  }
  if (fields.bid && fields.mtbf) {
    return names.error("bid", fmt::format("takes machines away, and so does {}; give one of them", names("mtbf")));
  }
  if (fields.inputs == JobInputs::kLive && fields.prediction_error > 0) {
    return names.error(
        "prediction-error",
        fmt::format("is of run times that policies are told; with {} live they are told none", names("inputs")));
  }
  if (!fields.prices.empty() && fields.gpu_price > DollarsPerHour(0)) {
    return names.error("prices",
                       fmt::format("says what a GPU costs, and so does {}; give one of them", names("gpu-price")));
  }
  if (fields.preemption_notice && !fields.mtbf && !fields.bid) {
    return names.error("preemption-notice",
                       fmt::format("is of machines that fail; give {} or {} as well", names("mtbf"), names("bid")));
  }
  return {};
}

schedule::TimeNs nanoseconds(Seconds time) {
  return schedule::from_seconds(time.value());
}

simulate::ScalingKnowledge knowledge_of(const SetupFields& fields) {
  switch (fields.scaling) {
    case ScalingChoice::kKnown:
      return ScalingKnowledge::kKnown;
    case ScalingChoice::kFitted:
      return ScalingKnowledge::kFitted;
    case ScalingChoice::kPredicted:
      return ScalingKnowledge::kPredicted;
    case ScalingChoice::kAuto:
      break;
  }
  return fields.inputs == JobInputs::kLive ? ScalingKnowledge::kPredicted : ScalingKnowledge::kKnown;
}

// What measured files say.
Status load_files(env::Env env, const SetupFields& fields, simulate::RunSetup& setup) {
  if (!fields.locality.empty()) {
    ORRERY_TRY(const std::string text, simulate::read_data_file(env.files, fields.locality));
    ORRERY_TRY(setup.locality, simulate::LocalityTable::parse(text, fields.locality));
  }
  if (!fields.step_times.empty()) {
    ORRERY_TRY(const std::string text, simulate::read_data_file(env.files, fields.step_times));
    ORRERY_TRY(setup.step_times, simulate::StepTimes::parse(text, fields.step_times));
  }
  if (!fields.interference.empty()) {
    ORRERY_TRY(const std::string text, simulate::read_data_file(env.files, fields.interference));
    ORRERY_TRY(setup.interference, simulate::InterferenceTable::parse(text, fields.interference));
  }
  if (fields.prices.empty()) return {};
  ORRERY_TRY(const std::string text, simulate::read_data_file(env.files, fields.prices));
  ORRERY_TRY(setup.engine.prices, simulate::parse_prices(text, fields.prices));
  return {};
}

simulate::EngineOptions engine_options(const SetupFields& fields) {
  simulate::EngineOptions engine;
  engine.prediction_sigma = fields.prediction_error;
  engine.costs = {nanoseconds(fields.start_cost), nanoseconds(fields.resume_cost), nanoseconds(fields.move_cost),
                  nanoseconds(fields.checkpoint)};
  engine.stragglers = {fields.stragglers, fields.straggler_slowdown};
  engine.tenant_quota = fields.quota;
  if (fields.inputs == JobInputs::kLive) engine.live.emplace();
  if (fields.age) engine.age_ns = nanoseconds(*fields.age);
  if (fields.min_run) engine.min_run_ns = nanoseconds(*fields.min_run);
  if (fields.round) engine.round_ns = nanoseconds(*fields.round);
  return engine;
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

Result<SimulationSetup> load_setup(const env::Env& env, const SetupFields& fields, const ClusterChoice& cluster,
                                   const simulate::JobTrace& job_trace, const FieldNames& names) {
  ORRERY_TRY_VOID(check_combinations(fields, names));
  SimulationSetup result;
  simulate::RunSetup& setup = result.base;
  setup.env = &env;
  setup.machines = cluster.machines;
  setup.devices = cluster.devices;
  setup.placement = fields.placement;
  setup.curve.serial_share = fields.serial_share;
  setup.curve.spread_cost = fields.spread_cost;
  setup.elastic = fields.elastic;
  setup.scaling = knowledge_of(fields);
  setup.trials.noise = fields.trial_noise;
  setup.trials.trial_s = fields.trial_time.value();
  setup.engine = engine_options(fields);
  ORRERY_TRY_VOID(load_files(env, fields, setup));
  const bool must_predict = fields.scaling == ScalingChoice::kPredicted;
  if (must_predict || fields.inputs == JobInputs::kLive) {
    ORRERY_TRY(PredictedTimes predicted, predict_step_times(job_trace, cluster, must_predict, names));
    setup.predicted_times = std::move(predicted.times);
    if (!predicted.note.empty()) result.notes.push_back(std::move(predicted.note));
  }
  simulate::EngineOptions& engine = setup.engine;
  if (fields.bid) {
    engine.outages = simulate::outages_above(engine.prices, fields.bid->value(), setup.machines.size());
  }
  if (fields.mtbf) {
    result.mtbf_s = fields.mtbf->value();
    result.repair_s = fields.repair.value();
  }
  // Twice the time of the submissions and a month: most runs end before.
  result.until_ns = 2 * job_trace.jobs.back().facts.submit_ns + schedule::from_seconds(30 * 86'400.0);
  result.told = fields.preemption_notice.has_value();
  if (result.told) result.notice_ns = nanoseconds(*fields.preemption_notice);
  result.save_ns = nanoseconds(fields.save_time);
  result.is_random = setup.scaling == ScalingKnowledge::kFitted || engine.prediction_sigma > 0 ||
                     engine.stragglers.probability > 0 || result.mtbf_s > 0;
  return result;
}

Result<std::string> fingerprint(env::Env env, const SetupFields& fields, const ClusterChoice& cluster,
                                const simulate::JobTrace& job_trace) {
  std::string content = simulate::to_csv(job_trace) + cluster.text;
  for (const std::string& file : {fields.step_times, fields.locality, fields.interference, fields.prices}) {
    if (file.empty()) continue;
    ORRERY_TRY(const std::string text, simulate::read_data_file(env.files, file));
    content += text;
  }
  content += "\n" + setup_fields().text(fields);
  return fmt::format("{:016x}", hash64(content));
}

}  // namespace orrery::service
