// Any bytes are a learned model or an error, and a model that was read predicts and is written back the same; any text
// is a list of operators, measured layers or operators, or an error.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "lab/methods/layer_rows.h"
#include "lab/methods/operator_graph.h"
#include "predict/driple/resource_model.h"
#include "predict/jobs/job_utilisation_model.h"
#include "predict/learn/boosted_trees.h"
#include "predict/learn/conformal.h"
#include "predict/learn/ridge.h"
#include "predict/measured/measured_model.h"
#include "predict/neural/ets_network_model.h"
#include "predict/operators/operator_data.h"
#include "predict/operators/operator_model.h"
#include "predict/registry/model_file.h"
#include "predict/regression/regression_model.h"

namespace {

using namespace orrery;
using namespace orrery::predict;
using namespace orrery::lab;

void read_trees(std::string_view bytes) {
  ByteReader in(bytes);
  const auto trees = BoostedTrees::read(in);
  if (!trees) return;
  if (trees->columns() < 1000) (void)trees->predict(std::vector<float>(trees->columns(), 1.0F));
  ByteWriter out;
  trees->write(out);
  if (out.bytes() != bytes.substr(0, out.bytes().size())) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_trees(text);
  ByteReader ridge(text);
  (void)Ridge::read(ridge);
  ByteReader conformal(text);
  (void)Conformal::read(conformal);
  (void)parse_measured_model(text);
  (void)parse_job_utilisation(text);
  ByteReader uses(text);
  (void)JobUtilisation::read(uses);
  (void)parse_sequence_weights(text);
  (void)parse_ets_network(text);
  (void)parse_resource_model(text);
  if (const auto regression = parse_regression(text); regression && to_bytes(*regression) != text) std::abort();
  (void)model_file(text);
  ByteReader known(text);
  (void)KnownSteps::read(known);
  (void)OperatorModel::parse(text);
  ByteReader devices(text);
  (void)DeviceEnsemble::read(devices);
  ByteReader steps(text);
  (void)StepModel::read(steps);
  (void)parse_operator_list(text, GraphPhase::kForward);
  (void)parse_operator_graph(text, 2);
  (void)parse_layers(text, LayerClass::kConvolution);
  (void)parse_operators(text, OperatorClass::kLinear);
  (void)parse_devices(text);
  return 0;
}
