#include "service/models.h"

#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "env/files.h"
#include "service/graphdef_nodes.h"
#include "service/model_list.h"
#include "workload/cost.h"
#include "workload/import/graph_json.h"
#include "workload/traits.h"
#include "workload/zoo/zoo.h"

namespace orrery::cli {

using workload::Operator;
using workload::TrainingGraph;

namespace {

Status run_models(Context& context, const Arguments& arguments) {
  ORRERY_TRY(const service::ModelsRequest request, service::models_fields().read(arguments.options));
  ORRERY_TRY(const std::vector<service::ListedModel> models, service::list_models(request));
  return context.print_table(service::model_table(models), arguments.options);
}

std::string input_text(const TrainingGraph& graph) {
  std::string text;
  for (const Operator& op : graph.operators()) {
    if (op.kind != workload::OperatorKind::kInput) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", op.outputs[0].shape.to_string(), to_string(op.outputs[0].dtype));
  }
  return text;
}

std::string attribute_text(const Operator& op) {
  if (const auto* conv = std::get_if<workload::ConvAttributes>(&op.attributes)) {
    return fmt::format("{}×{}{}{}", conv->window.kernel_h, conv->window.kernel_w,
                       conv->window.stride_h > 1 ? fmt::format(" /{}", conv->window.stride_h) : "",
                       conv->groups > 1 ? fmt::format(" in {} groups", conv->groups) : "");
  }
  return {};
}

Table operator_table(const TrainingGraph& graph) {
  Table table({{"name", "operator"},
               {"kind", "kind"},
               {"attributes", "", CellFormat::kText},
               {"output", "output"},
               {"parameters", "parameters", CellFormat::kCount},
               {"macs", "MACs", CellFormat::kCount},
               {"forward_flops", "forward FLOPs", CellFormat::kCount},
               {"backward_flops", "backward FLOPs", CellFormat::kCount},
               {"forward_bytes", "forward bytes", CellFormat::kBytes},
               {"backward_bytes", "backward bytes", CellFormat::kBytes, false},
               {"update_bytes", "update bytes", CellFormat::kBytes, false}});
  const workload::CostOptions options;
  for (const workload::OperatorIndex at : graph.operators().indices()) {
    const Operator& op = graph[at];
    const auto cost = [&](workload::Phase phase) { return workload::operator_cost(graph, {at, phase}, options); };
    const bool learned = graph.needs_gradient(at);
    const auto backward = learned ? cost(workload::Phase::kBackward) : workload::OperatorCost();
    table.add({op.name, std::string(to_string(op.kind)), attribute_text(op), op.outputs[0].shape.to_string(),
               workload::parameter_elements(op), workload::forward_macs(graph, op),
               cost(workload::Phase::kForward).flops().value(), backward.flops().value(),
               cost(workload::Phase::kForward).bytes().value(), backward.bytes().value(),
               cost(workload::Phase::kUpdate).bytes().value()});
  }
  return table;
}

std::map<std::string, double> macs_by_kind(const TrainingGraph& graph) {
  std::map<std::string, double> sums;
  for (const Operator& op : graph.operators()) {
    const double macs = workload::forward_macs(graph, op);
    if (macs > 0) sums[std::string(to_string(op.kind))] += macs;
  }
  return sums;
}

std::int64_t trained_parameters(const TrainingGraph& graph) {
  std::int64_t sum = 0;
  for (const Operator& op : graph.operators()) sum += workload::trained_elements(op);
  return sum;
}

std::string model_json(const std::string& name, const workload::ModelSpec* spec, const TrainingGraph& graph) {
  nlohmann::ordered_json json;
  json["model"] = name;
  if (spec != nullptr) json["family"] = spec->family->name;
  json["batch"] = graph.batch();
  json["input"] = input_text(graph);
  json["parameters"] = graph.parameter_count();
  json["trained_parameters"] = trained_parameters(graph);
  json["macs"] = static_cast<std::int64_t>(graph.macs());
  for (const auto& [kind, macs] : macs_by_kind(graph)) json["macs_by_kind"][kind] = static_cast<std::int64_t>(macs);
  json["operators"] = nlohmann::ordered_json::parse(operator_table(graph).to_json());
  if (spec == nullptr) return json.dump(2) + "\n";
  for (const OptionRecord& record : spec->family->parameters) {
    json["model_parameters"][record.name] = spec->parameters.display(record.name);
  }
  return json.dump(2) + "\n";
}

std::string model_text(const std::string& name, const workload::ModelSpec* spec, const TrainingGraph& graph) {
  std::string text = fmt::format("{}: {}\n", name, spec != nullptr ? spec->family->summary : "read from a file");
  const std::int64_t trained = trained_parameters(graph);
  const std::string frozen = trained == graph.parameter_count()
                                 ? ""
                                 : fmt::format(" ({} of them trained)", format_count(static_cast<double>(trained)));
  text += fmt::format("input {}, {} parameters{}, {} multiply-accumulates forward, {} operators\n\n", input_text(graph),
                      format_count(static_cast<double>(graph.parameter_count())), frozen, format_count(graph.macs()),
                      graph.operators().size());
  if (spec == nullptr) return text;
  // Defaults are those of the name itself, before anything is changed.
  const std::string plain = split(name, ':')[0];
  const auto unchanged = workload::parse_model(plain);
  std::vector<OptionRecord> parameters = spec->family->parameters;
  for (OptionRecord& record : parameters) {
    record.default_value = (unchanged ? *unchanged : *spec).parameters.display(record.name);
  }
  return text + fmt::format("change with {}:NAME=VALUE,…\n{}\n", plain, help_text(parameters, ""));
}

Status show_nodes(Context& context, const OptionValues& options) {
  if (!for_people(options) && !options.flag("json")) return Error::invalid("--nodes: printed as text or with --json");
  ORRERY_TRY(const service::NodesRequest request, service::nodes_fields().read(options));
  ORRERY_TRY(const service::NodesAnswer answer, service::count_nodes(context.env, request));
  context.print(options.flag("json") ? service::nodes_json(answer) : service::nodes_text(answer));
  return {};
}

Status run_model_show(Context& context, const Arguments& arguments) {
  if (arguments.options.flag("nodes")) return show_nodes(context, arguments.options);
  ORRERY_TRY(const service::NamedModel model, service::load_model(context.env, arguments.options.text("model")));
  const std::string& name = model.name;
  ORRERY_TRY(const TrainingGraph graph, model.graph.with_batch(arguments.options.integer("batch")));
  const auto parsed = workload::parse_model(name);
  const workload::ModelSpec* spec = parsed ? &*parsed : nullptr;
  if (arguments.options.flag("json")) {
    context.print(model_json(name, spec, graph));
    return {};
  }
  const bool as_csv = arguments.options.flag("csv");
  if (!as_csv) context.print(model_text(name, spec, graph));
  if (!as_csv && !arguments.options.flag("operators")) return {};
  return context.print_table(operator_table(graph), arguments.options);
}

Status run_model_export(Context& context, const Arguments& arguments) {
  if (arguments.options.flag("schema")) {
    context.print(workload::graph_json_schema());
    return {};
  }
  if (arguments.words.empty()) return Error::invalid("expected MODEL, or --schema");
  ORRERY_TRY(const service::NamedModel model, service::load_model(context.env, arguments.words[0]));
  const std::string json = workload::to_graph_json(model.graph);
  const std::string& path = arguments.options.text("output");
  if (path.empty()) {
    context.print(json);
    return {};
  }
  ORRERY_TRY_VOID(context.env.files.write_atomically(path, json));
  context.print(fmt::format("wrote {}\n", path));
  return {};
}

}  // namespace

Command models_command() {
  return {"models",
          "list the models of the zoo",
          join(service::models_fields().records(), table_options()),
          {"orrery models", "orrery models vit", "orrery models --json --columns model,parameters,macs"},
          run_models};
}

Command model_show_command() {
  return {
      "model show",
      "show one model: its size, parameters and operators",
      join(join(service::nodes_fields().records(),
                {integer_option("batch", 1, "samples per step").bounds(1, 1 << 24),
                 flag_option("operators", "list the operators with their costs"),
                 flag_option("nodes", "count the nodes of a TensorFlow 1.x GraphDef, by phase, device and operator")}),
           table_options()),
      {"orrery model show resnet50", "orrery model show resnet50:classes=10,input=64 --operators",
       "orrery model show gpt2:layers=24,hidden=1024,heads=16 --json", "orrery model show graph.pbtxt --nodes",
       "orrery model show graph.pbtxt --nodes --node-device CPU --json"},
      run_model_show};
}

Command model_export_command() {
  return {"model export",
          "[MODEL]",
          0,
          1,
          "write a model in the graph format",
          {text_option("output", "", "file to write (default: standard output)").in("FILE"),
           flag_option("schema", "print the JSON Schema of the format instead")},
          {"orrery model export resnet50 --output resnet50.json", "orrery model export --schema"},
          run_model_export};
}

}  // namespace orrery::cli
