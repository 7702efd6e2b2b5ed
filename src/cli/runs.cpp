#include "cli/runs.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "env/files.h"
#include "workload/import/model_file.h"
#include "workload/zoo/zoo.h"

namespace orrery::cli {

using workload::TrainingGraph;
using workload::TrainingRun;

std::vector<OptionRecord> training_options() {
  return {
      integer_option("batch", 32, "samples per step and replica").bounds(1, 1 << 24).list(),
      choice_option("precision", "auto", {"auto", "fp32", "tf32", "fp16", "bf16"},
                    "arithmetic of products; auto: tf32 where the device has it")
          .list(),
      choice_option("optimizer", "momentum", {"sgd", "momentum", "adam", "adamw"}, "update rule"),
      integer_option("steps", 1000, "steps to train").bounds(1, 1e15),
      optional_number("epochs", "passes over the data instead of --steps").bounds(1e-6, 1e9),
      optional_integer("dataset-size", "samples of one epoch").bounds(1, 1e15),
      integer_option("tensor", 1, "devices that share each product").bounds(1, 1 << 20),
      integer_option("pipeline", 1, "pipeline stages").bounds(1, 1 << 20),
      integer_option("microbatches", 1, "micro-batches per step").bounds(1, 1 << 20),
      integer_option("zero", 0, "ZeRO stage").bounds(0, 3),
      choice_option("exchange", "ring", {"ring", "tree", "hierarchical", "ps"}, "how replicas agree on gradients"),
      integer_option("servers", 1, "parameter servers, with --exchange ps").bounds(1, 1 << 20),
  };
}

std::vector<OptionRecord> placement_options() {
  return {
      text_option("device", "V100", "devices to run on").in("NAME").list(),
      integer_option("count", 1, "number of devices").bounds(1, 1 << 20).list(),
      integer_option("per-machine", 8, "devices in one machine, at most").bounds(1, 1024),
      text_option("network", "", "link between machines; 100 Gb/s Ethernet unless given").in("LINK"),
  };
}

bool is_model_file(env::Files& files, const std::string& text) {
  return files.size(text).has_value();
}

Result<TrainingGraph> load_model(env::Files& files, const std::string& text) {
  if (is_model_file(files, text)) return workload::read_model_file(files, text);
  const bool looks_like_path = text.find('/') != std::string::npos || text.ends_with(".onnx");
  if (looks_like_path) return Error::not_found(fmt::format("there is no file \"{}\"", text));
  return workload::build_model(text);
}

namespace {

Result<Precision> choose_precision(const std::string& name, const hardware::Device& device) {
  for (const Precision precision : {Precision::kFp32, Precision::kTf32, Precision::kFp16, Precision::kBf16}) {
    if (to_string(precision) == name) return precision;
  }
  return hardware::supports(device, Precision::kTf32) ? Precision::kTf32 : Precision::kFp32;
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
  ORRERY_TRY(run.precision, choose_precision(precision, *placement.device));
  workload::Parallelism& parallel = run.parallelism;
  parallel.tensor = static_cast<int>(options.integer("tensor"));
  parallel.pipeline = static_cast<int>(options.integer("pipeline"));
  parallel.microbatches = static_cast<int>(options.integer("microbatches"));
  parallel.zero_stage = static_cast<int>(options.integer("zero"));
  parallel.servers = static_cast<int>(options.integer("servers"));
  ORRERY_TRY(parallel.exchange, workload::parse_exchange(options.text("exchange")));
  const std::int64_t model_devices = std::int64_t{parallel.tensor} * parallel.pipeline;
  if (placement.devices % model_devices != 0) {
    return Error::invalid(fmt::format("--count {} is not a multiple of --tensor {} × --pipeline {}", placement.devices,
                                      parallel.tensor, parallel.pipeline));
  }
  parallel.data = static_cast<int>(placement.devices / model_devices);
  ORRERY_TRY(run.steps, steps_of(options, run.global_batch()));
  return run;
}

Result<std::vector<RunPoint>> expand_runs(env::Files& files, const std::vector<std::string>& models,
                                          const OptionValues& options) {
  const auto devices = options.texts("device");
  const auto counts = options.integers("count");
  const auto batches = options.integers("batch");
  const auto precisions = options.texts("precision");
  const double points = static_cast<double>(models.size()) * static_cast<double>(devices.size()) *
                        static_cast<double>(counts.size()) * static_cast<double>(batches.size()) *
                        static_cast<double>(precisions.size());
  if (points > static_cast<double>(kMostPoints)) {
    return Error::invalid(fmt::format("{} combinations; at most {} can be asked at once", points, kMostPoints));
  }
  std::vector<RunPoint> runs;
  for (const std::string& model : models) {
    ORRERY_TRY(const TrainingGraph single, load_model(files, model));
    std::vector<TrainingGraph> graphs;
    for (const std::int64_t batch : batches) {
      ORRERY_TRY(TrainingGraph graph, single.with_batch(batch));
      graphs.push_back(std::move(graph));
    }
    for (const std::string& device : devices) {
      for (const std::int64_t count : counts) {
        const auto per_machine = std::min<std::int64_t>(count, options.integer("per-machine"));
        ORRERY_TRY(const hardware::Placement placement,
                   hardware::make_placement(device, static_cast<int>(count), static_cast<int>(per_machine),
                                            {.inside = {}, .between = options.text("network")}));
        for (const TrainingGraph& graph : graphs) {
          for (const std::string& precision : precisions) {
            ORRERY_TRY(TrainingRun run, make_run(graph, precision, placement, options));
            runs.push_back({model, std::move(run), placement});
          }
        }
      }
    }
  }
  return runs;
}

}  // namespace orrery::cli
