#include "cli/runs.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "cli/jobs.h"
#include "env/files.h"
#include "workload/import/model_file.h"
#include "workload/training_options.h"
#include "workload/zoo/zoo.h"

namespace orrery::cli {

using workload::TrainingGraph;
using workload::TrainingRun;

std::vector<OptionRecord> training_options() {
  std::vector<OptionRecord> options = {
      integer_option("batch", 32, "samples per step on each replica").bounds(1, 1 << 24).list(),
      workload::precision_option().list(),
      workload::optimizer_option(),
      integer_option("steps", 1000, "steps to train").bounds(1, 1e15),
      optional_number("epochs", "epochs to train, instead of --steps").bounds(1e-6, 1e9),
      optional_integer("dataset-size", "samples in one epoch").bounds(1, 1e15),
  };
  return join(std::move(options), workload::parallelism_options());
}

std::vector<OptionRecord> placement_options() {
  return {
      text_option("device", "V100", "devices to run on").in("NAME").list(),
      integer_option("count", 1, "number of devices").bounds(1, 1 << 20).list(),
      integer_option("per-machine", 8, "most devices in one machine").bounds(1, 1024),
      text_option(
          "network", "",
          "link between machines (default: 100 Gb/s Ethernet; one adapter per device on machines with boards of 8)")
          .in("LINK"),
  };
}

Result<TrainingGraph> load_model(env::Env env, const std::string& text) {
  if (is_tagged_file(env, text)) return workload::read_model_file(env.files, text);
  auto spec = workload::parse_model(text);
  if (spec) return workload::build_model(*spec);
  const bool unknown_name = spec.error().code() == ErrorCode::kNotFound;
  if (!unknown_name) return std::move(spec).error();
  const bool is_path = text.find('/') != std::string::npos || env.files.exists(text);
  if (is_path) return workload::read_model_file(env.files, text);
  return std::move(spec).error();
}

namespace {

Precision choose_precision(const std::string& name, const hardware::Device& device) {
  const Precision best = hardware::supports(device, Precision::kTf32) ? Precision::kTf32 : Precision::kFp32;
  return workload::precision_of(name).value_or(best);
}

Result<double> steps_of(const OptionValues& options, std::int64_t global_batch) {
  if (!options.has("epochs")) return static_cast<double>(options.integer("steps"));
  if (options.given("steps")) return Error::invalid("--steps and --epochs exclude each other");
  if (!options.has("dataset-size")) return Error::invalid("--epochs needs --dataset-size");
  const double samples = options.number("epochs") * static_cast<double>(options.integer("dataset-size"));
  return std::max(1.0, std::ceil(samples / static_cast<double>(global_batch)));
}

}  // namespace

Result<TrainingRun> make_run(TrainingGraph graph, const std::string& precision, const hardware::Placement& placement,
                             const OptionValues& options) {
  TrainingRun run{std::move(graph)};
  ORRERY_TRY(run.optimizer, workload::parse_optimizer(options.text("optimizer")));
  run.precision = choose_precision(precision, *placement.device);
  ORRERY_TRY(run.parallelism, workload::parallelism_of(options));
  workload::Parallelism& parallel = run.parallelism;
  const std::int64_t model_devices = std::int64_t{parallel.tensor} * parallel.pipeline;
  if (placement.devices % model_devices != 0) {
    return Error::invalid(fmt::format("--count {} is not a multiple of --tensor {} × --pipeline {}", placement.devices,
                                      parallel.tensor, parallel.pipeline));
  }
  parallel.data = static_cast<int>(placement.devices / model_devices);
  ORRERY_TRY(run.steps, steps_of(options, run.global_batch()));
  return run;
}

Result<std::string> model_named(env::Env env, const std::string& word) {
  ORRERY_TRY(const auto job, find_job(env, word));
  return job ? model_of(env, *job) : Result<std::string>(word);
}

Result<RunRequest> read_request(env::Env env, const std::string& word, const OptionValues& options) {
  ORRERY_TRY(const auto job, find_job(env, word));
  if (job) return job_request(env, *job, options);
  ORRERY_TRY(TrainingGraph graph, load_model(env, word));
  return RunRequest{word, std::move(graph), options, {}};
}

Result<RunRequest> job_request(env::Env env, const workload::JobFile& job, const OptionValues& options) {
  ORRERY_TRY(const std::string model, model_of(env, job));
  ORRERY_TRY(TrainingGraph graph, load_model(env, model));
  ORRERY_TRY(workload::JobSpec changed, changed_job(job.spec, options));
  ORRERY_TRY(OptionValues completed, completed_options(options, job.spec));
  return RunRequest{job.spec.model, std::move(graph), std::move(completed), std::move(changed)};
}

namespace {

// One place to run on, and the batches to try there.
struct Spot {
  std::string device;
  int count = 1;
  std::vector<std::int64_t> batches;

  bool operator==(const Spot&) const = default;
};

Error misfit_error(const workload::JobSpec& job, const workload::Misfit& problem) {
  return Error::invalid(problem.of_batch
                            ? fmt::format("{}: {}; --batch says the samples of one", job.name, problem.message)
                            : fmt::format("{}: --count {}", job.name, problem.message));
}

// --count, or the numbers that the job allows; the largest of these if none fits the options given.
std::vector<int> counts_for(const RunRequest& request, workload::DeviceCount wanted) {
  if (!request.options.given("count")) {
    const auto counts = workload::counts_to_try(*request.job, wanted);
    return counts.empty() ? std::vector{wanted.max} : counts;
  }
  const auto given = request.options.integers("count");
  return {given.begin(), given.end()};
}

Result<Spot> job_spot(const RunRequest& request, const std::string& device, int count) {
  if (const auto problem = workload::misfit(*request.job, count)) return misfit_error(*request.job, *problem);
  const auto batch = workload::replica_batch(*request.job, count);
  return Spot{device, count, batch ? std::vector{*batch} : request.options.integers("batch")};
}

// Options that were given may make alternatives of the job equal; each is kept once.
Status add_job_spots(const RunRequest& request, const workload::DeviceRequest& wanted, std::vector<Spot>& spots) {
  const bool own_device = request.options.given("device") || wanted.device.empty();
  const auto devices = own_device ? request.options.texts("device") : std::vector{wanted.device};
  for (const std::string& device : devices) {
    for (const int count : counts_for(request, wanted.count)) {
      ORRERY_TRY(Spot spot, job_spot(request, device, count));
      if (std::find(spots.begin(), spots.end(), spot) == spots.end()) spots.push_back(std::move(spot));
    }
  }
  return {};
}

Result<std::vector<Spot>> spots_of(const RunRequest& request) {
  const OptionValues& options = request.options;
  std::vector<Spot> spots;
  if (request.job) {
    for (const auto& wanted : request.job->resources) ORRERY_TRY_VOID(add_job_spots(request, wanted, spots));
    return spots;
  }
  for (const std::string& device : options.texts("device")) {
    for (const std::int64_t count : options.integers("count")) {
      spots.push_back({device, static_cast<int>(count), options.integers("batch")});
    }
  }
  return spots;
}

Result<hardware::Placement> place(const Spot& spot, const OptionValues& options) {
  const auto per_machine = std::min<std::int64_t>(spot.count, options.integer("per-machine"));
  return hardware::make_placement(spot.device, spot.count, static_cast<int>(per_machine),
                                  {.inside = {}, .between = options.text("network")});
}

// Graphs of one model at several batches; each is made once.
class Graphs {
 public:
  explicit Graphs(const TrainingGraph& single) : single_(single) {}

  Result<TrainingGraph> at(std::int64_t batch) {
    auto found = made_.find(batch);
    if (found == made_.end()) {
      ORRERY_TRY(TrainingGraph graph, single_.with_batch(batch));
      found = made_.emplace(batch, std::move(graph)).first;
    }
    return found->second;
  }

 private:
  const TrainingGraph& single_;
  std::map<std::int64_t, TrainingGraph> made_;
};

Status check_points(const std::vector<RunRequest>& requests) {
  double points = 0;
  for (const RunRequest& request : requests) {
    const auto precisions = static_cast<double>(request.options.texts("precision").size());
    ORRERY_TRY(const std::vector<Spot> spots, spots_of(request));
    for (const Spot& spot : spots) points += static_cast<double>(spot.batches.size()) * precisions;
  }
  if (points <= static_cast<double>(kMostPoints)) return {};
  return Error::invalid(fmt::format("{} combinations; at most {} can be asked at once", points, kMostPoints));
}

}  // namespace

Result<std::vector<RunPoint>> runs_of(const RunRequest& request) {
  std::vector<RunPoint> runs;
  Graphs graphs(request.graph);
  ORRERY_TRY(const std::vector<Spot> spots, spots_of(request));
  for (const Spot& spot : spots) {
    ORRERY_TRY(const hardware::Placement placement, place(spot, request.options));
    for (const std::int64_t batch : spot.batches) {
      ORRERY_TRY(const TrainingGraph graph, graphs.at(batch));
      for (const std::string& precision : request.options.texts("precision")) {
        ORRERY_TRY(TrainingRun run, make_run(graph, precision, placement, request.options));
        runs.push_back({request.model, std::move(run), placement});
      }
    }
  }
  return runs;
}

Result<std::vector<RunPoint>> expand_runs(env::Env env, const std::vector<std::string>& words,
                                          const OptionValues& options) {
  std::vector<RunRequest> requests;
  for (const std::string& word : words) {
    ORRERY_TRY(RunRequest request, read_request(env, word, options));
    requests.push_back(std::move(request));
  }
  ORRERY_TRY_VOID(check_points(requests));
  std::vector<RunPoint> runs;
  for (const RunRequest& request : requests) {
    ORRERY_TRY(std::vector<RunPoint> more, runs_of(request));
    std::move(more.begin(), more.end(), std::back_inserter(runs));
  }
  return runs;
}

}  // namespace orrery::cli
