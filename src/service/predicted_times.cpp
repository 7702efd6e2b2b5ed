#include "service/predicted_times.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

#include "base/text.h"
#include "predict/registry/registry.h"
#include "predict/registry/shipped_models.h"
#include "predict/run_spec.h"
#include "workload/zoo/zoo.h"

namespace orrery::service {

namespace {

using simulate::TraceJob;

// Of one type.
struct Pool {
  std::int32_t type = 0;
  int gpus = 0;
  int per_machine = 1;
};

Pool largest_pool(const ClusterChoice& cluster) {
  std::vector<Pool> pools(cluster.devices.size());
  for (const schedule::MachineView& machine : cluster.machines) {
    Pool& pool = pools[static_cast<std::size_t>(machine.device)];
    pool.type = machine.device;
    pool.gpus += machine.gpus;
    pool.per_machine = std::max(pool.per_machine, machine.gpus);
  }
  return *std::max_element(pools.begin(), pools.end(), [](const Pool& a, const Pool& b) { return a.gpus < b.gpus; });
}

class StepTimePredictor {
 public:
  StepTimePredictor(const hardware::Device& device, const Pool& pool)
      : device_(device), pool_(pool), predictor_(predict::shipped_models()) {}

  // On these numbers of GPUs.
  Result<schedule::SharedCurve> curve(const std::string& model, double batch, const std::set<int>& numbers) {
    ORRERY_TRY(const workload::TrainingGraph graph, workload::build_model(model));
    std::map<int, double> fitting, all;
    for (const int gpus : numbers) {
      if (gpus > batch) break;
      // The largest share of the batch decides.
      const auto per_gpu = static_cast<std::int64_t>(std::ceil(batch / gpus));
      ORRERY_TRY(workload::TrainingGraph replica, graph.with_batch(per_gpu));
      ORRERY_TRY(const hardware::Placement placement, hardware::make_placement(device_, gpus, pool_.per_machine));
      ORRERY_TRY(const workload::TrainingRun run, predict::run_on({}, std::move(replica), placement));
      ORRERY_TRY(const predict::Prediction prediction, predictor_.predict(run, placement));
      all.emplace(gpus, prediction.iteration.value.value());
      if (prediction.fits) fitting.emplace(gpus, prediction.iteration.value.value());
    }
    return std::make_shared<const schedule::StepCurve>(fitting.empty() ? std::move(all) : std::move(fitting));
  }

  // 1, 2, 4, ... and whole machines, up to all.
  std::set<int> usual_numbers() const {
    std::set<int> numbers;
    for (const int first : {1, pool_.per_machine}) {
      for (int gpus = first; gpus <= pool_.gpus; gpus *= 2) numbers.insert(gpus);
    }
    return numbers;
  }

 private:
  const hardware::Device& device_;
  Pool pool_;
  predict::Registry predictor_;
};

}  // namespace

Result<PredictedTimes> predict_step_times(const simulate::JobTrace& job_trace, const ClusterChoice& cluster, bool must,
                                          const FieldNames& names) {
  const auto without_type = [&](const std::string& why) -> Result<PredictedTimes> {
    if (must) return names.error("cluster", why);
    return PredictedTimes{{}, "nothing is predicted of how jobs scale: " + why};
  };
  if (cluster.devices.empty()) return without_type("the type of its GPUs is not known; write it as V100=32x8");
  const Pool pool = largest_pool(cluster);
  const auto device = hardware::find_device(cluster.devices[static_cast<std::size_t>(pool.type)]);
  if (!device) return without_type(device.error().message());

  StepTimePredictor predictor(**device, pool);
  std::map<std::pair<std::string, double>, std::set<int>> asked;
  for (const TraceJob& job : job_trace.jobs) {
    if (job.model.empty()) continue;
    std::set<int>& numbers = asked[{job.model, simulate::batch_of(job)}];
    // No job runs on more than the cluster has.
    if (job.facts.gpus <= pool.gpus) numbers.insert(job.facts.gpus);
  }
  PredictedTimes result;
  std::string problem = "no job names a model";
  for (const auto& [key, numbers] : asked) {
    std::set<int> all = predictor.usual_numbers();
    all.insert(numbers.begin(), numbers.end());
    auto curve = predictor.curve(key.first, key.second, all);
    if (curve) {
      result.times.add(key.first, key.second, std::move(*curve));
    } else {
      problem = curve.error().message();
    }
  }
  const simulate::JobCurves curves = result.times.curves_of(job_trace);
  const auto predicted =
      std::count_if(curves.begin(), curves.end(), [](const auto& curve) { return curve != nullptr; });
  if (predicted == 0 && must) {
    return names.error("scaling", fmt::format("nothing can be predicted of how these jobs scale: {}", problem));
  }
  const auto without = static_cast<std::ptrdiff_t>(job_trace.jobs.size()) - predicted;
  if (without > 0) {
    result.note =
        fmt::format("nothing is predicted of how {} of {} jobs scale: {}", without, job_trace.jobs.size(), problem);
  }
  return result;
}

}  // namespace orrery::service
