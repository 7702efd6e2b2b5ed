#include "predict/readers/resource_examples.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/csv.h"
#include "base/text.h"
#include "predict/driple/layer_runs.h"
#include "predict/readers/data_files.h"
#include "profile/jobs/job_file.h"
#include "workload/zoo/zoo.h"

namespace orrery::predict {

namespace {

constexpr std::size_t kRowsMax = 100'000, kMetricsMax = 256;

// A run whose graph waits for the shares of operators.
struct Pending {
  std::string name;
  std::function<BuiltGraph(const OpFrequencies& frequencies)> build;
  double batch = 1;
  std::vector<double> used;
};

OpFrequencies shares_of(const std::vector<Pending>& runs) {
  std::map<std::string, std::size_t> counts;
  for (const Pending& run : runs) {
    for (const std::string& op : run.build({}).ops) ++counts[op];
  }
  return OpFrequencies::of_counts(counts);
}

void finish(const std::vector<Pending>& runs, const std::optional<OpFrequencies>& given, ResourceSet& set) {
  set.frequencies = given ? *given : shares_of(runs);
  for (const Pending& run : runs) {
    set.examples.push_back(std::make_unique<const NamedExample>(
        NamedExample{run.name, {run.build(set.frequencies), run.batch, run.used}}));
  }
}

Result<std::vector<LayerRun>> read_layer_runs(env::Files& files, const std::string& folder) {
  std::vector<LayerRun> all;
  for (const char* file : kLayerRunFiles) {
    ORRERY_TRY(const std::string text, read_data(files, folder, file));
    auto runs = parse_layer_runs(text);
    if (!runs) return std::move(runs).error().with_context(fmt::format("{}/{}", folder, file));
    all.insert(all.end(), std::make_move_iterator(runs->begin()), std::make_move_iterator(runs->end()));
  }
  return all;
}

// "cpu burst [s]" is "cpu burst" in "s"; what has no bracket has no unit.
MetricLabel label_of(std::string_view column) {
  const std::size_t bracket = column.rfind('[');
  if (bracket != std::string_view::npos && column.ends_with(']')) {
    return {std::string(trim(column.substr(0, bracket))),
            std::string(column.substr(bracket + 1, column.size() - bracket - 2))};
  }
  return {std::string(trim(column)), ""};
}

Error at_line(std::string_view name, std::size_t line, std::string_view what) {
  return Error::invalid(fmt::format("{}:{}: {}", name, line, what));
}

}  // namespace

Result<NamedExamples> read_layer_examples(env::Files& files, const std::string& folder,
                                          const OpFrequencies& frequencies) {
  ORRERY_TRY(const std::vector<LayerRun> runs, read_layer_runs(files, folder));
  NamedExamples examples;
  for (const LayerRun& run : runs) {
    examples.push_back(std::make_unique<const NamedExample>(
        NamedExample{run.name, {build_node_graph(run, frequencies), run.batch, {run.used.begin(), run.used.end()}}}));
  }
  return examples;
}

Result<ResourceSet> read_layer_set(env::Files& files, const std::string& folder,
                                   const std::optional<OpFrequencies>& given) {
  ORRERY_TRY(std::vector<LayerRun> runs, read_layer_runs(files, folder));
  ResourceSet set{.measured = fmt::format("{} runs of multi-layer perceptrons on a GPU", runs.size()),
                  .form = GraphForm::kForward,
                  .metrics = {{"peak memory", "MiB"},
                              {"GPU utilisation", "%"},
                              {"graphics engine active", ""},
                              {"multiprocessors active", ""},
                              {"multiprocessors occupied", ""},
                              {"FP32 pipe active", ""}},
                  .frequencies = {},
                  .examples = {}};
  static_assert(kResourceTargets.size() == 6);
  std::vector<Pending> pending;
  for (LayerRun& run : runs) {
    Pending one{.name = run.name, .build = {}, .batch = run.batch, .used = {run.used.begin(), run.used.end()}};
    one.build = [run = std::move(run)](const OpFrequencies& frequencies) { return build_node_graph(run, frequencies); };
    pending.push_back(std::move(one));
  }
  finish(pending, given, set);
  return set;
}

Result<ResourceSet> job_resource_set(const profile::JobSet& jobs,
                                     const std::function<bool(const profile::Job& job)>& is_wanted,
                                     const std::optional<OpFrequencies>& given) {
  ResourceSet set{.measured = {},
                  .form = GraphForm::kTraining,
                  .metrics = driple_labels({"memory", "cpu", "receive", "transmit"}, {"B", "cores", "B/s", "B/s"}),
                  .frequencies = {},
                  .examples = {}};
  std::vector<Pending> pending;
  for (const profile::MeasuredJob& job : jobs.jobs) {
    if (!is_wanted(job.job)) continue;
    auto run = profile::run_of(job.job);
    if (!run) return std::move(run).error().with_context(job.job.key());
    Pending one{.name = job.job.key(), .build = {}, .batch = static_cast<double>(job.job.batch), .used = {}};
    for (const profile::ResourceUtilisation& use : job.use) {
      one.used.insert(one.used.end(), {use.idle.value(), use.burst.value(), use.amount});
    }
    one.build = [run = std::move(*run)](const OpFrequencies& frequencies) {
      return build_node_graph(run, frequencies);
    };
    pending.push_back(std::move(one));
  }
  set.measured = fmt::format("workers of {} data-parallel jobs on {}", pending.size(), jobs.header.machine);
  finish(pending, given, set);
  return set;
}

Result<ResourceSet> parse_resource_table(std::string_view csv, std::string_view name,
                                         const std::optional<OpFrequencies>& given) {
  auto table = parse_csv(csv);
  if (!table) return std::move(table).error().with_context(std::string(name));
  const auto place = [&](std::string_view column) -> std::optional<std::size_t> {
    const auto found = std::find(table->header.begin(), table->header.end(), column);
    if (found == table->header.end()) return std::nullopt;
    return static_cast<std::size_t>(found - table->header.begin());
  };
  const auto model = place("model"), batch = place("batch"), optimizer = place("optimizer");
  if (!model || !batch) return at_line(name, 1, "no column model or no column batch");
  if (table->rows.size() > kRowsMax || table->header.size() > kMetricsMax) {
    return at_line(name, 1, fmt::format("more than {} runs or {} columns", kRowsMax, kMetricsMax));
  }
  ResourceSet set{.measured = fmt::format("{} runs of {}", table->rows.size(), name),
                  .form = GraphForm::kTraining,
                  .metrics = {},
                  .frequencies = {},
                  .examples = {}};
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < table->header.size(); ++i) {
    if (i == *model || i == *batch || (optimizer && i == *optimizer)) continue;
    columns.push_back(i);
    set.metrics.push_back(label_of(table->header[i]));
  }
  if (columns.empty()) return at_line(name, 1, "no column of a metric beside model, batch and optimizer");
  std::vector<Pending> pending;
  for (const CsvRow& row : table->rows) {
    const auto size = parse_number(trim(row.fields[*batch]));
    if (!size || !(*size >= 1) || *size > 1e9 || *size != static_cast<double>(static_cast<std::int64_t>(*size))) {
      return at_line(name, row.line, fmt::format("expected a batch from 1 on, got {}", quote(row.fields[*batch])));
    }
    auto single = workload::build_model(trim(row.fields[*model]));
    if (!single) return at_line(name, row.line, single.error().message());
    auto graph = single->with_batch(static_cast<std::int64_t>(*size));
    if (!graph) return at_line(name, row.line, graph.error().message());
    workload::TrainingRun run{.graph = std::move(*graph)};
    if (optimizer) {
      auto chosen = workload::parse_optimizer(trim(row.fields[*optimizer]));
      if (!chosen) return at_line(name, row.line, chosen.error().message());
      run.optimizer = *chosen;
    }
    Pending one{
        .name = fmt::format("{} {}", row.fields[*model], row.fields[*batch]), .build = {}, .batch = *size, .used = {}};
    for (const std::size_t column : columns) {
      const auto used = parse_number(trim(row.fields[column]));
      if (!used || !(*used >= 0) || *used > 1e300) {
        return at_line(
            name, row.line,
            fmt::format("{}: expected a number from 0 on, got {}", table->header[column], quote(row.fields[column])));
      }
      one.used.push_back(*used);
    }
    one.build = [run = std::move(run)](const OpFrequencies& frequencies) { return build_node_graph(run, frequencies); };
    pending.push_back(std::move(one));
  }
  finish(pending, given, set);
  return set;
}

}  // namespace orrery::predict
