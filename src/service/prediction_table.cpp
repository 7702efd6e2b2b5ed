#include "service/prediction_table.h"

#include "service/explain.h"

namespace orrery::service {

std::vector<Column> prediction_columns() {
  return {{"model", "model"},
          {"device", "device"},
          {"devices", "devices", CellFormat::kInteger},
          {"batch_per_gpu", "batch per GPU", CellFormat::kInteger},
          {"batch", "batch", CellFormat::kInteger},
          {"precision", "precision"},
          {"iteration_s", "iteration", CellFormat::kSeconds},
          {"iteration_low_s", "low", CellFormat::kSeconds},
          {"iteration_high_s", "high", CellFormat::kSeconds},
          {"samples_per_s", "samples/s", CellFormat::kNumber},
          {"bound", "bound by"},
          {"memory_bytes", "memory", CellFormat::kBytes},
          {"memory_low_bytes", "memory low", CellFormat::kBytes, false},
          {"memory_high_bytes", "memory high", CellFormat::kBytes, false},
          {"device_memory_bytes", "of", CellFormat::kBytes},
          {"fits", "fits"},
          {"steps", "steps", CellFormat::kCount, false},
          {"total_s", "total time", CellFormat::kSeconds},
          {"total_low_s", "total low", CellFormat::kSeconds, false},
          {"total_high_s", "total high", CellFormat::kSeconds, false},
          {"cost_usd", "cost", CellFormat::kDollars},
          {"cost_low_usd", "cost low", CellFormat::kDollars, false},
          {"cost_high_usd", "cost high", CellFormat::kDollars, false},
          {"cost_basis", "price", CellFormat::kText, false},
          {"forward_s", "forward", CellFormat::kSeconds, false},
          {"backward_s", "backward", CellFormat::kSeconds, false},
          {"update_s", "update", CellFormat::kSeconds, false},
          {"exposed_communication_s", "communication", CellFormat::kSeconds, false},
          {"pipeline_bubble_s", "bubble", CellFormat::kSeconds, false},
          {"host_wait_s", "host wait", CellFormat::kSeconds, false},
          {"network", "network", CellFormat::kText, false},
          {"learned_share", "learned", CellFormat::kPercent, false},
          {"in_domain", "in domain", CellFormat::kText, false},
          {"calibrated", "calibrated", CellFormat::kText, false},
          {"made_by", "predictor", CellFormat::kText, false}};
}

std::vector<Cell> prediction_cells(const PredictedRun& run) {
  const auto& [point, p] = run;
  return {point.model,
          std::string(point.placement.device->name),
          std::int64_t{point.placement.devices},
          point.run.graph.batch(),
          point.run.global_batch(),
          std::string(to_string(point.run.precision)),
          p.iteration.value.value(),
          p.iteration.low.value(),
          p.iteration.high.value(),
          p.samples_per_second,
          std::string(to_string(main_bound(p))),
          p.memory.value.value(),
          p.memory.low.value(),
          p.memory.high.value(),
          p.device_memory.value(),
          p.fits,
          point.run.steps,
          p.total_time.value.value(),
          p.total_time.low.value(),
          p.total_time.high.value(),
          p.cost ? Cell(p.cost->value.value()) : Cell(),
          p.cost ? Cell(p.cost->low.value()) : Cell(),
          p.cost ? Cell(p.cost->high.value()) : Cell(),
          p.cost_basis,
          p.forward.value(),
          p.backward.value(),
          p.update.value(),
          p.exposed_communication.value(),
          p.pipeline_bubble.value(),
          p.host_wait.value(),
          p.network.empty() ? Cell() : Cell(p.network),
          p.learned_share,
          p.in_domain,
          p.calibrated,
          p.made_by};
}

}  // namespace orrery::service
