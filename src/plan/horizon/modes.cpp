#include "plan/horizon/modes.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "plan/horizon/likely.h"

namespace orrery::plan::horizon {

namespace {

double on_spot(double work_s, int machines, const VmType& type) {
  return type.spot ? spot_time(Seconds(work_s), machines, *type.spot).time.value() : work_s;
}

bool is_beaten(const Mode& mode, const std::vector<Mode>& modes) {
  return std::any_of(modes.begin(), modes.end(), [&](const Mode& other) {
    const bool smaller = other.machines < mode.machines || (other.machines == mode.machines && other.gpus < mode.gpus);
    return other.vm == mode.vm && smaller && other.gpus <= mode.gpus && other.time_s <= mode.time_s &&
           other.likely_s.value <= mode.likely_s.value && other.likely_s.high <= mode.likely_s.high;
  });
}

}  // namespace

std::vector<Mode> modes_of(std::span<const PredictedConfiguration> configurations, const std::vector<VmType>& types,
                           int nodes, double certainty) {
  std::vector<Mode> all;
  for (std::size_t vm = 0; vm < types.size(); ++vm) {
    const VmType& type = types[vm];
    for (const PredictedConfiguration& configuration : configurations) {
      const bool has_it =
          configuration.machines == 1 ? configuration.gpus <= type.gpus : configuration.gpus == type.gpus;
      if (configuration.device != type.gpu || !has_it || configuration.machines > std::min(nodes, type.nodes_max))
        continue;
      const auto at = [&](double time) { return on_spot(time, configuration.machines, type); };
      const double time = at(time_within(configuration.time_s, certainty));
      if (!(time <= kTimeMaxS)) continue;
      all.push_back({vm,
                     configuration.gpus,
                     configuration.machines,
                     time,
                     {at(configuration.time_s.value), at(configuration.time_s.low), at(configuration.time_s.high)}});
    }
  }
  std::vector<Mode> modes;
  std::copy_if(all.begin(), all.end(), std::back_inserter(modes), [&](const Mode& m) { return !is_beaten(m, all); });
  return modes;
}

std::vector<bool> useful_modes(const Task& task, const Tariff& tariff, const Grid& grid,
                               const std::vector<VmType>& types, const std::vector<bool>& limited) {
  const auto periods = static_cast<std::ptrdiff_t>(grid.periods);
  std::vector<std::tuple<double, double, std::size_t>> by_time;  // time, share of the mean price, mode
  for (std::size_t m = 0; m < task.modes.size(); ++m) {
    const Mode& mode = task.modes[m];
    const auto mean = [&](const std::vector<double>& values) {
      const auto from = values.begin() + static_cast<std::ptrdiff_t>(mode.vm) * periods;
      return std::accumulate(from, from + periods, 0.0) / static_cast<double>(periods);
    };
    const double gpu_usd_s = mean(tariff.machine) / grid.period_s / types[mode.vm].gpus + mean(tariff.busy_gpu_s);
    by_time.emplace_back(mode.time_s, gpu_usd_s * mode.gpus * mode.machines * mode.time_s, m);
  }
  std::sort(by_time.begin(), by_time.end());
  std::vector<bool> useful(task.modes.size(), false);
  double cheapest = kNever;
  for (const auto& [time, usd, mode] : by_time) {
    if (usd >= cheapest) continue;
    useful[mode] = true;
    if (!limited[task.modes[mode].vm]) cheapest = usd;
  }
  return useful;
}

std::vector<bool> useful_types(const std::vector<Task>& tasks, const Tariff& tariff, const Grid& grid,
                               const std::vector<VmType>& types, const std::vector<bool>& limited) {
  std::vector<bool> useful(types.size(), false);
  for (const Task& task : tasks) {
    const std::vector<bool> modes = useful_modes(task, tariff, grid, types, limited);
    for (std::size_t m = 0; m < modes.size(); ++m)
      if (modes[m]) useful[task.modes[m].vm] = true;
  }
  return useful;
}

}  // namespace orrery::plan::horizon
