#include "predict/driple/resource_model.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/random.h"
#include "predict/analytic/analytic.h"
#include "predict/learn/sealed.h"
#include "predict/neural/weights.h"

namespace orrery::predict {

namespace {

constexpr SealedKind kKind{"orrery-resources", 1, "resource network", "orrery fit --form driple"};
constexpr std::size_t kTextMax = 4096, kMetricsMax = 1024, kOpsMax = 1'000'000;
constexpr double kTrainShare = 0.6, kValidationShare = 0.2;
constexpr std::size_t kPartMin = 5;   // runs of each part
constexpr double kSmallShare = 0.01;  // of the mean: intervals are factors, and nothing is a factor of 0
constexpr double kUnknownOpsMax = 0.05;
constexpr double kReach = 2;  // beyond what was learned from

using Examples = std::vector<const ResourceExample*>;

struct Parts {
  Examples train, validation, left_out;
};

Parts parts_of(const ResourceSet& set, std::uint64_t seed) {
  Parts parts;
  for (const auto& one : set.examples) {
    const double place = Random(seed).split(one->name).uniform();
    Examples& part = place < kTrainShare                      ? parts.train
                     : place < kTrainShare + kValidationShare ? parts.validation
                                                              : parts.left_out;
    part.push_back(&one->example);
  }
  return parts;
}

struct GraphSize {
  double nodes = 0, elements = 0, largest = 0;
};

GraphSize size_of(const BuiltGraph& built) {
  GraphSize size{.nodes = static_cast<double>(built.graph.nodes.size())};
  for (const GraphNode& node : built.graph.nodes) {
    size.elements += node.tensor_size;
    size.largest = std::max(size.largest, node.tensor_size);
  }
  return size;
}

void widen(ResourceModel::Range& range, double value, bool is_first) {
  range.least = is_first ? value : std::min(range.least, value);
  range.most = is_first ? value : std::max(range.most, value);
}

void add_domain(const Examples& examples, ResourceModel& model) {
  bool is_first = true;
  for (const ResourceExample* example : examples) {
    model.ops.insert(example->graph.ops.begin(), example->graph.ops.end());
    const GraphSize size = size_of(example->graph);
    widen(model.nodes, size.nodes, is_first);
    widen(model.elements, size.elements, is_first);
    widen(model.largest, size.largest, is_first);
    is_first = false;
  }
}

Status add_errors(const Examples& examples, const ResourceNetwork& network, ResourceModel& model) {
  ORRERY_TRY(const auto predicted, network.predict(examples));
  std::vector<CalibrationPair> pairs;
  for (std::size_t metric = 0; metric < model.metrics.size(); ++metric) {
    double squares = 0, mean = 0, least = examples.front()->used[metric], most = least;
    for (const ResourceExample* example : examples)
      mean += example->used[metric] / static_cast<double>(examples.size());
    model.smallest.push_back(kSmallShare * mean);
    for (std::size_t i = 0; i < examples.size(); ++i) {
      const double measured = examples[i]->used[metric];
      least = std::min(least, measured);
      most = std::max(most, measured);
      squares += std::pow(predicted[i][metric] - measured, 2) / static_cast<double>(examples.size());
      if (!(measured > 0)) continue;
      pairs.push_back({std::max(model.smallest[metric], predicted[i][metric]), measured, model.metrics[metric].name});
    }
    model.errors.push_back(most > least ? std::sqrt(squares) / (most - least) : 0);
  }
  if (pairs.empty()) return Error::invalid("every metric of the runs left out is 0");
  // Metrics are unlike each other: a few runs of one say more of it than many of the others.
  ORRERY_TRY(model.intervals, Conformal::fit(pairs, kPartMin));
  return {};
}

Result<ResourceModel::Range> read_range(ByteReader& in) {
  ResourceModel::Range range;
  ORRERY_TRY(range.least, in.f64());
  ORRERY_TRY(range.most, in.f64());
  if (!(range.least >= 0 && range.least <= range.most && std::isfinite(range.most))) {
    return Error::invalid("a range of sizes is damaged");
  }
  return range;
}

}  // namespace

double ResourceModel::error() const {
  double sum = 0;
  for (const double one : errors) sum += one / static_cast<double>(errors.size());
  return sum;
}

std::vector<MetricLabel> driple_labels(const std::array<std::string_view, kResources>& resources,
                                       const std::array<std::string_view, kResources>& units) {
  std::vector<MetricLabel> labels;
  for (std::size_t i = 0; i < kResources; ++i) {
    labels.push_back({fmt::format("{} idle", resources[i]), "s"});
    labels.push_back({fmt::format("{} burst", resources[i]), "s"});
    labels.push_back({fmt::format("{} amount", resources[i]), std::string(units[i])});
  }
  return labels;
}

BuiltGraph resource_graph(const workload::TrainingRun& run, GraphForm form, const OpFrequencies& frequencies) {
  return form == GraphForm::kForward ? build_forward_graph(run, frequencies) : build_node_graph(run, frequencies);
}

Result<ResourceModel> fit_resources(const ResourceSet& set, const ResourceNetworkOptions& options,
                                    const TrainingWatch& watch) {
  Parts parts = parts_of(set, options.seed);
  if (std::min({parts.train.size(), parts.validation.size(), parts.left_out.size()}) < kPartMin) {
    return Error::invalid(
        fmt::format("{} runs, drawn into {} to learn from, {} to watch and {} to measure errors on; "
                    "{} of each are needed",
                    set.examples.size(), parts.train.size(), parts.validation.size(), parts.left_out.size(), kPartMin));
  }
  if (!watch.checkpoint.empty()) {
    parts.train.insert(parts.train.end(), parts.validation.begin(), parts.validation.end());
    parts.validation.clear();
  }
  ResourceModel model{.measured = set.measured,
                      .form = set.form,
                      .metrics = set.metrics,
                      .frequencies = set.frequencies,
                      .seed = options.seed,
                      .runs = parts.train.size(),
                      .left_out = parts.left_out.size(),
                      .errors = {},
                      .smallest = {},
                      .ops = {},
                      .nodes = {},
                      .elements = {},
                      .largest = {},
                      .network = {}};
  TrainingWatch own = watch;
  ByteWriter all;
  for (const auto& one : set.examples) {
    all.text(one->name);
    for (const double used : one->example.used) all.f64(used);
  }
  own.fingerprint = hash64(all.bytes());
  ORRERY_TRY(const ResourceNetwork network, ResourceNetwork::fit(parts.train, parts.validation, options, own));
  model.steps = network.report().outcome.training.steps;
  add_domain(parts.train, model);
  ORRERY_TRY_VOID(add_errors(parts.left_out, network, model));
  model.network = network.to_bytes();
  return model;
}

std::string to_bytes(const ResourceModel& model) {
  ByteWriter body;
  body.text(model.measured);
  body.u8(static_cast<std::uint8_t>(model.form));
  body.u32(static_cast<std::uint32_t>(model.metrics.size()));
  for (std::size_t i = 0; i < model.metrics.size(); ++i) {
    body.text(model.metrics[i].name);
    body.text(model.metrics[i].unit);
    body.f64(model.errors[i]);
    body.f64(model.smallest[i]);
  }
  model.frequencies.write(body);
  for (const std::uint64_t number : {model.seed, model.runs, model.left_out, model.steps}) body.u64(number);
  model.intervals.write(body);
  body.u32(static_cast<std::uint32_t>(model.ops.size()));
  for (const std::string& op : model.ops) body.text(op);
  for (const ResourceModel::Range& range : {model.nodes, model.elements, model.largest}) {
    body.f64(range.least);
    body.f64(range.most);
  }
  body.text(model.network);
  return seal(kKind, body.bytes());
}

Result<ResourceModel> parse_resource_model(std::string_view bytes) {
  ORRERY_TRY(const std::string_view body, unseal(kKind, bytes));
  ByteReader in(body);
  ResourceModel model;
  ORRERY_TRY(model.measured, in.text(kTextMax));
  ORRERY_TRY(const std::uint8_t form, in.u8());
  if (form > static_cast<std::uint8_t>(GraphForm::kForward)) return Error::invalid("an unknown form of graphs");
  model.form = static_cast<GraphForm>(form);
  ORRERY_TRY(const std::size_t metrics, in.count(24, kMetricsMax));
  for (std::size_t i = 0; i < metrics; ++i) {
    MetricLabel& label = model.metrics.emplace_back();
    ORRERY_TRY(label.name, in.text(kTextMax));
    ORRERY_TRY(label.unit, in.text(kTextMax));
    ORRERY_TRY(model.errors.emplace_back(), in.f64());
    if (!(model.errors.back() >= 0)) return Error::invalid("an error below 0");
    ORRERY_TRY(model.smallest.emplace_back(), in.f64());
    if (!(model.smallest.back() >= 0 && std::isfinite(model.smallest.back()))) return Error::invalid("a scale below 0");
  }
  ORRERY_TRY(model.frequencies, OpFrequencies::read(in));
  for (std::uint64_t* number : {&model.seed, &model.runs, &model.left_out, &model.steps}) {
    ORRERY_TRY(*number, in.u64());
  }
  ORRERY_TRY(model.intervals, Conformal::read(in));
  ORRERY_TRY(const std::size_t ops, in.count(4, kOpsMax));
  for (std::size_t i = 0; i < ops; ++i) {
    ORRERY_TRY(std::string op, in.text(kTextMax));
    model.ops.insert(std::move(op));
  }
  for (ResourceModel::Range* range : {&model.nodes, &model.elements, &model.largest}) {
    ORRERY_TRY(*range, read_range(in));
  }
  ORRERY_TRY(model.network, in.text(body.size()));
  if (!in.at_end()) return Error::invalid("bytes behind its end");
  return model;
}

Result<FittedResources> FittedResources::make(ResourceModel model) {
  ORRERY_TRY(ResourceNetwork network, ResourceNetwork::from_bytes(model.network));
  if (network.metrics() != model.metrics.size()) return Error::invalid("its network answers other metrics");
  return FittedResources(std::move(model), std::move(network));
}

Result<ResourcePrediction> FittedResources::predict(const workload::TrainingRun& run) const {
  const ResourceExample example{resource_graph(run, model_.form, model_.frequencies),
                                static_cast<double>(run.graph.batch())};
  const ResourceExample* examples[] = {&example};
  ORRERY_TRY(const auto values, network_.predict(examples));
  ResourcePrediction prediction;
  prediction.nodes = example.graph.graph.nodes.size();
  const auto unknown = std::count_if(example.graph.ops.begin(), example.graph.ops.end(),
                                     [&](const std::string& op) { return !model_.ops.contains(op); });
  const double unknown_share = static_cast<double>(unknown) / static_cast<double>(example.graph.ops.size());
  if (unknown_share > kUnknownOpsMax) {
    prediction.notes.push_back(fmt::format(
        "outside what was learned: {:.0f} % of the graph's operators were in no graph", 100 * unknown_share));
  }
  const GraphSize size = size_of(example.graph);
  const auto check = [&](std::string_view what, double value, const ResourceModel::Range& range) {
    if (value >= range.least / kReach && value <= range.most * kReach) return;
    prediction.notes.push_back(fmt::format("outside what was learned: {} {:.3g}, learned from {:.3g} to {:.3g}", what,
                                           value, range.least, range.most));
  };
  check("nodes", size.nodes, model_.nodes);
  check("elements of all tensors", size.elements, model_.elements);
  check("elements of the largest tensor", size.largest, model_.largest);
  prediction.in_domain = prediction.notes.empty();
  if (!prediction.in_domain) prediction.notes.emplace_back("the intervals are at least those of formulas");
  for (std::size_t i = 0; i < model_.metrics.size(); ++i) {
    const double value = values.front()[i];
    // A metric that was always 0 has no factor of anything around it.
    const Interval interval =
        model_.smallest[i] > 0 ? model_.intervals.interval(std::max(model_.smallest[i], value), model_.metrics[i].name)
                               : Interval{value, value};
    PredictedMetric metric{model_.metrics[i], value, std::min(value, interval.low), std::max(value, interval.high)};
    if (!prediction.in_domain && model_.smallest[i] > 0) {
      metric.low = std::min(metric.low, value * kFormulaLow);
      metric.high = std::max(metric.high, value * kFormulaHigh);
    }
    prediction.metrics.push_back(std::move(metric));
  }
  return prediction;
}

}  // namespace orrery::predict
