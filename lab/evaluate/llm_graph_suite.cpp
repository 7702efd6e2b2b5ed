#include "lab/evaluate/llm_graph_suite.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/csv.h"
#include "base/text.h"
#include "predict/operators/operator_predictor.h"
#include "predict/readers/operator_folder.h"
#include "workload/zoo/zoo.h"

namespace orrery::lab {

namespace {

constexpr double kMillisecond = 1e3;  // per second

struct KnownModel {
  std::string_view name, zoo;
};
constexpr KnownModel kModels[] = {{"bert_large", "bert_large:seq={},attention=explicit"},
                                  {"gpt2_large", "gpt2_large:seq={},attention=explicit"},
                                  {"gpt3_27", "gpt3_2.7b:seq={},attention=explicit"}};

// One line of e2e.csv that trains a model of the zoo on one GPU of the built-in table.
struct MeasuredTraining {
  workload::TrainingRun run;
  hardware::Placement placement;
  double measured_ms = 0;
};

Result<std::vector<MeasuredTraining>> read_trainings(const SuiteInput& input, const std::string& folder) {
  ORRERY_TRY(const std::string csv, read_data(input.files, folder, "e2e.csv"));
  ORRERY_TRY(const CsvTable table, parse_csv(csv));
  ORRERY_TRY(const std::size_t name, table.column("model_name"));
  ORRERY_TRY(const std::size_t length, table.column("seqlen"));
  ORRERY_TRY(const std::size_t batch, table.column("batch"));
  ORRERY_TRY(const std::size_t device, table.column("device"));
  ORRERY_TRY(const std::size_t mode, table.column("mode"));
  ORRERY_TRY(const std::size_t option, table.column("option"));
  std::vector<MeasuredTraining> trainings;
  for (const CsvRow& row : table.rows) {
    const auto known = std::find_if(std::begin(kModels), std::end(kModels),
                                    [&](const KnownModel& model) { return model.name == row.fields[name]; });
    std::string device_name = row.fields[device];
    std::replace(device_name.begin(), device_name.end(), '_', ' ');
    const bool is_known = known != std::end(kModels) && hardware::find_device_or_null(device_name) != nullptr;
    if (!is_known || row.fields[mode] != "train" || !row.fields[option].empty()) continue;
    ORRERY_TRY(const workload::TrainingGraph single,
               workload::build_model(fmt::format(fmt::runtime(known->zoo), row.fields[length])));
    ORRERY_TRY(workload::TrainingGraph graph,
               single.with_batch(static_cast<std::int64_t>(parse_number(row.fields[batch]).value_or(0))));
    ORRERY_TRY(const hardware::Placement placement, hardware::make_placement(device_name, 1, 1));
    ORRERY_TRY(const double measured_ms, positive_field(table, row, "measured_e2e_ms"));
    trainings.push_back({workload::TrainingRun{std::move(graph)}, placement, measured_ms});
  }
  if (trainings.empty()) return Error::invalid("e2e.csv has no training of a model and a device that are known");
  return trainings;
}

// The measured iterations end with backward.
Case case_of(const Prediction& prediction, const MeasuredTraining& training, std::string group) {
  const double predicted_ms = (prediction.forward + prediction.backward).value() * kMillisecond;
  const double low = prediction.iteration.low / prediction.iteration.value;
  const double high = prediction.iteration.high / prediction.iteration.value;
  return {std::move(group),   training.measured_ms, predicted_ms,
          predicted_ms * low, predicted_ms * high,  prediction.in_domain};
}

}  // namespace

Result<SuiteReport> run_llm_graph_suite(const SuiteInput& input) {
  const double start = input.now_s();
  const std::string folder = training_folder(input, "neusight");
  ORRERY_TRY(const std::vector<MeasuredTraining> trainings,
             read_trainings(input, input.test.empty() ? folder : input.test));
  ORRERY_TRY(std::vector<OperatorWork> classes, read_operator_work(input.files, folder));
  ORRERY_TRY(const OperatorModel model,
             OperatorModel::fit(std::move(classes), operator_options(input.seed, input.threads)));
  std::vector<Case> ours, by_device, formulas;
  for (const MeasuredTraining& training : trainings) {
    const std::string device(training.placement.device->name);
    ORRERY_TRY(const Prediction learned, OperatorPredictor(model, device).predict(training.run, training.placement));
    ORRERY_TRY(const Prediction analytic, AnalyticPredictor().predict(training.run, training.placement));
    ours.push_back(case_of(learned, training, "training"));
    by_device.push_back(case_of(learned, training, "training on " + device));
    formulas.push_back(case_of(analytic, training, "training, formulas"));
  }
  const double seconds = input.now_s() - start;
  SuiteReport report{.suite = "llm-graph", .seed = input.seed};
  for (const auto& cases : {ours, by_device, formulas}) report.add(cases, seconds);
  report.cases = ours;
  report.notes = {fmt::format("{} iterations of models of the zoo; no operator of an iteration's own device was used.",
                              ours.size())};
  return report;
}

}  // namespace orrery::lab
