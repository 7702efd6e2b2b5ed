#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/runs.h"
#include "predict/analytic/analytic.h"

namespace orrery::cli {

using predict::Prediction;

namespace {

// The largest batch that still fits, by doubling and bisection; 0 if not even one sample does.
Result<std::int64_t> largest_batch(const RunPoint& point, const predict::Predictor& predictor) {
  const std::int64_t unit = point.run.parallelism.microbatches;
  const auto fits = [&](std::int64_t units) -> Result<bool> {
    workload::TrainingRun run = point.run;
    ORRERY_TRY(run.graph, point.run.graph.with_batch(units * unit));
    ORRERY_TRY(const Prediction prediction, predictor.predict(run, point.placement));
    return prediction.fits;
  };
  constexpr std::int64_t kMost = 1 << 20;
  std::int64_t low = 0, high = 1;
  while (high <= kMost) {
    const auto enough = fits(high);
    if (!enough || !*enough) break;  // a batch too large to describe does not fit either
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    const auto enough = fits(middle);
    (enough && *enough ? low : high) = middle;
  }
  return low * unit;
}

Status run_memory(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const std::vector<RunPoint> points, expand_runs(context.env, arguments.words, options));
  const predict::AnalyticPredictor predictor;
  const bool several =
      std::any_of(points.begin(), points.end(), [](const RunPoint& point) { return point.placement.devices > 1; });
  Table table({{"model", "model"},
               {"device", "device"},
               {"devices", "devices", CellFormat::kInteger, several},
               {"batch", "batch", CellFormat::kInteger},
               {"memory_bytes", "memory", CellFormat::kBytes},
               {"memory_low_bytes", "low", CellFormat::kBytes},
               {"memory_high_bytes", "high", CellFormat::kBytes},
               {"device_memory_bytes", "of", CellFormat::kBytes},
               {"fits", "fits"},
               {"largest_batch", "largest batch", CellFormat::kInteger},
               {"parameters_bytes", "parameters", CellFormat::kBytes},
               {"gradients_bytes", "gradients", CellFormat::kBytes},
               {"optimizer_state_bytes", "optimizer", CellFormat::kBytes},
               {"activations_bytes", "activations", CellFormat::kBytes},
               {"temporaries_bytes", "temporaries", CellFormat::kBytes},
               {"workspace_bytes", "workspace", CellFormat::kBytes},
               {"communication_bytes", "communication", CellFormat::kBytes, false},
               {"framework_bytes", "framework", CellFormat::kBytes}});
  for (const RunPoint& point : points) {
    ORRERY_TRY(const Prediction p, predictor.predict(point.run, point.placement));
    ORRERY_TRY(const std::int64_t largest, largest_batch(point, predictor));
    const predict::MemoryBreakdown& m = p.memory_breakdown;
    table.add({point.model, std::string(point.placement.device->name), std::int64_t{point.placement.devices},
               point.run.graph.batch(), p.memory.value.value(), p.memory.low.value(), p.memory.high.value(),
               p.device_memory.value(), p.fits, largest, m.parameters.value(), m.gradients.value(),
               m.optimizer_state.value(), m.activations.value(), m.temporaries.value(), m.workspace.value(),
               m.communication.value(), m.framework.value()});
  }
  return context.print_table(table, options);
}

}  // namespace

Command memory_command() {
  return {"memory",
          "MODEL…",
          1,
          64,
          "predict whether a training fits in memory: memory by part, and the largest batch that fits",
          join(join(placement_options(), training_options()), table_options()),
          {"orrery memory resnet50 --device T4,V100,A100 --batch 64",
           "orrery memory llama_7b --device A100-80GB --count 8 --zero 3 --precision bf16 --optimizer adamw",
           "orrery memory vit_b_16 --batch 32,64,128 --json", "orrery memory job.yaml"},
          run_memory};
}

}  // namespace orrery::cli
