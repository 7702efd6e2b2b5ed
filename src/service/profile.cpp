#include "service/profile.h"

#include <algorithm>
#include <fmt/format.h>
#include <thread>

#include "base/text.h"
#include "hardware/placement.h"
#include "predict/analytic/analytic.h"
#include "profile/training_data.h"
#include "service/predictors.h"
#include "workload/training_options.h"

namespace orrery::service {

namespace {

Fields<AloneFields> alone_fields() {
  using A = AloneFields;
  return Fields<A>()
      .add(&A::optimizer, workload::optimizer_option(), workload::parse_optimizer)
      .add(&A::repetitions,
           integer_option("repetitions", 10, "rounds to measure; each is one plain and one traced step")
               .bounds(3, 10000))
      .add(&A::warmup, integer_option("warmup", 3, "warm-up steps that are not measured").bounds(1, 10000))
      .add(&A::gpu, flag_option("gpu", "run on the first CUDA device"))
      .add(&A::data,
           text_option("data", "synthetic", "input data: synthetic, fashion-mnist, or a text file").in("DATA"));
}

}  // namespace

const Fields<ProfileRequest>& profile_fields() {
  using P = ProfileRequest;
  static const auto kFields =
      Fields<P>()
          .add(&P::trained, trained_fields())
          .add(&P::alone, alone_fields())
          .add(&P::workers,
               optional_integer("workers",
                                "train data-parallel in this many processes, and measure what they use of processor, "
                                "memory and network instead of operators")
                   .bounds(1, 64))
          .add(&P::exchange, exchange_fields())
          .add(&P::measuring, measuring_fields())
          .add(&P::rate,
               text_option("rate", "",
                           "rate of each process's link in each direction: a limit of isolated networks, or what is "
                           "predicted for (default: 100MB/s)")
                   .in("RATE"),
               parse_rate)
          .add(&P::predict,
               flag_option("predict",
                           "with --workers: predict what a worker uses from jobs that were measured, and run "
                           "nothing"))
          .add(&P::predictor,
               text_option("predictor", "auto",
                           "with --predict: auto (what was learned from the jobs that ship), or a file that `orrery "
                           "fit` made of a set of jobs")
                   .in("MODEL"));
  return kFields;
}

namespace {

struct GivenField {
  std::string_view name;
  bool given = false;
};

Status refuse(const FieldNames& names, std::initializer_list<GivenField> fields, const std::string& why) {
  for (const GivenField& field : fields) {
    if (field.given) return names.error(field.name, why);
  }
  return {};
}

// A field of another kind of measurement would be ignored.
Status check_fields(const ProfileRequest& r) {
  const FieldNames& names = r.names;
  const auto& [form, servers, mode, steps, silence] = r.exchange;
  const auto& [isolate, pin, period, time_max] = r.measuring;
  if (!r.workers) {
    return refuse(names,
                  {{"form", form.given()},
                   {"servers", servers.given()},
                   {"mode", mode.given()},
                   {"steps", steps.given()},
                   {"silence", silence.given()},
                   {"isolate", isolate},
                   {"pin", pin},
                   {"period", period.given()},
                   {"time-max", time_max.given()},
                   {"rate", r.rate.has_value()},
                   {"predict", r.predict},
                   {"predictor", r.predictor.given()}},
                  fmt::format("is about several processes; give {}", names("workers")));
  }
  ORRERY_TRY_VOID(refuse(names,
                         {{"optimizer", r.alone.optimizer.given()},
                          {"repetitions", r.alone.repetitions.given()},
                          {"warmup", r.alone.warmup.given()},
                          {"gpu", r.alone.gpu},
                          {"data", r.alone.data.given()}},
                         fmt::format("is about one process; leave {} out", names("workers"))));
  if (!r.predict) {
    return refuse(names, {{"predictor", r.predictor.given()}}, fmt::format("needs {}", names("predict")));
  }
  return refuse(names,
                {{"steps", steps.given()},
                 {"silence", silence.given()},
                 {"isolate", isolate},
                 {"pin", pin},
                 {"period", period.given()},
                 {"time-max", time_max.given()}},
                fmt::format("is about processes that run; leave {} out", names("predict")));
}

// Refuses what would push the machine into swapping.
Status check_memory(env::Env env, const workload::TrainingRun& run, const FieldNames& names) {
  ORRERY_TRY(const hardware::Placement here, hardware::make_placement("CPU", 1, 1));
  ORRERY_TRY(const predict::Prediction prediction, predict::AnalyticPredictor().predict(run, here));
  ORRERY_TRY(const Bytes free, profile::available_memory(env.files));
  const Bytes needed = prediction.memory.value;
  if (needed <= free) return {};
  return Error::infeasible(
      fmt::format("{} at batch {} needs about {}, but only {} of memory are free; try a smaller "
                  "{} or model",
                  run.graph.name(), run.graph.batch(), format_bytes(needed), format_bytes(free), names("batch")));
}

Result<std::unique_ptr<profile::TrainingData>> open_data(env::Env env, const std::string& name) {
  if (name == "synthetic") return std::unique_ptr<profile::TrainingData>();
  if (name == "fashion-mnist") {
    ORRERY_TRY(auto images, profile::read_images(env.files, profile::kFashionMnistFolder));
    return std::unique_ptr<profile::TrainingData>(std::move(images));
  }
  return profile::read_text(env.files, name);
}

profile::ExecutorOptions executor_options(const ProfileRequest& request) {
  profile::ExecutorOptions result;
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  result.threads = request.trained.threads.value_or(cores);
  result.on_gpu = request.alone.gpu;
  result.seed = request.trained.seed;
  result.learning_rate = request.trained.learning_rate;
  return result;
}

Result<profile::Profile> measure(env::Env env, const workload::TrainingRun& run, const ProfileRequest& request,
                                 Watch& watch) {
  watch.begin(fmt::format("profiling {}", run.graph.name()), *request.alone.repetitions, "rounds");
  ORRERY_TRY(const auto data, open_data(env, *request.alone.data));
  const profile::ExecutorOptions how = executor_options(request);
  ORRERY_TRY(const auto executor, profile::make_executor(run, how, env.clock));
  profile::ProfileHooks hooks;
  hooks.after_round = [&](int done, int) { watch.at(done); };
  if (data) hooks.before_step = [&](std::int64_t step) { return data->feed(*executor, run.graph, step); };
  const profile::ProfileOptions repeated{*request.alone.warmup, *request.alone.repetitions, Seconds()};
  ORRERY_TRY(profile::Profile profile, profile::measure(run, *executor, repeated, env.files, env.clock, hooks));
  profile.trace.device = how.on_gpu ? "CUDA device 0" : fmt::format("{} CPU threads", how.threads);
  return profile;
}

Result<profile::Profile> profile_alone(env::Env env, const ProfileRequest& request, Watch& watch) {
  ORRERY_TRY(const workload::TrainingRun run, trained_run(env, request.trained, *request.alone.optimizer));
  ORRERY_TRY_VOID(check_memory(env, run, request.names));
  return measure(env, run, request, watch);
}

}  // namespace

Result<ProfileAnswer> profile(env::Env env, const ProfileRequest& request, Watch& watch) {
  ORRERY_TRY_VOID(check_fields(request));
  if (!request.workers) return profile_alone(env, request, watch);
  const FieldNames& names = request.names;
  const WorkersQuestion question{request.trained, request.exchange, *request.workers, request.rate};
  if (request.predict) return predict_worker(env, question, *request.predictor, names);
  if (request.rate && !request.measuring.isolate) {
    return Error::invalid(
        fmt::format("{} limits the network of isolated processes; add {}", names("rate"), names("isolate")));
  }
  return measure_workers(env, question, request.measuring, watch);
}

}  // namespace orrery::service
