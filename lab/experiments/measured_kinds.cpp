#include "lab/experiments/measured_kinds.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "lab/evaluate/polimi_runs.h"

namespace orrery::lab {

namespace {

double median(std::vector<double> values) {
  const std::size_t half = values.size() / 2;
  std::sort(values.begin(), values.end());
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Seconds per sample by number of GPUs, of runs on one type with the batch of the kind.
std::map<int, double> medians_of(const std::vector<PolimiRun>& runs, const JobKind& kind, const std::string& gpu) {
  std::map<int, std::vector<double>> measured;
  for (const PolimiRun& one : runs) {
    const double gpus = one.run.gpus;
    const double batch = static_cast<double>(kind.batch) * (kind.batch_of_each_gpu ? gpus : 1);
    if (one.gpu != gpu || one.run.batch != batch || gpus != std::floor(gpus)) continue;
    measured[static_cast<int>(gpus)].push_back(one.run.seconds / one.run.iterations / batch);
  }
  std::map<int, double> medians;
  for (auto& [gpus, times] : measured) medians[gpus] = median(std::move(times));
  return medians;
}

}  // namespace

std::vector<double> filled_times(const std::map<int, double>& medians, int gpus_max) {
  const auto n = static_cast<double>(medians.size());
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& [gpus, time] : medians) {
    x += 1.0 / gpus / n;
    y += time / n;
    xx += 1.0 / gpus / gpus / n;
    xy += time / gpus / n;
  }
  double b = std::max(0.0, (xy - x * y) / (xx - x * x));
  double a = y - b * x;
  if (a < 0) {
    a = 0;
    b = xy / xx;
  }
  std::vector<double> times;
  for (int gpus = 1; gpus <= gpus_max; ++gpus) {
    const auto found = medians.find(gpus);
    times.push_back(found != medians.end() ? found->second : a + b / gpus);
  }
  return times;
}

Result<std::vector<KindTimes>> measured_times(const plan::Market& market, env::Files& files,
                                              const std::string& folder) {
  const std::map<std::string, int> most = gpus_by_type(market);
  std::vector<KindTimes> all;
  for (const JobKind& kind : published_kinds()) {
    ORRERY_TRY(const std::vector<PolimiRun> runs, read_polimi_runs(files, folder, std::string(kind.table)));
    KindTimes times;
    for (const auto& [gpu, gpus_max] : most) {
      const std::map<int, double> medians = medians_of(runs, kind, gpu);
      if (medians.size() < 2) continue;
      for (const double time : filled_times(medians, gpus_max)) times.sample_s[gpu].push_back({time, time, time});
    }
    if (times.sample_s.empty())
      return Error::infeasible(fmt::format("{}/{}: no two numbers of GPUs of a type that can be rented ran batch {}",
                                           folder, kind.table, kind.batch));
    all.push_back(std::move(times));
  }
  return all;
}

}  // namespace orrery::lab
