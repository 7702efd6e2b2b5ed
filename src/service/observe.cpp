#include "service/observe.h"

#include <cmath>
#include <fmt/format.h>

#include "base/text.h"

namespace orrery::service {

const Fields<ObserveRequest>& observe_fields() {
  using O = ObserveRequest;
  static const auto kFields =
      Fields<O>()
          .add(&O::file, text_option("file", "", "where runs are recorded").in("FILE").required().word())
          .add(&O::predict, predict_fields())
          .add(&O::measured, optional_duration("measured", "what one iteration took: 82ms, 1.4s").bounds(1e-9, 1e9))
          .add(&O::losses,
               text_option("losses", "", "keep the curve of these losses with the run: CSV of step and loss")
                   .in("LOSSES.csv"))
          .add(&O::seed, integer_option("seed", 1, "seed of the refits that the interval of the losses comes from")
                             .bounds(0, 1e15))
          .add(&O::question, steps_fields());
  return kFields;
}

namespace {

// The curve of the losses; nothing without any.
Result<std::optional<predict::ObservedLosses>> observed_losses(env::Env env, const ObserveRequest& request) {
  const std::string& path = request.losses;
  if (path.empty()) return std::nullopt;
  ORRERY_TRY(const predict::LossFile file, predict::read_losses(env.files, path));
  const predict::StepsQuestion question = steps_question(file, request.question);
  auto estimate = predict::estimate_steps(file.points, question, request.seed);
  if (!estimate) return std::move(estimate).error().with_context(path);
  return predict::ObservedLosses{.curve = estimate->curve,
                                 .counts_epochs = file.counts_epochs,
                                 .last = estimate->last,
                                 .step = estimate->step,
                                 .low = estimate->low,
                                 .high = estimate->high,
                                 .target = question.target,
                                 .threshold = question.rule.threshold,
                                 .window = question.rule.window,
                                 .losses = estimate->losses,
                                 .seed = request.seed};
}

Result<PredictedRun> predicted_run(env::Env env, const ObserveRequest& request) {
  PredictRequest asked = request.predict;
  asked.names = request.names;
  ORRERY_TRY(std::vector<PredictedRun> runs, predict(env, asked));
  if (runs.size() == 1) return std::move(runs.front());
  return Error::invalid("one run is observed at a time: give one device, count and batch");
}

}  // namespace

Result<ObserveAnswer> observe(env::Env env, const ObserveRequest& request) {
  if (!request.measured)
    return Error::invalid(fmt::format("give {}: the time of one iteration", request.names("measured")));
  ORRERY_TRY(const PredictedRun run, predicted_run(env, request));
  const auto& [point, prediction] = run;
  ORRERY_TRY(std::vector<predict::Observation> all, predict::read_observations(env.files, request.file));
  ORRERY_TRY(std::optional<predict::ObservedLosses> losses, observed_losses(env, request));
  ObserveAnswer answer;
  answer.last = {
      std::string(point.placement.device->name),
      prediction.predictor,
      fmt::format("{}, batch {} per GPU, {} devices", point.model, point.run.graph.batch(), point.placement.devices),
      prediction.iteration.value.value(),
      request.measured->value(),
      losses};
  ORRERY_TRY_VOID(predict::append_observation(env.files, request.file, answer.last));
  all.push_back(answer.last);
  for (const predict::Observation& one : all) {
    answer.runs += one.device == answer.last.device && one.predictor == answer.last.predictor ? 1 : 0;
  }
  answer.correction = predict::correction_of(all, answer.last.device, answer.last.predictor);
  return answer;
}

Table observe_table(const ObserveAnswer& answer) {
  const predict::Observation& last = answer.last;
  Table table({{"device", "device"},
               {"predictor", "predictor"},
               {"predicted_s", "predicted", CellFormat::kSeconds},
               {"measured_s", "measured", CellFormat::kSeconds},
               {"error", "error", CellFormat::kPercent},
               {"runs", "runs observed", CellFormat::kInteger},
               {"factor", "correction ×", CellFormat::kNumber},
               {"low", "interval low", CellFormat::kNumber},
               {"high", "interval high", CellFormat::kNumber},
               {"error_before", "mean error", CellFormat::kPercent},
               {"error_after", "corrected", CellFormat::kPercent}});
  const auto of = [&](double predict::Correction::*field) {
    return answer.correction ? Cell((*answer.correction).*field) : Cell();
  };
  table.add({last.device, last.predictor, last.predicted, last.measured, last.predicted / last.measured - 1,
             static_cast<std::int64_t>(answer.runs), of(&predict::Correction::factor), of(&predict::Correction::low),
             of(&predict::Correction::high), of(&predict::Correction::error_before),
             of(&predict::Correction::error_after)});
  return table;
}

std::string observe_text(const ObserveAnswer& answer) {
  if (!answer.last.losses) return {};
  const predict::ObservedLosses& losses = *answer.last.losses;
  const std::string_view unit = losses.counts_epochs ? "epochs" : "steps";
  const auto whole = [](double value) { return std::isfinite(value) ? format_whole(std::ceil(value)) : "never"; };
  return fmt::format("\nthe losses say {} {} are needed ({} to {} with 80 %), {} were done; kept with the run\n",
                     whole(losses.step), unit, whole(losses.low), whole(losses.high), whole(losses.last));
}

}  // namespace orrery::service
