#include "service/memory.h"

#include "predict/analytic/analytic.h"
#include "service/predict.h"

namespace orrery::service {

const Fields<MemoryRequest>& memory_fields() {
  static const auto kFields = Fields<MemoryRequest>().add(&MemoryRequest::runs, run_fields());
  return kFields;
}

namespace {

using predict::Prediction;

// The largest batch that still fits, by doubling and bisection; 0 if not even one sample does.
Result<std::int64_t> largest_batch(const RunPoint& point, const predict::Predictor& predictor) {
  const std::int64_t unit = point.run.parallelism.microbatches;
  const auto fits = [&](std::int64_t units) -> Result<bool> {
    workload::TrainingRun run = point.run;
    ORRERY_TRY(run.graph, point.run.graph.with_batch(units * unit));
    ORRERY_TRY(const Prediction prediction, predictor.predict(run, point.placement));
    return prediction.fits;
  };
  constexpr std::int64_t kMost = 1 << 20;
  std::int64_t low = 0, high = 1;
  while (high <= kMost) {
    const auto enough = fits(high);
    if (!enough || !*enough) break;  // a batch too large to describe does not fit either
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    const auto enough = fits(middle);
    (enough && *enough ? low : high) = middle;
  }
  return low * unit;
}

}  // namespace

Result<std::vector<MemoryAnswer>> predict_memory(env::Env env, const MemoryRequest& request) {
  ORRERY_TRY(std::vector<RunPoint> points, expand_runs(env, request.runs, request.names));
  const predict::AnalyticPredictor predictor;
  std::vector<MemoryAnswer> answers;
  for (RunPoint& point : points) {
    ORRERY_TRY(Prediction prediction, predictor.predict(point.run, point.placement));
    ORRERY_TRY(const std::int64_t largest, largest_batch(point, predictor));
    answers.push_back({std::move(point), std::move(prediction), largest});
  }
  return answers;
}

}  // namespace orrery::service
