#include "service/predict.h"

#include <algorithm>
#include <memory>

#include "predict/observe/observed_predictor.h"
#include "workload/traits.h"

namespace orrery::service {

const Fields<RunFields>& run_fields() {
  static const auto kFields =
      Fields<RunFields>()
          .add(&RunFields::models, text_option("model", "", "models of the zoo, model files or job files")
                                       .in("MODEL")
                                       .required()
                                       .list(64)
                                       .word())
          .add(&RunFields::gpus, gpu_fields())
          .add(&RunFields::training, training_fields());
  return kFields;
}

const Fields<PredictRequest>& predict_fields() {
  using P = PredictRequest;
  static const auto kFields =
      Fields<P>()
          .add(&P::runs, run_fields())
          .add(&P::predictor, predictor_fields())
          .add(&P::observed, text_option("observed", "",
                                         "correct predictions by the runs that `orrery observe` recorded in this file")
                                 .in("FILE"));
  return kFields;
}

namespace {

Result<std::unique_ptr<predict::Predictor>> corrected_predictor(env::Env env, const PredictRequest& request) {
  ORRERY_TRY(auto predictor, make_predictor(env, request.predictor, request.names));
  if (request.observed.empty()) return predictor;
  ORRERY_TRY(auto observations, predict::read_observations(env.files, request.observed));
  return std::make_unique<predict::ObservedPredictor>(std::move(predictor), std::move(observations));
}

}  // namespace

Result<std::vector<PredictedRun>> predict(env::Env env, const PredictRequest& request) {
  ORRERY_TRY(std::vector<RunPoint> points, expand_runs(env, request.runs, request.names));
  ORRERY_TRY(const auto predictor, corrected_predictor(env, request));
  std::vector<PredictedRun> answers;
  for (RunPoint& point : points) {
    auto prediction = predictor->predict(point.run, point.placement);
    if (!prediction) return std::move(prediction).error().with_context(point.model);
    answers.push_back({std::move(point), std::move(*prediction)});
  }
  return answers;
}

trace::ExecutionTrace predicted_trace(const PredictedRun& predicted) {
  const RunPoint& point = predicted.point;
  trace::ExecutionTrace made;
  made.model = point.model;
  made.device = std::string(point.placement.device->name);
  made.optimizer = std::string(to_string(point.run.optimizer));
  made.batch = point.run.graph.batch();
  for (const predict::TimelineEntry& entry : predicted.prediction.timeline) {
    if (entry.duration <= Seconds(0)) continue;  // a view takes no time
    const workload::Operator& op = point.run.graph[entry.op];
    if (!made.operators.empty()) {
      trace::TracedOperator& before = made.operators.back();
      before.gap = std::max(Seconds(0), entry.start - before.start - before.execution);
    }
    trace::TracedOperator traced;
    traced.index = entry.op;
    traced.phase = entry.phase;
    traced.name = op.name;
    traced.kind = std::string(workload::to_string(op.kind));
    traced.start = entry.start;
    traced.execution = entry.duration;
    made.operators.push_back(std::move(traced));
  }
  return made;
}

}  // namespace orrery::service
