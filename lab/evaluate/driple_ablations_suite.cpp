#include "lab/evaluate/driple_ablations_suite.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <optional>

#include "base/parallel.h"
#include "base/plot/plots.h"
#include "lab/evaluate/own_graph_runs.h"
#include "lab/evaluate/shared_progress.h"

namespace orrery::lab {

namespace {

constexpr std::uint64_t kSteps = 5000;  // at most
constexpr std::uint64_t kPatience = 300;
constexpr std::uint64_t kCheckEvery = 50;
constexpr std::size_t kStoppingRuns = 300;  // watched while learning: all would take as long as the learning itself
constexpr std::size_t kSeeds = 3;
constexpr std::size_t kGroups = 8;         // of uniform grouping where the graphs are small
constexpr std::size_t kManyGroups = 100;   // where they are not, as published
constexpr double kManyShare = 0.15;        // of the nodes, which makes about as many groups on average
constexpr double kDeepRate = 1e-3;         // see the header
constexpr std::int32_t kLargeHidden = 16;  // a graph has twenty times as many nodes
constexpr std::size_t kLargeBatch = 8;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// One line of the report, and which of the networks it is about.
struct Cell {
  std::string axis, label;
  std::size_t network;
  double published_change = kNan;  // of the error, against the first cell of the axis
  std::string group() const { return axis + ": " + label; }
};

struct Plan {
  std::vector<ResourceNetworkOptions> networks;  // the first is the one that is changed
  std::vector<Cell> cells;

  void begin(const std::string& axis, std::string_view label) { cells.push_back({axis, std::string(label), 0}); }
  void add(std::string_view label, const ResourceNetworkOptions& network, double published_change = kNan) {
    cells.push_back({cells.back().axis, std::string(label), networks.size(), published_change});
    networks.push_back(network);
  }
};

void add_groupings(const std::string& axis, std::size_t groups, Plan& plan) {
  const ResourceNetworkOptions base = plan.networks.front();
  ResourceNetworkOptions changed = base;
  plan.begin(axis, to_string(Grouping::kNone));
  changed.grouping = {.grouping = Grouping::kUniform, .groups = groups};
  plan.add(to_string(Grouping::kUniform), changed, -0.12);
  changed.grouping = {.grouping = Grouping::kProportional, .rule = GroupRule::kSquareRoot};
  plan.add(to_string(Grouping::kProportional), changed, -0.46);
}

Plan plan_of(const ResourceNetworkOptions& base) {
  Plan plan{{base}, {}};
  add_groupings("grouping", kGroups, plan);
  ResourceNetworkOptions changed = base;
  plan.begin("graph layer", to_string(GraphLayer::kGcn));
  for (const GraphLayer layer : {GraphLayer::kGin, GraphLayer::kGat, GraphLayer::kMpnn}) {
    changed = base;
    changed.graph_layer = layer;
    plan.add(to_string(layer), changed);
  }
  plan.begin("depth", to_string(DepthRule::kLog2));
  for (const DepthRule depth : {DepthRule::kHalf, DepthRule::kNodes}) {
    changed = base;
    changed.depth = depth;
    changed.learning_rate = kDeepRate;
    plan.add(to_string(depth), changed);
  }
  plan.begin("readout", to_string(Readout::kSet2Set));
  for (const Readout readout : {Readout::kSum, Readout::kMean}) {
    changed = base;
    changed.readout = readout;
    plan.add(to_string(readout), changed);
  }
  return plan;
}

// The graphs of real models only serve to ask what grouping is worth.
Plan large_plan_of(ResourceNetworkOptions base) {
  base.hidden = kLargeHidden;
  base.batch = kLargeBatch;
  Plan plan{{base}, {}};
  add_groupings("grouping of large graphs", kManyGroups, plan);
  base.grouping = {.grouping = Grouping::kProportional, .rule = GroupRule::kShare, .share = kManyShare};
  plan.add("proportional, as many as uniform", base, -0.46);
  return plan;
}

// Of one network and seed.
struct Outcome {
  ResourcePredictions predicted{};
  double nrmse_range = 0;
  ValidatedOutcome training{};
};

// Some of them, spread over all.
Examples thinned(const Examples& examples, std::size_t most) {
  const std::size_t every = (examples.size() + most - 1) / most;
  Examples some;
  for (std::size_t i = 0; i < examples.size(); i += every) some.push_back(examples[i]);
  return some;
}

Result<Outcome> run_one(ResourceNetworkOptions options, std::uint64_t seed, const ResourceRuns& runs,
                        const SuiteInput& input, SharedProgress& progress) {
  options.seed = seed;
  const TrainingWatch watch{
      .progress = progress.part(), .now_s = input.now_s, .seconds_max = input.training.seconds_max};
  ORRERY_TRY(const ResourceNetwork network,
             ResourceNetwork::fit(runs.train, thinned(runs.validation, kStoppingRuns), options, watch));
  Outcome outcome{.training = network.report().outcome};
  ORRERY_TRY(outcome.predicted, network.predict(runs.test));
  outcome.nrmse_range = normalised_errors(runs.test, outcome.predicted, runs.train).back().range;
  return outcome;
}

std::vector<Case> cases_of(const std::string& group, const Examples& examples, const ResourcePredictions& predicted) {
  std::vector<Case> cases;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    for (std::size_t metric = 0; metric < predicted[i].size(); ++metric) {
      cases.push_back({.group = group,
                       .measured = examples[i]->used[metric],
                       .predicted = predicted[i][metric],
                       .low = kNan,
                       .high = kNan});
    }
  }
  return cases;
}

// Mean, least and largest error of a network over its seeds.
struct Spread {
  double mean, least, most;
};

Spread spread_of(std::span<const Outcome> outcomes) {
  Spread spread{0, outcomes.front().nrmse_range, outcomes.front().nrmse_range};
  for (const Outcome& outcome : outcomes) {
    spread.mean += outcome.nrmse_range / static_cast<double>(outcomes.size());
    spread.least = std::min(spread.least, outcome.nrmse_range);
    spread.most = std::max(spread.most, outcome.nrmse_range);
  }
  return spread;
}

Result<std::vector<std::vector<Outcome>>> train_all(const Plan& plan, const ResourceRuns& runs, const SuiteInput& input,
                                                    SharedProgress& progress) {
  std::vector<std::optional<Result<Outcome>>> made(plan.networks.size() * kSeeds);
  run_parallel(made.size(), input.threads, [&](std::size_t i) {
    made[i] = run_one(plan.networks[i / kSeeds], input.seed + i % kSeeds, runs, input, progress);
  });
  std::vector<std::vector<Outcome>> outcomes(plan.networks.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    ORRERY_TRY(outcomes[i / kSeeds].emplace_back(), std::move(*made[i]));
  }
  return outcomes;
}

// Trains the networks of a plan on the runs and reports its cells.
Status study(const Plan& plan, const ResourceRuns& runs, const std::string& what, const SuiteInput& input,
             SharedProgress& progress, SuiteReport& report) {
  ORRERY_TRY(const auto outcomes, train_all(plan, runs, input, progress));
  double reference = 0;
  for (const Cell& cell : plan.cells) {
    const std::vector<Outcome>& of_cell = outcomes[cell.network];
    const Spread spread = spread_of(of_cell);
    if (cell.network == 0) reference = spread.mean;
    std::vector<Case> cases;
    double seconds = 0, steps = 0;
    for (const Outcome& outcome : of_cell) {
      const std::vector<Case> more = cases_of(cell.group(), runs.test, outcome.predicted);
      cases.insert(cases.end(), more.begin(), more.end());
      seconds += outcome.training.training.seconds;
      steps += static_cast<double>(outcome.training.training.steps) / kSeeds;
      if (!outcome.training.has_settled) {
        report.notes.push_back(fmt::format("{}: a training had not settled after {} steps", cell.group(),
                                           outcome.training.training.steps));
      }
    }
    report.add(cases, seconds);
    report.rows.back().more = {{"nrmse_range", spread.mean},
                               {"least", spread.least},
                               {"most", spread.most},
                               {"change", spread.mean / reference - 1},
                               {"steps", steps}};
    if (cell.published_change == cell.published_change) {
      report.rows.back().more.emplace_back("published_change", cell.published_change);
    }
  }
  double nodes = 0;
  for (const auto& one : runs.known) nodes += static_cast<double>(one->example.graph.graph.nodes.size());
  report.notes.push_back(fmt::format("{}: {} runs to fit, {} scored, graphs of {:.0f} nodes on average", what,
                                     runs.train.size(), runs.test.size(),
                                     nodes / static_cast<double>(runs.known.size())));
  return {};
}

std::string figure_of(const SuiteReport& report) {
  plot::BarPlot bars{.heading = {.title = "Error of Driple's network with other parts"},
                     .y = {.title = "RMSE / range, mean of all figures", .from_zero = true},
                     .series = {{.name = "mean of three seeds"}},
                     .value_labels = true,
                     .size = {960, 460}};
  for (const ReportRow& row : report.rows) {
    const std::string label = row.group.substr(row.group.find(": ") + 2);
    bars.groups.push_back(row.group.starts_with("grouping of large") ? label + ", large" : label);
    bars.series[0].values.push_back(row.more[0].second);
  }
  return plot::bar_plot(bars);
}

}  // namespace

Result<SuiteReport> run_driple_ablations_suite(const SuiteInput& input) {
  const double begin = input.now_s();
  SuiteReport report{.suite = "driple-ablations", .seed = input.seed};
  ResourceNetworkOptions base;
  base.steps = input.training.steps > 0 ? input.training.steps : kSteps;
  base.patience = kPatience;
  base.check_every = kCheckEvery;
  base.threads = 1;
  const bool has_own = input.files.exists(std::string(kShippedIterations));
  const Plan plan = plan_of(base), large = large_plan_of(base);
  const std::size_t networks = plan.networks.size() + (has_own ? large.networks.size() : 0);
  SharedProgress progress(input.training.progress, networks * kSeeds * base.steps);
  ORRERY_TRY(const ResourceRuns runs, read_resource_runs(input));
  ORRERY_TRY_VOID(study(plan, runs, "six figures of perceptrons on a GPU", input, progress, report));
  if (has_own) {
    ORRERY_TRY(const ResourceRuns own, read_own_graph_runs(input));
    ORRERY_TRY_VOID(study(large, own, "three times of real models on a processor", input, progress, report));
  } else {
    report.notes.push_back(fmt::format("no {} here: grouping of large graphs is left out", kShippedIterations));
  }
  report.figures.push_back({"parts", figure_of(report)});
  report.notes.push_back(fmt::format("{} seeds of each network; {:.0f} s in all", kSeeds, input.now_s() - begin));
  return report;
}

}  // namespace orrery::lab
