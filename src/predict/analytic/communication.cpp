#include "predict/analytic/communication.h"

#include <algorithm>
#include <cmath>

namespace orrery::predict {

using hardware::Link;
using hardware::Placement;
using workload::GradientExchange;
using workload::Parallelism;

namespace {

Seconds moving(const Link& link, Bytes size) {
  return size / hardware::achievable_bandwidth(link);
}

}  // namespace

Seconds ring_all_reduce(const Link& link, int n, Bytes size) {
  if (n <= 1) return Seconds(0);
  const double share = 2.0 * (n - 1) / n;
  return link.latency * (2.0 * (n - 1)) + moving(link, size * share);
}

Seconds tree_all_reduce(const Link& link, int n, Bytes size) {
  if (n <= 1) return Seconds(0);
  return link.latency * (2 * std::ceil(std::log2(n))) + moving(link, size * 2);
}

Seconds hierarchical_all_reduce(const Placement& placement, int n, Bytes size) {
  const int inside = std::min(n, placement.devices_per_machine);
  const int machines = (n + inside - 1) / inside;
  return ring_all_reduce(placement.inside, inside, size) + ring_all_reduce(placement.between, machines, size);
}

Seconds parameter_server_exchange(const Link& link, int workers, int servers, Bytes size) {
  // Every server holds 1/p of the parameters and talks to all w workers over one link.
  const double contention = std::max(1.0, static_cast<double>(workers) / servers);
  return (link.latency + moving(link, size * contention)) * 2;
}

Seconds all_gather(const Link& link, int n, Bytes size) {
  if (n <= 1) return Seconds(0);
  return link.latency * (n - 1) + moving(link, size * (static_cast<double>(n - 1) / n));
}

Seconds gradient_exchange(const Parallelism& parallelism, const Placement& placement, Bytes size) {
  const int replicas = parallelism.data;
  if (parallelism.exchange == GradientExchange::kParameterServer) {
    return parameter_server_exchange(placement.between, replicas, parallelism.servers, size);
  }
  if (replicas <= 1) return Seconds(0);
  const int stride = parallelism.tensor * parallelism.pipeline;
  const bool one_machine = replicas * stride <= placement.devices_per_machine;
  const Link& link = one_machine ? placement.inside : placement.between;
  switch (parallelism.exchange) {
    case GradientExchange::kRing:
      return ring_all_reduce(link, replicas, size);
    case GradientExchange::kTree:
      return tree_all_reduce(link, replicas, size);
    case GradientExchange::kHierarchical:
    case GradientExchange::kParameterServer:
      break;
  }
  if (one_machine || stride > 1) return ring_all_reduce(link, replicas, size);
  return hierarchical_all_reduce(placement, replicas, size);
}

}  // namespace orrery::predict
