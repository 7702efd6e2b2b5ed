#include "lab/experiments/job_inputs.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <mutex>

#include "base/parallel.h"
#include "env/sim_env.h"
#include "service/predicted_times.h"
#include "simulate/data_file.h"
#include "simulate/readers/application.h"
#include "simulate/readers/reader.h"
#include "simulate/runner.h"
#include "simulate/summary.h"

namespace orrery::lab {

namespace {

using schedule::StepCurve;
using simulate::JobCurves;
using simulate::ScalingKnowledge;
using simulate::StepTimes;

constexpr int kNodes = 16, kGpusPerNode = 4;
constexpr const char* kWorkloads[] = {"1", "2"};

struct Trained {
  const char* application;
  const char* model;  // of the zoo
};
// The others: yolov3 is not in the zoo, ncf does not scale at all there.
constexpr Trained kTrained[] = {{"imagenet", "resnet50"},
                                {"cifar10", "resnet18:input=32,classes=10"},
                                {"bert", "bert_base:seq=384,head=classes"},
                                {"deepspeech2", "deepspeech2"}};

struct Knowledge {
  const char* name;
  bool live;
  ScalingKnowledge scaling;
  bool predicts = true;
};
constexpr Knowledge kKnowledge[] = {{"truth", false, ScalingKnowledge::kKnown},
                                    {"fitted", false, ScalingKnowledge::kFitted},
                                    {"predicted", false, ScalingKnowledge::kPredicted},
                                    {"live", true, ScalingKnowledge::kPredicted},
                                    {"history", true, ScalingKnowledge::kPredicted, false}};

struct World {
  JobTrace job_trace;
  StepTimes measured, predicted;
};

// Full nodes, and the rest on one more.
std::vector<int> packed(int gpus) {
  std::vector<int> per_node(static_cast<std::size_t>(gpus / kGpusPerNode), kGpusPerNode);
  if (gpus % kGpusPerNode > 0) per_node.push_back(gpus % kGpusPerNode);
  return per_node;
}

// Times of a step with this batch, on every number of GPUs on which it was measured.
std::map<int, double> measured_steps(const simulate::Application& application, int batch) {
  std::map<int, double> step_s;
  for (int gpus = 1; gpus <= std::min(application.gpus_max(batch), kNodes * kGpusPerNode); ++gpus) {
    const simulate::BatchSplit split = application.split(batch, gpus, false);
    if (split.per_gpu < 1) continue;
    const auto time = application.step_time(packed(gpus), split.per_gpu);
    if (time) step_s.emplace(gpus, time->total_s(split.accumulations));
  }
  return step_s;
}

service::ClusterChoice testbed() {
  service::ClusterChoice cluster;
  cluster.machines.assign(kNodes, {.gpus = kGpusPerNode});
  cluster.devices = {"T4"};
  cluster.gpus = kNodes * kGpusPerNode;
  return cluster;
}

Result<World> read_world(env::Files& files, const std::string& data, const std::string& workload, double hurry) {
  const std::string folder = data + "/sched_pollux_sia";
  ORRERY_TRY(const simulate::Applications applications, simulate::read_applications(files, folder, "aws"));
  const std::string path = fmt::format("{}/workloads/pollux-load1.0/workload-{}.csv", folder, workload);
  ORRERY_TRY(const std::string text, simulate::read_data_file(files, path));
  ORRERY_TRY(
      simulate::JobTraceFile file,
      simulate::read_job_trace(text, path, {.format = "pollux", .speeds = simulate::SpeedTable::of(applications)}));
  World world;
  world.job_trace = file.job_trace;
  world.job_trace.jobs.clear();
  for (TraceJob job : file.job_trace.jobs) {
    const auto* const trained = std::find_if(std::begin(kTrained), std::end(kTrained),
                                             [&](const Trained& one) { return job.model == one.application; });
    if (trained == std::end(kTrained)) continue;
    auto step_s = measured_steps(applications.find(job.model)->second, static_cast<int>(job.batch));
    if (!step_s.contains(job.facts.gpus)) continue;
    job.model = trained->model;
    job.steps = schedule::to_seconds(job.facts.work_ns) / step_s.at(job.facts.gpus);
    job.facts.submit_ns = static_cast<simulate::TimeNs>(static_cast<double>(job.facts.submit_ns) / hurry);
    job.facts.gpus_max = step_s.rbegin()->first;
    world.measured.add(job.model, job.batch, std::make_shared<const StepCurve>(std::move(step_s)));
    world.job_trace.jobs.push_back(std::move(job));
  }
  simulate::normalise(world.job_trace);
  ORRERY_TRY(service::PredictedTimes predicted,
             service::predict_step_times(world.job_trace, testbed(), true, FieldNames{}));
  world.predicted = std::move(predicted.times);
  return world;
}

Result<simulate::Summary> play(const World& world, const JobInputsExperiment& options, const std::string& policy,
                               const Knowledge& knowledge) {
  env::SimEnv sim;
  const env::Env env = sim.env();
  simulate::RunSetup setup;
  setup.env = &env;
  setup.machines = testbed().machines;
  setup.step_times = world.measured;
  if (knowledge.predicts) setup.predicted_times = world.predicted;
  setup.scaling = knowledge.scaling;
  setup.engine.costs.resume_ns = setup.engine.costs.move_ns = schedule::from_seconds(options.restart_s);
  if (knowledge.live) setup.engine.live.emplace();
  ORRERY_TRY(const simulate::RunResult run, simulate::run_policy(world.job_trace, setup, policy));
  return simulate::summarise(world.job_trace, run, kNodes * kGpusPerNode, 0);
}

// By policy and knowledge: mean completion times over workloads.
using Grid = std::vector<std::vector<double>>;

Result<Grid> play_all(const std::vector<World>& worlds, const JobInputsExperiment& options,
                      const std::function<void()>& done) {
  constexpr std::size_t kKinds = std::size(kKnowledge);
  const std::size_t cells = options.policies.size() * kKinds * worlds.size();
  std::vector<std::optional<Result<simulate::Summary>>> summaries(cells);
  std::mutex lock;
  run_parallel(cells, options.threads, [&](std::size_t i) {
    const std::size_t w = i % worlds.size(), k = i / worlds.size() % kKinds, p = i / worlds.size() / kKinds;
    summaries[i].emplace(play(worlds[w], options, options.policies[p], kKnowledge[k]));
    const std::lock_guard<std::mutex> guard(lock);
    if (done) done();
  });
  Grid grid(options.policies.size(), std::vector<double>(kKinds, 0));
  for (std::size_t i = 0; i < cells; ++i) {
    const std::size_t k = i / worlds.size() % kKinds, p = i / worlds.size() / kKinds;
    if (!*summaries[i]) return std::move(*summaries[i]).error().with_context(options.policies[p]);
    grid[p][k] += (*summaries[i])->mean_s / static_cast<double>(worlds.size());
  }
  return grid;
}

Table completion_table(const JobInputsExperiment& options, const Grid& grid) {
  std::vector<Column> columns = {{"policy", "policy"}, {"truth_s", "truth", CellFormat::kSeconds}};
  for (std::size_t k = 1; k < std::size(kKnowledge); ++k) {
    columns.push_back({fmt::format("{}_ratio", kKnowledge[k].name), kKnowledge[k].name, CellFormat::kNumber});
  }
  Table table(std::move(columns));
  for (std::size_t p = 0; p < grid.size(); ++p) {
    std::vector<Cell> cells = {options.policies[p], grid[p][0]};
    for (std::size_t k = 1; k < std::size(kKnowledge); ++k) cells.emplace_back(grid[p][k] / grid[p][0]);
    table.add(std::move(cells));
  }
  return table;
}

// Mean sizes of relative errors over jobs.
struct Wrong {
  int jobs = 0;
  double step = 0, scaling = 0;
};

Table error_table(const std::vector<World>& worlds) {
  std::map<std::string, Wrong> by_model;
  for (const World& world : worlds) {
    const JobCurves measured = world.measured.curves_of(world.job_trace);
    const JobCurves predicted = world.predicted.curves_of(world.job_trace);
    for (const simulate::JobIndex job : world.job_trace.jobs.indices()) {
      const TraceJob& one = world.job_trace.jobs[job];
      const int asked = one.facts.gpus;
      Wrong& wrong = by_model[one.model];
      ++wrong.jobs;
      const auto& truth = measured[job]->known();
      wrong.step += std::abs(predicted[job]->step_s(asked) / truth.at(asked) - 1);
      double sum = 0;
      for (const auto& [gpus, step_s] : truth) {
        const double relative = predicted[job]->step_s(gpus) / predicted[job]->step_s(asked);
        sum += std::abs(relative / (step_s / truth.at(asked)) - 1);
      }
      wrong.scaling += sum / static_cast<double>(truth.size());
    }
  }
  Table table({{"model", "model"},
               {"jobs", "jobs", CellFormat::kInteger},
               {"step_error", "step time", CellFormat::kPercent},
               {"scaling_error", "on other numbers of GPUs", CellFormat::kPercent}});
  for (const auto& [model, wrong] : by_model) {
    table.add({model, std::int64_t{wrong.jobs}, wrong.step / wrong.jobs, wrong.scaling / wrong.jobs});
  }
  return table;
}

}  // namespace

int job_inputs_steps(const JobInputsExperiment& options) {
  return static_cast<int>(options.policies.size() * std::size(kKnowledge) * std::size(kWorkloads));
}

Result<ExperimentReport> run_job_inputs_experiment(env::Files& files, const std::string& data,
                                                   const JobInputsExperiment& options,
                                                   const std::function<void()>& done) {
  std::vector<World> worlds;
  for (const char* workload : kWorkloads) {
    ORRERY_TRY(World world, read_world(files, data, workload, options.hurry));
    worlds.push_back(std::move(world));
  }
  ORRERY_TRY(const Grid grid, play_all(worlds, options, done));
  ExperimentReport report;
  report.tables.push_back(
      {"completion", "Mean completion time, and its multiples if less is known", completion_table(options, grid)});
  report.tables.push_back({"errors", "Mean error of predictions", error_table(worlds)});
  return report;
}

}  // namespace orrery::lab
