#include "service/graphdef_nodes.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "env/files.h"
#include "predict/driple/op_frequencies.h"
#include "workload/import/graphdef/file.h"
#include "workload/import/graphdef/phases.h"

namespace orrery::service {

using workload::GraphDef;
using workload::GraphDefFacts;

const Fields<NodesRequest>& nodes_fields() {
  using N = NodesRequest;
  static const auto kFields =
      Fields<N>()
          .add(&N::model,
               text_option("model", "", "model of the zoo, model file or job file").in("MODEL").required().word())
          .add(&N::node_device,
               text_option("node-device", "GPU", "with --nodes: only consider nodes whose device contains this text")
                   .in("TEXT"))
          .add(&N::frequencies, text_option("frequencies", "",
                                            "with --nodes: CSV of operators and their shares; sums them over the "
                                            "largest component")
                                    .in("FILE"));
  return kFields;
}

namespace {

TypeSum sum_of_types(const GraphDefFacts& facts, const predict::OpFrequencies& frequencies) {
  TypeSum result;
  for (const auto& [op, count] : facts.device_ops) {
    if (!frequencies.find(op)) result.without_frequency[op] = count;
  }
  for (const auto& [op, count] : facts.component_ops) {
    result.sum += frequencies.find(op).value_or(0) * static_cast<double>(count);
  }
  return result;
}

// Text from a file reaches a terminal only if it is printable.
std::string printed(const std::string& text) {
  return is_printable(text) ? text : "(not text)";
}

Result<StepFacts> step_facts(const GraphDef& graph) {
  using workload::GraphDefPhase;
  ORRERY_TRY(const auto index, workload::GraphDefIndex::make(graph));
  const workload::GraphDefPhases phases = workload::graphdef_phases(index);
  StepFacts facts;
  for (const GraphDefPhase phase :
       {GraphDefPhase::kForward, GraphDefPhase::kBackward, GraphDefPhase::kUpdate, GraphDefPhase::kNone}) {
    facts.phases[std::string(to_string(phase))] = phases.count(phase);
  }
  facts.optimizers = phases.optimizers;
  facts.variables = phases.trained.size();
  facts.parameters = phases.trained_elements;
  for (const workload::GraphDefNode& node : graph.nodes) ++facts.devices[node.device];
  return facts;
}

std::string step_text(const StepFacts& facts) {
  std::string text = fmt::format("{} forward, {} backward, {} update, {} none of these\n", facts.phases.at("forward"),
                                 facts.phases.at("backward"), facts.phases.at("update"), facts.phases.at("none"));
  if (facts.optimizers.empty()) {
    text += "no optimizer\n";
  } else {
    text += fmt::format("optimizer {}: {} variables, {} parameters\n",
                        printed(fmt::format("{}", fmt::join(facts.optimizers, ", "))), facts.variables,
                        format_whole(static_cast<double>(facts.parameters)));
  }
  constexpr std::size_t kMostDevices = 20;
  std::size_t shown = 0;
  for (const auto& [device, count] : facts.devices) {
    if (shown++ == kMostDevices)
      return text + fmt::format("and {} more devices\n", facts.devices.size() - kMostDevices);
    text += fmt::format("{} nodes on {}\n", count, device.empty() ? "no device" : printed(device));
  }
  return text;
}

}  // namespace

Result<NodesAnswer> count_nodes(env::Env env, const NodesRequest& request) {
  const std::string& path = request.model;
  auto graph = workload::read_graphdef(env.files, path);
  if (!graph) return std::move(graph).error().with_context(path);
  auto facts = workload::graphdef_facts(*graph, request.node_device);
  if (!facts) return std::move(facts).error().with_context(path);
  auto step = step_facts(*graph);
  if (!step) return std::move(step).error().with_context(path);
  NodesAnswer answer{request.node_device, std::move(*facts), std::move(*step), std::nullopt};
  if (request.frequencies.empty()) return answer;
  ORRERY_TRY(const auto frequencies, predict::OpFrequencies::read(env.files, request.frequencies));
  answer.types = sum_of_types(answer.facts, frequencies);
  return answer;
}

std::string nodes_json(const NodesAnswer& answer) {
  const auto& [device, facts, step, types] = answer;
  nlohmann::ordered_json json;
  json["nodes_total"] = facts.nodes_total;
  json["device_nodes"] = facts.device_nodes;
  json["device_references"] = facts.device_references;
  json["component_nodes"] = facts.component_nodes;
  json["component_edges"] = facts.component_edges;
  json["component_tensor_size"] = static_cast<std::int64_t>(facts.component_tensor_size);
  if (types) {
    json["component_type_sum"] = types->sum;
    json["ops_without_frequency"] = types->without_frequency;
  }
  json["phases"] = step.phases;
  json["optimizers"] = step.optimizers;
  json["trained_variables"] = step.variables;
  json["trained_parameters"] = step.parameters;
  json["devices"] = step.devices;
  json["device_ops"] = facts.device_ops;
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string nodes_text(const NodesAnswer& answer) {
  const auto& [device, facts, step, types] = answer;
  std::string text = fmt::format(
      "{} nodes, {} on {}, {} references between them\n"
      "largest connected part: {} nodes, {} edges, {} elements in first outputs\n",
      facts.nodes_total, facts.device_nodes, device, facts.device_references, facts.component_nodes,
      facts.component_edges, format_whole(facts.component_tensor_size));
  text += step_text(step) + "\n";
  std::vector<std::pair<std::size_t, std::string>> by_count;
  for (const auto& [op, count] : facts.device_ops) by_count.emplace_back(count, op);
  std::sort(by_count.rbegin(), by_count.rend());
  for (const auto& [count, op] : by_count) text += fmt::format("{:>8}  {}\n", count, printed(op));
  return text;
}

}  // namespace orrery::service
