#pragma once
// The nodes of a TensorFlow 1.x GraphDef: how many, of which phases, devices and operators.

#include <map>

#include "base/fields.h"
#include "env/env.h"
#include "workload/import/graphdef/graphdef.h"

namespace orrery::service {

struct NodesRequest {
  FieldNames names;
  std::string model;        // a GraphDef, text or binary
  std::string node_device;  // only nodes whose device contains this text
  std::string frequencies;  // CSV of operators and their shares; empty: none

  friend bool operator==(const NodesRequest&, const NodesRequest&) = default;
};
const Fields<NodesRequest>& nodes_fields();

// The parts of a training step.
struct StepFacts {
  std::map<std::string, std::size_t> phases;
  std::vector<std::string> optimizers;
  std::size_t variables = 0;
  std::int64_t parameters = 0;
  std::map<std::string, std::size_t> devices;  // nodes of each; "": not placed
};

struct TypeSum {
  double sum = 0;                                        // over the largest part
  std::map<std::string, std::size_t> without_frequency;  // of all nodes of the device
};

struct NodesAnswer {
  std::string device;
  workload::GraphDefFacts facts;
  StepFacts step;
  std::optional<TypeSum> types;
};
Result<NodesAnswer> count_nodes(env::Env env, const NodesRequest& request);

std::string nodes_json(const NodesAnswer& answer);
std::string nodes_text(const NodesAnswer& answer);

}  // namespace orrery::service
