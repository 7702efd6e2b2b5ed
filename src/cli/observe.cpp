#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/predictors.h"
#include "cli/runs.h"
#include "predict/observe/observations.h"

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

Status run_observe(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  const std::string& path = arguments.words[0];
  if (!options.has("measured")) return Error::invalid("give --measured: the time of one iteration");
  ORRERY_TRY(const std::vector<RunPoint> points, expand_runs(context.env, {arguments.words[1]}, options));
  if (points.size() != 1) return Error::invalid("one run is observed at a time: give one device, count and batch");
  const RunPoint& point = points.front();
  ORRERY_TRY(std::vector<predict::Observation> all, predict::read_observations(context.env.files, path));
  ORRERY_TRY(const auto predictor, chosen_predictor(context.env, options));
  ORRERY_TRY(const predict::Prediction prediction, predictor->predict(point.run, point.placement));
  const predict::Observation last{
      std::string(point.placement.device->name), prediction.predictor,
      fmt::format("{}, batch {}, {} devices", point.model, point.run.graph.batch(), point.placement.devices),
      prediction.iteration.value.value(), options.duration("measured").value()};
  ORRERY_TRY_VOID(predict::append_observation(context.env.files, path, last));
  all.push_back(last);
  std::size_t runs = 0;
  for (const predict::Observation& one : all) {
    runs += one.device == last.device && one.predictor == last.predictor ? 1 : 0;
  }
  const auto correction = predict::correction_of(all, last.device, last.predictor);
  ORRERY_TRY_VOID(context.print_table(correction_table(last, runs, correction), options));
  if (!for_people(options)) return {};
  context.print(
      correction ? fmt::format("\n`orrery predict … --observed {}` corrects by it\n", path)
                 : fmt::format("\n{} runs are needed before predictions are corrected\n", predict::kObservationsMin));
  return {};
}

}  // namespace

Command observe_command() {
  return {"observe",
          "FILE MODEL",
          2,
          2,
          "keep the measured time of a run beside its prediction, and correct later predictions by it",
          join(join(join(placement_options(), training_options()),
                    {optional_duration("measured", "what one iteration took: 82ms, 1.4s").bounds(1e-9, 1e9),
                     predictor_option()}),
               table_options()),
          {"orrery observe observed.jsonl resnet50 --device V100 --batch 64 --measured 190ms"},
          run_observe};
}

}  // namespace orrery::cli
