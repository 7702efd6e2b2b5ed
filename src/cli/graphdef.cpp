#include "workload/import/graphdef/graphdef.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "env/files.h"
#include "predict/driple/op_frequencies.h"
#include "workload/import/graphdef/file.h"
#include "workload/import/graphdef/phases.h"

namespace orrery::cli {

using workload::GraphDef;
using workload::GraphDefFacts;

namespace {

struct TypeSum {
  double sum = 0;                                        // over the largest part
  std::map<std::string, std::size_t> without_frequency;  // of all nodes of the device
};

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

// The parts of a training step.
struct StepFacts {
  std::map<std::string, std::size_t> phases;
  std::vector<std::string> optimizers;
  std::size_t variables = 0;
  std::int64_t parameters = 0;
  std::map<std::string, std::size_t> devices;  // nodes of each; "": not placed
};

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

std::string facts_json(const GraphDefFacts& facts, const StepFacts& step, const std::optional<TypeSum>& types) {
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

Status run_graphdef_show(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  const std::string& path = arguments.words[0];
  auto graph = workload::read_graphdef(context.env.files, path);
  if (!graph) return std::move(graph).error().with_context(path);
  auto facts = workload::graphdef_facts(*graph, options.text("device"));
  if (!facts) return std::move(facts).error().with_context(path);
  auto step = step_facts(*graph);
  if (!step) return std::move(step).error().with_context(path);
  std::optional<TypeSum> types;
  if (!options.text("frequencies").empty()) {
    ORRERY_TRY(const auto frequencies, predict::OpFrequencies::read(context.env.files, options.text("frequencies")));
    types = sum_of_types(*facts, frequencies);
  }
  if (options.flag("json")) {
    context.print(facts_json(*facts, *step, types));
    return {};
  }
  context.print(
      fmt::format("{} nodes, {} on {}, {} references between them\n"
                  "largest connected part: {} nodes, {} edges, {} elements in first outputs\n",
                  facts->nodes_total, facts->device_nodes, options.text("device"), facts->device_references,
                  facts->component_nodes, facts->component_edges, format_whole(facts->component_tensor_size)));
  context.print(step_text(*step) + "\n");
  std::vector<std::pair<std::size_t, std::string>> by_count;
  for (const auto& [op, count] : facts->device_ops) by_count.emplace_back(count, op);
  std::sort(by_count.rbegin(), by_count.rend());
  for (const auto& [count, op] : by_count) context.print(fmt::format("{:>8}  {}\n", count, printed(op)));
  return {};
}

}  // namespace

Command graphdef_show_command() {
  return {"graphdef show",
          "FILE",
          1,
          1,
          "count the nodes of a TensorFlow 1.x GraphDef (text or binary)",
          {text_option("device", "GPU", "only consider nodes whose device contains this text").in("TEXT"),
           text_option("frequencies", "", "CSV of operators and their shares; sums them over the largest component")
               .in("FILE"),
           flag_option("json", "print JSON")},
          {"orrery graphdef show graph.pbtxt", "orrery graphdef show graph.pbtxt --device CPU --json"},
          run_graphdef_show};
}

}  // namespace orrery::cli
