#include "predict/registry/model_file.h"

#include <fmt/format.h>

#include "predict/measured/measured_predictor.h"
#include "predict/neural/ets_network_model.h"
#include "predict/operators/operator_predictor.h"
#include "predict/regression/regression_model.h"

namespace orrery::predict {

namespace {

struct KnownFile {
  std::string_view begin;
  ModelFile file;
};
constexpr KnownFile kFiles[] = {
    {"orrery-model\n",
     {ModelKind::kMeasured, "a model of a device's operator times", "orrery predict --predictor FILE"}},
    {"orrery-operators\n", {ModelKind::kOperators, "a model of operators", "orrery predict --predictor FILE"}},
    {"orrery-ets\n", {ModelKind::kEtsNetwork, "an ETS network", "orrery predict --predictor FILE"}},
    {"orrery-regression\n", {ModelKind::kRegression, "a regression of a table", "orrery predict --predictor FILE"}},
    {"orrery-resources\n",
     {ModelKind::kResources, "a network that predicts resources", "orrery predict --resources --predictor FILE"}},
    {"orrery-uses\n", {ModelKind::kJobs, "a model of jobs", "orrery profile --workers N --predict --predictor FILE"}},
    {"PK\x03\x04",
     {ModelKind::kWeights, "a file of PyTorch's",
      "orrery predict GRAPH --resources --predictor FILE --frequencies FILE"}},
    {"orrery-neural\n",
     {ModelKind::kOther, "an ETS network without its errors", "orrery-lab evaluate ets-faithful --keep DIR"}},
    {"orrery-driple\n", {ModelKind::kOther, "a resource network without its errors", "orrery-lab evaluate driple"}},
    {"orrery-training\n", {ModelKind::kOther, "the checkpoint of a training", "orrery fit --keep DIR"}},
};

}  // namespace

Result<ModelFile> model_file(std::string_view bytes) {
  for (const KnownFile& known : kFiles) {
    if (bytes.starts_with(known.begin)) return known.file;
  }
  return Error::invalid("not a model of this program (orrery fit makes one)");
}

Result<std::unique_ptr<Predictor>> predictor_of_file(std::string_view bytes, const RunFacts& facts) {
  ORRERY_TRY(const ModelFile file, model_file(bytes));
  if (!facts.empty() && file.kind != ModelKind::kRegression) {
    return Error::invalid(fmt::format("--fact is for regressions; this is {}", file.noun));
  }
  switch (file.kind) {
    case ModelKind::kMeasured: {
      ORRERY_TRY(MeasuredModel model, parse_measured_model(bytes));
      return std::make_unique<MeasuredPredictor>(std::move(model));
    }
    case ModelKind::kOperators: {
      ORRERY_TRY(OperatorModel model, OperatorModel::parse(bytes));
      return std::make_unique<OperatorPredictor>(std::move(model));
    }
    case ModelKind::kEtsNetwork: {
      ORRERY_TRY(EtsNetworkModel model, parse_ets_network(bytes));
      ORRERY_TRY(std::unique_ptr<Predictor> predictor, EtsNetworkPredictor::make(std::move(model)));
      return predictor;
    }
    case ModelKind::kRegression: {
      ORRERY_TRY(RegressionModel model, parse_regression(bytes));
      return std::make_unique<RegressionPredictor>(std::move(model), facts);
    }
    case ModelKind::kResources:
    case ModelKind::kJobs:
    case ModelKind::kWeights:
    case ModelKind::kOther:
      break;
  }
  return Error::unsupported(fmt::format("{}, which does not predict times; {} reads it", file.noun, file.used_by));
}

}  // namespace orrery::predict
