#include "workload/training_run.h"

#include <array>
#include <fmt/format.h>

#include "base/text.h"

namespace orrery::workload {

namespace {

struct ExchangeName {
  GradientExchange exchange;
  std::string_view name;
};
constexpr std::array kExchanges = {ExchangeName{GradientExchange::kRing, "ring"},
                                   ExchangeName{GradientExchange::kTree, "tree"},
                                   ExchangeName{GradientExchange::kHierarchical, "hierarchical"},
                                   ExchangeName{GradientExchange::kParameterServer, "ps"}};

Status expect_degree(int degree, std::string_view what) {
  constexpr int kLargest = 1 << 20;
  if (degree >= 1 && degree <= kLargest) return {};
  return Error::invalid(fmt::format("{} is {}; expected 1 to {}", what, degree, kLargest));
}

}  // namespace

std::string_view to_string(GradientExchange exchange) {
  return kExchanges[static_cast<std::size_t>(exchange)].name;
}

Result<GradientExchange> parse_exchange(std::string_view name) {
  std::vector<std::string> names;
  for (const ExchangeName& candidate : kExchanges) {
    if (candidate.name == name) return candidate.exchange;
    names.emplace_back(candidate.name);
  }
  return Error::invalid(fmt::format("unknown gradient exchange \"{}\"{}", name, did_you_mean(name, names)));
}

CostOptions TrainingRun::cost_options() const {
  const bool half = precision == Precision::kFp16 || precision == Precision::kBf16;
  return {.optimizer = optimizer, .activation_bytes = half ? 2.0 : 4.0, .parameter_bytes = half ? 2.0 : 4.0};
}

Status validate(const TrainingRun& run) {
  const Parallelism& p = run.parallelism;
  ORRERY_TRY_VOID(expect_degree(p.data, "data parallelism"));
  ORRERY_TRY_VOID(expect_degree(p.tensor, "tensor parallelism"));
  ORRERY_TRY_VOID(expect_degree(p.pipeline, "pipeline parallelism"));
  ORRERY_TRY_VOID(expect_degree(p.microbatches, "micro-batches"));
  ORRERY_TRY_VOID(expect_degree(p.servers, "parameter servers"));
  if (p.zero_stage < 0 || p.zero_stage > 3) {
    return Error::invalid(fmt::format("ZeRO stage is {}; expected 0 to 3", p.zero_stage));
  }
  if (run.graph.batch() % p.microbatches != 0) {
    return Error::invalid(
        fmt::format("batch {} does not divide into {} micro-batches", run.graph.batch(), p.microbatches));
  }
  const auto operators = static_cast<std::int64_t>(run.graph.operators().size());
  if (p.pipeline > operators) {
    return Error::invalid(fmt::format("{} pipeline stages for a model of {} operators", p.pipeline, operators));
  }
  if (!(run.steps > 0)) return Error::invalid("steps must be above 0");
  return {};
}

}  // namespace orrery::workload
