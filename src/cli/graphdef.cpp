#include "workload/import/graphdef.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/text.h"
#include "cli/commands.h"
#include "env/files.h"

namespace orrery::cli {

using workload::GraphDefFacts;

namespace {

constexpr Bytes kGraphDefMax = gibibytes(1);

// Share of every operator in a corpus of graphs: lines "operator,share", with or without a header.
Result<std::map<std::string, double>> read_frequencies(env::Files& files, const std::string& path) {
  ORRERY_TRY(const std::string text, files.read(path, mebibytes(16)));
  ORRERY_TRY(const CsvTable table, parse_csv(text));
  if (table.header.size() < 2) return Error::invalid(path + ": expected two columns, operator and share");
  std::map<std::string, double> frequencies;
  if (const auto share = parse_number(table.header[1])) frequencies[table.header[0]] = *share;
  for (const CsvRow& row : table.rows) {
    const auto share = parse_number(row.fields[1]);
    if (!share)
      return Error::invalid(fmt::format("{}:{}: expected a number, got \"{}\"", path, row.line, row.fields[1]));
    frequencies[row.fields[0]] = *share;
  }
  return frequencies;
}

struct TypeSum {
  double sum = 0;                                        // over the largest part
  std::map<std::string, std::size_t> without_frequency;  // of all nodes of the device
};

TypeSum sum_of_types(const GraphDefFacts& facts, const std::map<std::string, double>& frequencies) {
  TypeSum result;
  for (const auto& [op, count] : facts.device_ops) {
    if (frequencies.find(op) == frequencies.end()) result.without_frequency[op] = count;
  }
  for (const auto& [op, count] : facts.component_ops) {
    const auto found = frequencies.find(op);
    if (found != frequencies.end()) result.sum += found->second * static_cast<double>(count);
  }
  return result;
}

std::string facts_json(const GraphDefFacts& facts, const std::optional<TypeSum>& types) {
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
  json["device_ops"] = facts.device_ops;
  return json.dump(2) + "\n";
}

Status run_graphdef_show(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  const std::string& path = arguments.words[0];
  ORRERY_TRY(const std::string text, context.env.files.read(path, kGraphDefMax));
  auto graph = workload::parse_graphdef_text(text);
  if (!graph) return std::move(graph).error().with_context(path);
  auto facts = workload::graphdef_facts(*graph, options.text("device"));
  if (!facts) return std::move(facts).error().with_context(path);
  std::optional<TypeSum> types;
  if (!options.text("frequencies").empty()) {
    ORRERY_TRY(const auto frequencies, read_frequencies(context.env.files, options.text("frequencies")));
    types = sum_of_types(*facts, frequencies);
  }
  if (options.flag("json")) {
    context.print(facts_json(*facts, types));
    return {};
  }
  context.print(
      fmt::format("{} nodes, {} on {}, {} references between them\n"
                  "largest connected part: {} nodes, {} edges, {} elements in first outputs\n\n",
                  facts->nodes_total, facts->device_nodes, options.text("device"), facts->device_references,
                  facts->component_nodes, facts->component_edges, format_whole(facts->component_tensor_size)));
  std::vector<std::pair<std::size_t, std::string>> by_count;
  for (const auto& [op, count] : facts->device_ops) by_count.emplace_back(count, op);
  std::sort(by_count.rbegin(), by_count.rend());
  for (const auto& [count, op] : by_count) context.print(fmt::format("{:>8}  {}\n", count, op));
  return {};
}

}  // namespace

Command graphdef_show_command() {
  return {"graphdef show",
          "FILE",
          1,
          1,
          "count what is in a TensorFlow 1.x GraphDef (text form)",
          {text_option("device", "GPU", "look at nodes whose device contains this").in("TEXT"),
           text_option("frequencies", "", "CSV of operators and their shares, to sum over the largest part").in("FILE"),
           flag_option("json", "print JSON")},
          {"orrery graphdef show graph.pbtxt", "orrery graphdef show graph.pbtxt --device CPU --json"},
          run_graphdef_show};
}

}  // namespace orrery::cli
