#include "service/resources.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "env/files.h"
#include "predict/driple/grouping.h"
#include "predict/driple/inspector.h"
#include "predict/measured/measured_model.h"
#include "predict/registry/model_file.h"
#include "service/predict.h"
#include "workload/import/graphdef/file.h"

namespace orrery::service {

using predict::ResourceMetrics;

const Fields<WeightsFields>& weights_fields() {
  using W = WeightsFields;
  static const auto kFields =
      Fields<W>()
          .add(&W::frequencies, text_option("frequencies", "",
                                            "CSV of operators and their shares in a corpus; published weights need it")
                                    .in("FILE"))
          .add(&W::node_device, text_option("node-device", "GPU",
                                            "published weights look at nodes of a GraphDef whose device contains this")
                                    .in("TEXT"))
          .add(&W::groups, integer_option("groups", 100,
                                          "groups that the nodes of a GraphDef are merged into for published weights")
                               .bounds(1, 10'000))
          .add(&W::group_seed, integer_option("group-seed", 42, "seed of the groups").bounds(0, 1e15))
          .add(&W::maxima, text_option("maxima", "",
                                       "largest values of the twelve metrics in the training of published weights, "
                                       "separated by commas")
                               .in("NUMBERS"));
  return kFields;
}

const Fields<ResourcesRequest>& resources_fields() {
  using R = ResourcesRequest;
  static const auto kFields =
      Fields<R>().add(&R::runs, run_fields()).add(&R::predictor, predictor_option()).add(&R::weights, weights_fields());
  return kFields;
}

namespace {

// Twelve numbers above 0, separated by commas; empty: all 1.
Result<std::vector<double>> parse_maxima(const std::string& text, const FieldNames& names) {
  if (text.empty()) return std::vector<double>(predict::kMetrics, 1.0);
  std::vector<double> maxima;
  for (const std::string& word : split(text, ',')) maxima.push_back(parse_number(word).value_or(0));
  const bool all_positive = std::all_of(maxima.begin(), maxima.end(), [](double one) { return one > 0; });
  if (maxima.size() == predict::kMetrics && all_positive) return maxima;
  return names.error("maxima", fmt::format("expected {} numbers above 0, got {}", predict::kMetrics, quote(text)));
}

Result<predict::Inspector> read_inspector(std::string_view bytes, const std::string& path) {
  auto checkpoint = predict::parse_checkpoint(bytes);
  if (!checkpoint) return std::move(checkpoint).error().with_context(path);
  auto inspector = predict::Inspector::make(*checkpoint);
  if (!inspector) return std::move(inspector).error().with_context(path);
  if (inspector->outputs() != predict::kMetrics) {
    return Error::invalid(
        fmt::format("{}: it answers {} metrics, not {}", path, inspector->outputs(), predict::kMetrics));
  }
  return inspector;
}

Result<predict::BuiltGraph> read_graph(env::Files& files, const std::string& path, const WeightsFields& fields) {
  ORRERY_TRY(const auto frequencies, predict::OpFrequencies::read(files, fields.frequencies));
  auto graph = workload::read_graphdef(files, path);
  if (!graph) return std::move(graph).error().with_context(path);
  auto built = predict::build_node_graph(*graph, frequencies, {.device = fields.node_device});
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

Result<ResourcesAnswer> by_weights(env::Env env, const ResourcesRequest& request, std::string_view bytes) {
  const std::string& path = request.predictor;
  const std::vector<std::string>& models = request.runs.models;
  const WeightsFields& fields = request.weights;
  if (models.size() != 1) return Error::invalid("published weights answer for one GraphDef at a time");
  if (fields.frequencies.empty()) {
    return Error::invalid(
        fmt::format("{} is a file of PyTorch's: {} FILE is needed beside it (operators and "
                    "their shares, published as node_frequency.csv)",
                    path, request.names("frequencies")));
  }
  ORRERY_TRY(const std::vector<double> maxima, parse_maxima(fields.maxima, request.names));
  ORRERY_TRY(const predict::Inspector inspector, read_inspector(bytes, path));
  ORRERY_TRY(const predict::BuiltGraph built, read_graph(env.files, models[0], fields));
  ORRERY_TRY(const predict::NodeGraph merged, grouped(built.graph, fields.groups, {.seed = fields.group_seed}));
  ORRERY_TRY(const std::vector<double> answer, inspector.predict(merged));
  ORRERY_TRY(const ResourceMetrics metrics, predict::resource_metrics(answer, maxima));
  WeightsAnswer weights{metrics, !fields.maxima.empty(), built.graph.nodes.size(), merged.nodes.size()};
  for (const auto& [op, count] : built.unknown_ops) weights.unknown += count;
  return weights;
}

Table fitted_table(const std::vector<FittedRun>& runs) {
  Table table({{"model", "model"},
               {"batch", "batch", CellFormat::kInteger},
               {"metric", "metric"},
               {"value", "predicted", CellFormat::kNumber},
               {"low", "low", CellFormat::kNumber},
               {"high", "high", CellFormat::kNumber},
               {"unit", "unit"},
               {"in_domain", "in domain"}});
  for (const FittedRun& run : runs) {
    for (const predict::PredictedMetric& metric : run.resources.metrics) {
      table.add({run.point.model, run.point.run.graph.batch(), metric.label.name, metric.value, metric.low, metric.high,
                 metric.label.unit, run.resources.in_domain});
    }
  }
  return table;
}

// Cycle, duty and mean load of the resources whose idling, burst and amount a file has.
std::string burst_text(const FittedRun& run) {
  std::string text;
  const auto& metrics = run.resources.metrics;
  for (std::size_t i = 0; i + 2 < metrics.size(); ++i) {
    const std::string& name = metrics[i].label.name;
    constexpr std::string_view kIdle = " idle";
    if (!name.ends_with(kIdle)) continue;
    const std::string resource = name.substr(0, name.size() - kIdle.size());
    if (metrics[i + 1].label.name != resource + " burst" || metrics[i + 2].label.name != resource + " amount") continue;
    const predict::BurstMetrics one{
        .idle = Seconds(metrics[i].value), .burst = Seconds(metrics[i + 1].value), .amount = metrics[i + 2].value};
    text += fmt::format("  {:<12} cycle {}, {:.0f} % of it bursting, mean load {} {}\n", resource,
                        format_seconds(cycle_time(one)), 100 * duty(one), format_number(mean_load(one), 4),
                        metrics[i + 2].label.unit);
  }
  return text;
}

Result<ResourcesAnswer> by_fitted(env::Env env, const ResourcesRequest& request, std::string_view bytes) {
  const std::string& path = request.predictor;
  auto model = predict::parse_resource_model(bytes);
  if (!model) return std::move(model).error().with_context(path);
  auto fitted = predict::FittedResources::make(std::move(*model));
  if (!fitted) return std::move(fitted).error().with_context(path);
  ORRERY_TRY(std::vector<RunPoint> points, expand_runs(env, request.runs, request.names));
  const predict::ResourceModel& known = fitted->model();
  FittedAnswer answer{.measured = known.measured,
                      .learned = known.runs,
                      .steps = known.steps,
                      .left_out = known.left_out,
                      .error = known.error()};
  for (RunPoint& point : points) {
    auto resources = fitted->predict(point.run);
    if (!resources) return std::move(resources).error().with_context(point.model);
    answer.runs.push_back({std::move(point), std::move(*resources)});
  }
  return answer;
}

std::string weights_text(const WeightsAnswer& answer) {
  return fmt::format(
      "\n{} nodes in {} groups, {} without a known operator\n{}"
      "published weights have no measured errors: there are no intervals\n",
      answer.nodes, answer.groups, answer.unknown,
      answer.has_maxima ? "" : "shares of the largest values of the training; --maxima turns them into units\n");
}

std::string fitted_text(const FittedAnswer& answer) {
  std::string text;
  for (const FittedRun& run : answer.runs) {
    const std::string bursts = burst_text(run);
    if (!bursts.empty())
      text += fmt::format("\n{}, batch {}\n{}", run.point.model, run.point.run.graph.batch(), bursts);
    for (const std::string& note : run.resources.notes) text += fmt::format("\n{}: {}", run.point.model, note);
    if (!run.resources.notes.empty()) text += "\n";
  }
  return text + fmt::format(
                    "\nlow and high: 80 % interval\nlearned from {}: {} of them in {} steps; RMSE over the range "
                    "{:.3f} on {} left out\n",
                    answer.measured, answer.learned, answer.steps, answer.error, answer.left_out);
}

}  // namespace

Result<ResourcesAnswer> predict_resources(env::Env env, const ResourcesRequest& request) {
  const FieldNames& names = request.names;
  const std::string& path = request.predictor;
  if (path == "auto" || path == "analytic" || path == "operators") {
    return Error::invalid(fmt::format(
        "{} needs a network of resources, and none ships with this program. Give {} FILE: a file that "
        "`orrery fit SOURCE --form driple --out FILE` learned from measured metrics, or, for a TensorFlow 1.x "
        "GraphDef, Driple's published weights (pre-train.pkl) with {} node_frequency.csv",
        names("resources"), names("predictor"), names("frequencies")));
  }
  ORRERY_TRY(const std::string bytes, env.files.read(path, predict::kModelMax));
  auto file = predict::model_file(bytes);
  if (!file) return std::move(file).error().with_context(path);
  if (file->kind == predict::ModelKind::kResources) return by_fitted(env, request, bytes);
  if (file->kind == predict::ModelKind::kWeights) return by_weights(env, request, bytes);
  return Error::unsupported(
      fmt::format("{}: {}, which does not predict resources; {} reads it", path, file->noun, file->used_by));
}

Table resources_table(const ResourcesAnswer& answer) {
  if (const auto* fitted = std::get_if<FittedAnswer>(&answer)) return fitted_table(fitted->runs);
  const auto& weights = std::get<WeightsAnswer>(answer);
  return weights.has_maxima ? metrics_table(weights.metrics) : shares_table(weights.metrics);
}

std::string resources_text(const ResourcesAnswer& answer) {
  const auto* fitted = std::get_if<FittedAnswer>(&answer);
  return fitted != nullptr ? fitted_text(*fitted) : weights_text(std::get<WeightsAnswer>(answer));
}

}  // namespace orrery::service
