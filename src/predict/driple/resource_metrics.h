#pragma once
// The twelve metrics of a training job, and what follows from them.
//
// Each of four resources alternates between a burst (duration b, amount A) and idling (duration i, level I, which
// Driple does not predict and which is taken as 0 unless it is known):
//
//   cycle time           b + i
//   duty                 b / (b + i)
//   mean load            (b A + i I) / (b + i)
//   bytes per iteration  b A, of a network resource
//
// Two jobs on one device are compatible as far as their demand fits under the capacity C at every moment: with the
// shares s of time in which none, one, the other or both burst,
//
//   compatibility = 1 − Σ s · max(0, demand − C) / Σ s · demand
//
// Independent phases give s(both) = d1 d2. Phases that a scheduler interleaves give
// s(both) = max(0, d1 + d2 − 1), the least there can be; that needs equal cycle times.

#include <array>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace orrery::predict {

enum class Resource { kGpuMemory, kGpu, kReceive, kTransmit };  // in the order of the published labels
inline constexpr std::size_t kResources = 4;
inline constexpr std::size_t kMetrics = 3 * kResources;
std::string_view to_string(Resource resource);

// Amounts are percent of the GPU's time, or bytes per second of a network resource.
struct BurstMetrics {
  Seconds idle, burst;
  double amount = 0;
  double idle_level = 0;
};

using ResourceMetrics = std::array<BurstMetrics, kResources>;  // by Resource

// From what an inspector answers (per resource idle, burst, amount; shares of `maxima`). Below 0 becomes 0. Fails if
// there are not twelve of each, all finite.
Result<ResourceMetrics> resource_metrics(std::span<const double> answer, std::span<const double> maxima);

Seconds cycle_time(const BurstMetrics& metrics);
double duty(const BurstMetrics& metrics);       // 0 if the cycle is 0
double mean_load(const BurstMetrics& metrics);  // 0 if the cycle is 0
Bytes bytes_per_iteration(const BurstMetrics& network);

enum class Phases { kIndependent, kInterleaved };

// 1: both get all they ask for; 0: nothing. Two jobs that ask for nothing are compatible.
double compatibility(const BurstMetrics& one, const BurstMetrics& other, double capacity, Phases phases);

struct Colocation {
  double compatibility = 1;
  Resource limiting = Resource::kGpuMemory;  // the resource that gives it
};
// Over all resources, of which `capacities` are in the units of their amounts.
Colocation colocation(const ResourceMetrics& one, const ResourceMetrics& other,
                      const std::array<double, kResources>& capacities, Phases phases);

}  // namespace orrery::predict
