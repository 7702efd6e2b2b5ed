#include "workload/optimizer.h"

#include <array>
#include <fmt/format.h>

#include "base/text.h"

namespace orrery::workload {

namespace {

constexpr std::array kOptimizers = {
    OptimizerTraits{Optimizer::kSgd, "sgd", 0, 4, 2, 1},
    OptimizerTraits{Optimizer::kMomentum, "momentum", 1, 4, 4, 2},
    OptimizerTraits{Optimizer::kAdam, "adam", 2, 4, 12, 4},
    OptimizerTraits{Optimizer::kAdamW, "adamw", 2, 4, 14, 4},
};

}  // namespace

const OptimizerTraits& traits(Optimizer optimizer) {
  return kOptimizers[static_cast<std::size_t>(optimizer)];
}

std::span<const OptimizerTraits> optimizers() {
  return kOptimizers;
}

std::string_view to_string(Optimizer optimizer) {
  return traits(optimizer).name;
}

Result<Optimizer> parse_optimizer(std::string_view name) {
  std::vector<std::string> names;
  for (const OptimizerTraits& candidate : kOptimizers) {
    if (candidate.name == name) return candidate.optimizer;
    names.emplace_back(candidate.name);
  }
  return Error::invalid(fmt::format("unknown optimizer \"{}\"{}", name, did_you_mean(name, names)));
}

}  // namespace orrery::workload
