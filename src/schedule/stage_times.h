#pragma once
// The stages of one iteration of a job, on the GPUs it asks for.

#include <cstddef>
#include <memory>

namespace orrery::schedule {

// At most this many jobs run interleaved on the same GPUs: one for each resource.
inline constexpr std::size_t kGroupMax = 4;

// Time spent on each resource, measured alone. Reading and preparing data may be measured apart (storage, processors)
// or as one (load).
struct StageTimes {
  double load_s = 0;
  double storage_s = 0;
  double processors_s = 0;
  double gpu_s = 0;
  double network_s = 0;
  double iteration_s = 0;  // as measured, since stages may overlap or leave gaps; 0: nothing is known of the job

  auto operator<=>(const StageTimes&) const = default;
  void exchange(auto& state) { state(load_s, storage_s, processors_s, gpu_s, network_s, iteration_s); }
};

constexpr bool is_known(const StageTimes& stages) {
  return stages.iteration_s > 0;
}

constexpr double sum_s(const StageTimes& stages) {
  return stages.load_s + stages.storage_s + stages.processors_s + stages.gpu_s + stages.network_s;
}

// Jobs of one kind share them, so that the many jobs without a profile need no memory for them; null: not known.
using SharedStages = std::shared_ptr<const StageTimes>;

inline SharedStages shared_stages(const StageTimes& stages) {
  return is_known(stages) ? std::make_shared<const StageTimes>(stages) : nullptr;
}

}  // namespace orrery::schedule
