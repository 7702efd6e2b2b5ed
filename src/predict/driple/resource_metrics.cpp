#include "predict/driple/resource_metrics.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace orrery::predict {

std::string_view to_string(Resource resource) {
  switch (resource) {
    case Resource::kGpuMemory:
      return "GPU memory";
    case Resource::kGpu:
      return "GPU";
    case Resource::kReceive:
      return "network receive";
    case Resource::kTransmit:
      return "network transmit";
  }
  return "?";
}

Result<ResourceMetrics> resource_metrics(std::span<const double> answer, std::span<const double> maxima) {
  if (answer.size() != kMetrics || maxima.size() != kMetrics) {
    return Error::invalid(
        fmt::format("expected {} metrics and as many maxima, got {} and {}", kMetrics, answer.size(), maxima.size()));
  }
  std::array<double, kMetrics> values{};
  for (std::size_t i = 0; i < kMetrics; ++i) {
    values[i] = std::max(0.0, answer[i] * maxima[i]);
    if (!std::isfinite(answer[i] * maxima[i])) return Error::invalid(fmt::format("metric {} is not finite", i));
  }
  ResourceMetrics metrics;
  for (std::size_t i = 0; i < kResources; ++i) {
    metrics[i] = {Seconds(values[3 * i]), Seconds(values[3 * i + 1]), values[3 * i + 2]};
  }
  return metrics;
}

Seconds cycle_time(const BurstMetrics& metrics) {
  return metrics.burst + metrics.idle;
}

double duty(const BurstMetrics& metrics) {
  const double cycle = cycle_time(metrics).value();
  return cycle > 0 ? metrics.burst.value() / cycle : 0;
}

double mean_load(const BurstMetrics& metrics) {
  if (!(cycle_time(metrics).value() > 0)) return 0;
  const double bursting = duty(metrics);
  return bursting * metrics.amount + (1 - bursting) * metrics.idle_level;
}

Bytes bytes_per_iteration(const BurstMetrics& network) {
  return Bytes(network.burst.value() * network.amount);
}

double compatibility(const BurstMetrics& one, const BurstMetrics& other, double capacity, Phases phases) {
  const double a = duty(one), b = duty(other);
  const double both = phases == Phases::kIndependent ? a * b : std::max(0.0, a + b - 1);
  const struct {
    double share, demand;
  } states[] = {{both, one.amount + other.amount},
                {a - both, one.amount + other.idle_level},
                {b - both, one.idle_level + other.amount},
                {1 - a - b + both, one.idle_level + other.idle_level}};
  double demand = 0, excess = 0;
  for (const auto& state : states) {
    demand += state.share * state.demand;
    excess += state.share * std::max(0.0, state.demand - capacity);
  }
  return demand > 0 ? 1 - excess / demand : 1;
}

Colocation colocation(const ResourceMetrics& one, const ResourceMetrics& other,
                      const std::array<double, kResources>& capacities, Phases phases) {
  Colocation worst;
  for (std::size_t i = 0; i < kResources; ++i) {
    const double found = compatibility(one[i], other[i], capacities[i], phases);
    if (i == 0 || found < worst.compatibility) worst = {found, static_cast<Resource>(i)};
  }
  return worst;
}

}  // namespace orrery::predict
