#include <cmath>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/steps_question.h"
#include "predict/observe/observations.h"
#include "service/predict.h"

namespace orrery::cli {

namespace {

Table correction_table(const predict::Observation& last, std::size_t runs,
                       const std::optional<predict::Correction>& correction) {
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
  const auto of = [&](double predict::Correction::*field) { return correction ? Cell((*correction).*field) : Cell(); };
  table.add({last.device, last.predictor, last.predicted, last.measured, last.predicted / last.measured - 1,
             static_cast<std::int64_t>(runs), of(&predict::Correction::factor), of(&predict::Correction::low),
             of(&predict::Correction::high), of(&predict::Correction::error_before),
             of(&predict::Correction::error_after)});
  return table;
}

// The curve of the losses in --losses; nothing without that option.
Result<std::optional<predict::ObservedLosses>> observed_losses(env::Env env, const OptionValues& options) {
  const std::string& path = options.text("losses");
  if (path.empty()) return std::nullopt;
  ORRERY_TRY(const predict::LossFile file, predict::read_losses(env.files, path));
  const predict::StepsQuestion question = steps_question(file, options);
  const auto seed = static_cast<std::uint64_t>(options.integer("seed"));
  auto estimate = predict::estimate_steps(file.points, question, seed);
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
                                 .seed = seed};
}

std::string losses_text(const predict::ObservedLosses& losses) {
  const std::string_view unit = losses.counts_epochs ? "epochs" : "steps";
  const auto whole = [](double value) { return std::isfinite(value) ? format_whole(std::ceil(value)) : "never"; };
  return fmt::format("\nthe losses say {} {} are needed ({} to {} with 80 %), {} were done; kept with the run\n",
                     whole(losses.step), unit, whole(losses.low), whole(losses.high), whole(losses.last));
}

Status run_observe(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  const std::string& path = options.text("file");
  if (!options.has("measured")) return Error::invalid("give --measured: the time of one iteration");
  ORRERY_TRY(const service::PredictRequest request, service::predict_fields().read(options));
  ORRERY_TRY(const std::vector<service::PredictedRun> runs_predicted, service::predict(context.env, request));
  if (runs_predicted.size() != 1) {
    return Error::invalid("one run is observed at a time: give one device, count and batch");
  }
  const auto& [point, prediction] = runs_predicted.front();
  ORRERY_TRY(std::vector<predict::Observation> all, predict::read_observations(context.env.files, path));
  ORRERY_TRY(std::optional<predict::ObservedLosses> losses, observed_losses(context.env, options));
  const predict::Observation last{
      std::string(point.placement.device->name),
      prediction.predictor,
      fmt::format("{}, batch {} per GPU, {} devices", point.model, point.run.graph.batch(), point.placement.devices),
      prediction.iteration.value.value(),
      options.duration("measured").value(),
      losses};
  ORRERY_TRY_VOID(predict::append_observation(context.env.files, path, last));
  all.push_back(last);
  std::size_t runs = 0;
  for (const predict::Observation& one : all) {
    runs += one.device == last.device && one.predictor == last.predictor ? 1 : 0;
  }
  const auto correction = predict::correction_of(all, last.device, last.predictor);
  ORRERY_TRY_VOID(context.print_table(correction_table(last, runs, correction), options));
  if (!for_people(options)) return {};
  if (last.losses) context.print(losses_text(*last.losses));
  context.print(
      correction ? fmt::format("\n`orrery predict … --observed {}` corrects by it\n", path)
                 : fmt::format("\n{} runs are needed before predictions are corrected\n", predict::kObservationsMin));
  return {};
}

}  // namespace

Command observe_command() {
  return {"observe",
          "keep the measured time of a run beside its prediction, and correct later predictions by it",
          join(join(join({text_option("file", "", "where runs are recorded").in("FILE").required().word()},
                         service::predict_fields().records()),
                    {optional_duration("measured", "what one iteration took: 82ms, 1.4s").bounds(1e-9, 1e9),
                     text_option("losses", "", "keep the curve of these losses with the run: CSV of step and loss")
                         .in("LOSSES.csv"),
                     integer_option("seed", 1, "seed of the refits that the interval of the losses comes from")
                         .bounds(0, 1e15)}),
               join(steps_question_options(), table_options())),
          {"orrery observe observed.jsonl resnet50 --device V100 --batch 64 --measured 190ms",
           "orrery observe observed.jsonl resnet50 --device V100 --batch 64 --measured 190ms --losses losses.csv "
           "--target 2.1"},
          run_observe};
}

}  // namespace orrery::cli
