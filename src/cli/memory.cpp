#include "service/memory.h"

#include <algorithm>

#include "cli/commands.h"

namespace orrery::cli {

namespace {

Status run_memory(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const service::MemoryRequest request, service::memory_fields().read(options));
  ORRERY_TRY(const std::vector<service::MemoryAnswer> answers, service::predict_memory(context.env, request));
  const bool several = std::any_of(answers.begin(), answers.end(), [](const service::MemoryAnswer& answer) {
    return answer.point.placement.devices > 1;
  });
  Table table({{"model", "model"},
               {"device", "device"},
               {"devices", "devices", CellFormat::kInteger, several},
               {"batch_per_gpu", "batch per GPU", CellFormat::kInteger},
               {"memory_bytes", "memory", CellFormat::kBytes},
               {"memory_low_bytes", "low", CellFormat::kBytes},
               {"memory_high_bytes", "high", CellFormat::kBytes},
               {"device_memory_bytes", "of", CellFormat::kBytes},
               {"fits", "fits"},
               {"largest_batch_per_gpu", "largest batch", CellFormat::kInteger},
               {"parameters_bytes", "parameters", CellFormat::kBytes},
               {"gradients_bytes", "gradients", CellFormat::kBytes},
               {"optimizer_state_bytes", "optimizer", CellFormat::kBytes},
               {"activations_bytes", "activations", CellFormat::kBytes},
               {"temporaries_bytes", "temporaries", CellFormat::kBytes},
               {"workspace_bytes", "workspace", CellFormat::kBytes},
               {"communication_bytes", "communication", CellFormat::kBytes, false},
               {"framework_bytes", "framework", CellFormat::kBytes}});
  for (const service::MemoryAnswer& answer : answers) {
    const service::RunPoint& point = answer.point;
    const predict::Prediction& p = answer.prediction;
    const predict::MemoryBreakdown& m = p.memory_breakdown;
    table.add({point.model, std::string(point.placement.device->name), std::int64_t{point.placement.devices},
               point.run.graph.batch(), p.memory.value.value(), p.memory.low.value(), p.memory.high.value(),
               p.device_memory.value(), p.fits, answer.largest_batch_per_gpu, m.parameters.value(), m.gradients.value(),
               m.optimizer_state.value(), m.activations.value(), m.temporaries.value(), m.workspace.value(),
               m.communication.value(), m.framework.value()});
  }
  return context.print_table(table, options);
}

}  // namespace

Command memory_command() {
  return {"memory",
          "predict whether a training fits in memory: memory by part, and the largest batch that fits",
          join(service::memory_fields().records(), table_options()),
          {"orrery memory resnet50 --device T4,V100,A100 --batch 64",
           "orrery memory llama_7b --gpus A100-80GB:8 --zero 3 --precision bf16 --optimizer adamw",
           "orrery memory vit_b_16 --batch-per-gpu 32,64,128 --json", "orrery memory job.yaml"},
          run_memory};
}

}  // namespace orrery::cli
