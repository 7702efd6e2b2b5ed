#include "predict/regression/run_facts.h"

#include <cmath>
#include <fmt/format.h>

#include "base/text.h"
#include "workload/cost.h"

namespace orrery::predict {

namespace {

constexpr double kGiga = 1e9;

struct GraphTotals {
  double macs = 0, flops = 0, bytes = 0, activations = 0, layers = 0, side = 1;
};

GraphTotals totals_of(const workload::TrainingRun& run) {
  constexpr std::size_t kImageRank = 4;
  GraphTotals totals;
  for (const workload::Operator& op : run.graph.operators()) {
    totals.macs += workload::forward_macs(run.graph, op) / static_cast<double>(run.graph.batch());
    totals.layers += op.parameters.empty() ? 0 : 1;
    for (const workload::TensorType& type : op.outputs) totals.activations += workload::tensor_bytes(type, 4).value();
    if (op.kind == workload::OperatorKind::kInput && !op.outputs.empty()) {
      const auto dims = op.outputs.front().shape.dims();
      if (dims.size() == kImageRank) totals.side = static_cast<double>(dims[kImageRank - 1]);
    }
  }
  for (const workload::PhaseStep& step : run.graph.execution_order()) {
    const workload::OperatorCost cost = workload::operator_cost(run.graph, step, run.cost_options());
    totals.flops += cost.flops().value();
    totals.bytes += cost.bytes().value();
  }
  return totals;
}

}  // namespace

const std::vector<FactName>& fact_names() {
  static const std::vector<FactName> kNames = {
      {"batch", "samples of one step over the whole job"},
      {"batch_per_gpu", "samples of one step on one replica"},
      {"gpus", "devices of the job"},
      {"devices", "the same"},
      {"machines", "machines of the job"},
      {"gpus_per_machine", "devices of one machine, at most"},
      {"steps", "steps of the whole training"},
      {"iterations", "the same"},
      {"samples", "samples of the whole training"},
      {"parameters", "learned numbers of the model"},
      {"parameter_bytes", "4 bytes for each of them"},
      {"macs", "multiply-accumulates of one sample's forward pass"},
      {"flops", "floating-point operations of one step of one replica: forward, backward and update"},
      {"bytes", "bytes that one step of one replica moves at least"},
      {"activations", "bytes of all outputs of operators of one replica's batch"},
      {"operators", "operators of the model"},
      {"layers", "operators that have parameters"},
      {"side", "pixels of a side of an input image; 1 if the input is none"},
      {"gflops", "fp32 GFLOP/s of the device's data sheet"},
      {"memory_gb_s", "GB/s of the device's memory, from its data sheet"},
      {"memory_gb", "GB of the device's memory"},
      {"data", "replicas of data parallelism"},
      {"tensor", "devices that share an operator"},
      {"pipeline", "stages of a pipeline"},
      {"microbatches", "micro-batches of a step"},
      {"zero_stage", "stage of ZeRO, 0 to 3"},
      {"model", "the model's name (text)"},
      {"device", "the device's name (text)"},
      {"gpu", "the same (text)"},
      {"optimizer", "sgd, momentum, adam or adamw (text)"},
      {"precision", "fp32, tf32, fp16 or bf16 (text)"},
  };
  return kNames;
}

RunFacts run_facts(const workload::TrainingRun& run, const hardware::Placement& placement) {
  const GraphTotals totals = totals_of(run);
  const auto batch = static_cast<double>(run.global_batch());
  const auto parameters = static_cast<double>(run.graph.parameter_count());
  const workload::Parallelism& parallel = run.parallelism;
  const double devices = placement.devices;
  const hardware::Device& device = *placement.device;
  return {{"batch", batch},
          {"batch_per_gpu", static_cast<double>(run.graph.batch())},
          {"gpus", devices},
          {"devices", devices},
          {"machines", static_cast<double>(placement.machines())},
          {"gpus_per_machine", static_cast<double>(placement.devices_per_machine)},
          {"steps", run.steps},
          {"iterations", run.steps},
          {"samples", run.steps * batch},
          {"parameters", parameters},
          {"parameter_bytes", 4 * parameters},
          {"macs", totals.macs},
          {"flops", totals.flops},
          {"bytes", totals.bytes},
          {"activations", totals.activations},
          {"operators", static_cast<double>(run.graph.operators().size())},
          {"layers", totals.layers},
          {"side", totals.side},
          {"gflops", device.fp32.value() / kGiga},
          {"memory_gb_s", device.memory_bandwidth.value() / kGiga},
          {"memory_gb", device.memory.value() / kGiga},
          {"data", static_cast<double>(parallel.data)},
          {"tensor", static_cast<double>(parallel.tensor)},
          {"pipeline", static_cast<double>(parallel.pipeline)},
          {"microbatches", static_cast<double>(parallel.microbatches)},
          {"zero_stage", static_cast<double>(parallel.zero_stage)},
          {"model", std::string(run.graph.name())},
          {"device", std::string(device.name)},
          {"gpu", std::string(device.name)},
          {"optimizer", std::string(workload::to_string(run.optimizer))},
          {"precision", std::string(to_string(run.precision))}};
}

Result<RunFacts> parse_facts(const std::vector<std::string>& parts) {
  RunFacts facts;
  for (const std::string& part : parts) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size()) {
      return Error::invalid(fmt::format("expected NAME=VALUE, got {}", quote(part)));
    }
    const std::string name(trim(std::string_view(part).substr(0, equals)));
    const std::string value(trim(std::string_view(part).substr(equals + 1)));
    const auto number = parse_number(value);
    if (!facts.emplace(name, number && std::isfinite(*number) ? Fact(*number) : Fact(value)).second) {
      return Error::invalid(fmt::format("{} is given twice", quote(name)));
    }
  }
  return facts;
}

}  // namespace orrery::predict
