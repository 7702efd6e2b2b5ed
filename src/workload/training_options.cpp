#include "workload/training_options.h"

namespace orrery::workload {

namespace {

constexpr double kDegreeMax = 1 << 20;

}  // namespace

OptionRecord optimizer_option() {
  std::vector<std::string> names;
  for (const OptimizerTraits& optimizer : optimizers()) names.emplace_back(optimizer.name);
  return choice_option("optimizer", "momentum", std::move(names), "update rule");
}

OptionRecord precision_option() {
  return choice_option("precision", "auto", {"auto", "fp32", "tf32", "fp16", "bf16"},
                       "arithmetic of products; auto: tf32 where the device has it");
}

std::vector<OptionRecord> parallelism_options() {
  return {
      integer_option("tensor", 1, "devices that share each product").bounds(1, kDegreeMax),
      integer_option("pipeline", 1, "pipeline stages").bounds(1, kDegreeMax),
      integer_option("microbatches", 1, "micro-batches per step").bounds(1, kDegreeMax),
      integer_option("zero", 0, "ZeRO stage").bounds(0, 3),
      choice_option("exchange", "ring", {"ring", "tree", "hierarchical", "ps"},
                    "how replicas agree on gradients; ps: parameter servers"),
      integer_option("servers", 1, "parameter servers, with exchange ps").bounds(1, kDegreeMax),
  };
}

Result<Parallelism> parallelism_of(const OptionValues& options) {
  Parallelism parallel;
  parallel.tensor = static_cast<int>(options.integer("tensor"));
  parallel.pipeline = static_cast<int>(options.integer("pipeline"));
  parallel.microbatches = static_cast<int>(options.integer("microbatches"));
  parallel.zero_stage = static_cast<int>(options.integer("zero"));
  parallel.servers = static_cast<int>(options.integer("servers"));
  ORRERY_TRY(parallel.exchange, parse_exchange(options.text("exchange")));
  return parallel;
}

std::optional<Precision> precision_of(std::string_view name) {
  for (const Precision precision : {Precision::kFp32, Precision::kTf32, Precision::kFp16, Precision::kBf16}) {
    if (to_string(precision) == name) return precision;
  }
  return std::nullopt;
}

}  // namespace orrery::workload
