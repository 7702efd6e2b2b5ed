#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "env/files.h"
#include "predict/driple/grouping.h"
#include "predict/driple/inspector.h"
#include "predict/driple/resource_metrics.h"
#include "workload/import/graphdef/file.h"

namespace orrery::cli {

namespace {

using predict::ResourceMetrics;

// Twelve numbers above 0, separated by commas; empty: all 1.
Result<std::vector<double>> parse_maxima(const std::string& text) {
  if (text.empty()) return std::vector<double>(predict::kMetrics, 1.0);
  std::vector<double> maxima;
  for (const std::string& word : split(text, ',')) maxima.push_back(parse_number(word).value_or(0));
  const bool all_positive = std::all_of(maxima.begin(), maxima.end(), [](double one) { return one > 0; });
  if (maxima.size() == predict::kMetrics && all_positive) return maxima;
  return Error::invalid(fmt::format("--maxima: expected {} numbers above 0, got {}", predict::kMetrics, quote(text)));
}

Result<predict::Inspector> read_inspector(env::Files& files, const std::string& path) {
  ORRERY_TRY(const std::string bytes, files.read(path, predict::kCheckpointMax));
  auto checkpoint = predict::parse_checkpoint(bytes);
  if (!checkpoint) return std::move(checkpoint).error().with_context(path);
  auto inspector = predict::Inspector::make(*checkpoint);
  if (!inspector) return std::move(inspector).error().with_context(path);
  if (inspector->outputs() != predict::kMetrics) {
    return Error::invalid(
        fmt::format("{}: it answers {} figures, not {}", path, inspector->outputs(), predict::kMetrics));
  }
  return inspector;
}

Result<predict::BuiltGraph> read_graph(env::Files& files, const std::string& path, const OptionValues& options) {
  ORRERY_TRY(const auto frequencies, predict::OpFrequencies::read(files, options.text("frequencies")));
  auto graph = workload::read_graphdef(files, path);
  if (!graph) return std::move(graph).error().with_context(path);
  auto built = predict::build_node_graph(*graph, frequencies, {.device = options.text("device")});
  if (!built) return std::move(built).error().with_context(path);
  return built;
}

// Without the largest values of the training everything is a share of them, and times cannot be added.
Table shares_table(const ResourceMetrics& metrics) {
  Table table({{"resource", "resource"},
               {"idle_share", "idle", CellFormat::kNumber},
               {"burst_share", "burst", CellFormat::kNumber},
               {"amount_share", "amount", CellFormat::kNumber}});
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    table.add({std::string(to_string(static_cast<predict::Resource>(i))), metrics[i].idle.value(),
               metrics[i].burst.value(), metrics[i].amount});
  }
  return table;
}

Table metrics_table(const ResourceMetrics& metrics) {
  Table table({{"resource", "resource"},
               {"idle_s", "idle", CellFormat::kSeconds},
               {"burst_s", "burst", CellFormat::kSeconds},
               {"amount", "amount", CellFormat::kNumber},
               {"cycle_s", "cycle", CellFormat::kSeconds},
               {"duty", "bursting", CellFormat::kPercent},
               {"mean_load", "mean load", CellFormat::kNumber}});
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const predict::BurstMetrics& one = metrics[i];
    table.add({std::string(to_string(static_cast<predict::Resource>(i))), one.idle.value(), one.burst.value(),
               one.amount, cycle_time(one).value(), duty(one), mean_load(one)});
  }
  return table;
}

Status run_graphdef_figures(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  for (const char* needed : {"weights", "frequencies"}) {
    if (options.text(needed).empty()) return Error::invalid(fmt::format("--{} FILE is needed", needed));
  }
  ORRERY_TRY(const std::vector<double> maxima, parse_maxima(options.text("maxima")));
  ORRERY_TRY(const predict::Inspector inspector, read_inspector(context.env.files, options.text("weights")));
  ORRERY_TRY(const predict::BuiltGraph built, read_graph(context.env.files, arguments.words[0], options));
  const auto groups = static_cast<std::size_t>(options.integer("groups"));
  ORRERY_TRY(const predict::NodeGraph merged,
             grouped(built.graph, groups, {.seed = static_cast<std::uint64_t>(options.integer("seed"))}));
  ORRERY_TRY(const std::vector<double> answer, inspector.predict(merged));
  ORRERY_TRY(const ResourceMetrics metrics, predict::resource_metrics(answer, maxima));
  const bool has_maxima = !options.text("maxima").empty();
  ORRERY_TRY_VOID(context.print_table(has_maxima ? metrics_table(metrics) : shares_table(metrics), options));
  if (!for_people(options)) return {};
  std::size_t unknown = 0;
  for (const auto& [op, count] : built.unknown_ops) unknown += count;
  context.print(fmt::format("\n{} nodes in {} groups, {} without a known operator\n", built.graph.nodes.size(),
                            merged.nodes.size(), unknown));
  if (!has_maxima) context.print("shares of the largest values of the training; --maxima turns them into units\n");
  return {};
}

}  // namespace

Command graphdef_figures_command() {
  return {"graphdef figures",
          "FILE",
          1,
          1,
          "predict bursts and idling of a TensorFlow 1.x training by a Driple network",
          join({text_option("weights", "", "of the network, as PyTorch saves them").in("FILE"),
                text_option("frequencies", "", "CSV of operators and their shares in a corpus").in("FILE"),
                text_option("device", "GPU", "only consider nodes whose device contains this text").in("TEXT"),
                integer_option("groups", 100, "that nodes are merged into").bounds(1, 10'000),
                integer_option("seed", 42, "of the groups").bounds(0, 1e15),
                text_option("maxima", "", "the largest value of each figure in the training, separated by commas")
                    .in("NUMBERS")},
               table_options()),
          {"orrery graphdef figures graph.pbtxt --weights pre-train.pkl --frequencies node_frequency.csv"},
          run_graphdef_figures};
}

}  // namespace orrery::cli
