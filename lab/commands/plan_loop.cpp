#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

#include "base/plot/plots.h"
#include "base/text.h"
#include "env/files.h"
#include "lab/commands/commands.h"
#include "lab/experiments/measured_kinds.h"
#include "lab/experiments/rent_experiment.h"
#include "lab/lab.h"
#include "service/planners.h"
#include "service/predictors.h"

namespace orrery::lab {

using namespace cli;

namespace {

constexpr std::array<std::string_view, 4> kPolicies = {"fifo", "edf", "priority", "milp"};

// The instances of one number of nodes and one mean gap.
struct Setting {
  int nodes = 0;
  double gap_s = 0;
  std::array<std::vector<const LoopRow*>, kPolicies.size()> rows{};

  double mean_usd(std::size_t policy) const {
    double sum = 0;
    for (const LoopRow* row : rows[policy]) sum += row->bill.total_usd();
    return sum / static_cast<double>(rows[policy].size());
  }
  // Of renting by plan against one rule, over all instances together.
  double saving(std::size_t policy) const { return 1 - mean_usd(kPolicies.size() - 1) / mean_usd(policy); }
  std::string name() const { return fmt::format("{} nodes, {:g} s", nodes, gap_s); }
};

std::vector<Setting> by_setting(const std::vector<LoopRow>& rows) {
  std::vector<Setting> settings;
  for (const LoopRow& row : rows) {
    if (settings.empty() || settings.back().nodes != row.nodes || settings.back().gap_s != row.gap_s)
      settings.push_back({row.nodes, row.gap_s});
    const auto policy = std::find(kPolicies.begin(), kPolicies.end(), row.policy) - kPolicies.begin();
    settings.back().rows[static_cast<std::size_t>(policy)].push_back(&row);
  }
  return settings;
}

Table summary(const std::vector<Setting>& settings) {
  Table table({{"nodes", "nodes", CellFormat::kInteger},
               {"gap_s", "mean gap", CellFormat::kSeconds},
               {"policy", "policy"},
               {"instances", "instances", CellFormat::kInteger},
               {"total_usd", "mean cost", CellFormat::kDollars},
               {"rental_usd", "rental", CellFormat::kDollars},
               {"idle_usd", "of it idle", CellFormat::kDollars},
               {"tardiness_usd", "tardiness", CellFormat::kDollars},
               {"late_jobs", "late jobs", CellFormat::kNumber},
               {"saving", "saved by milp", CellFormat::kPercent},
               {"saving_least", "least", CellFormat::kPercent},
               {"saving_most", "most", CellFormat::kPercent},
               {"slowest_s", "slowest decision", CellFormat::kSeconds}});
  for (const Setting& setting : settings) {
    for (std::size_t p = 0; p < kPolicies.size(); ++p) {
      RentBill sum;
      double slowest = 0, least = 1, most = -1e9;
      for (std::size_t i = 0; i < setting.rows[p].size(); ++i) {
        const LoopRow& row = *setting.rows[p][i];
        sum.rental_usd += row.bill.rental_usd;
        sum.idle_usd += row.bill.idle_usd;
        sum.tardiness_usd += row.bill.tardiness_usd;
        sum.late += row.bill.late;
        slowest = std::max(slowest, row.stats.slowest.value());
        const double saved = 1 - setting.rows.back()[i]->bill.total_usd() / row.bill.total_usd();
        least = std::min(least, saved);
        most = std::max(most, saved);
      }
      const auto n = static_cast<double>(setting.rows[p].size());
      const bool is_plan = p + 1 == kPolicies.size();
      table.add({std::int64_t{setting.nodes}, setting.gap_s, std::string(kPolicies[p]),
                 static_cast<std::int64_t>(setting.rows[p].size()), sum.total_usd() / n, sum.rental_usd / n,
                 std::max(0.0, std::round(1e6 * sum.idle_usd / n) / 1e6), sum.tardiness_usd / n, sum.late / n,
                 is_plan ? Cell() : Cell(setting.saving(p)), is_plan ? Cell() : Cell(least),
                 is_plan ? Cell() : Cell(most), is_plan ? Cell(slowest) : Cell()});
    }
  }
  return table;
}

std::string loop_plot(const std::vector<Setting>& settings) {
  plot::BarPlot bars;
  bars.heading = {.title = "Cost of renting by plan and by simple rules",
                  .subtitle = "Mean of the instances, as a share of FIFO; rental and tardiness"};
  bars.x_title = "Nodes, mean gap between submissions";
  bars.y = {.title = "Cost", .unit = "% of FIFO", .from_zero = true};
  bars.value_labels = true;
  bars.size.width = 900;
  for (const Setting& setting : settings) bars.groups.push_back(setting.name());
  for (std::size_t p = 0; p < kPolicies.size(); ++p) {
    plot::BarSeries series{.name = std::string(kPolicies[p])};
    for (const Setting& setting : settings)
      series.values.push_back(std::round(1000 * setting.mean_usd(p) / setting.mean_usd(0)) / 10);
    bars.series.push_back(std::move(series));
  }
  return plot::bar_plot(bars);
}

// Whether renting by plan saves as much as was published, where jobs come faster than machines can follow.
std::string verdict(const std::vector<Setting>& settings) {
  constexpr double kLoadedGapS = 1000, kPublishedLeast = 0.45, kPublishedMost = 0.8;
  double least = 1, most = -1;
  for (const Setting& setting : settings) {
    if (setting.gap_s > kLoadedGapS) continue;
    for (std::size_t p = 0; p + 1 < kPolicies.size(); ++p) {
      least = std::min(least, setting.saving(p));
      most = std::max(most, setting.saving(p));
    }
  }
  if (most < least) return "";
  return fmt::format("\npublished: {:.0f} to {:.0f} % less than such rules under load\n  {}: {:.1f} to {:.1f} %\n",
                     100 * kPublishedLeast, 100 * kPublishedMost, least >= kPublishedLeast ? "agrees" : "disagrees",
                     100 * least, 100 * most);
}

Fields<service::PlannerFields> planner_fields() {
  return service::planner_fields("10s");
}

Result<plan::PlannerOptions> planner_options(Context& context, const OptionValues& options) {
  ORRERY_TRY(const service::PlannerFields fields, planner_fields().read(options));
  return service::planner_options(context.env, fields);
}

Result<std::vector<KindTimes>> kind_times(Context& context, const LoopOptions& how, const OptionValues& options) {
  const plan::Market market = published_market(how.nodes.front(), how.in_house);
  if (!options.text("measured").empty()) return measured_times(market, context.env.files, options.text("measured"));
  ORRERY_TRY(const service::PredictorFields chosen, service::predictor_fields().read(options));
  ORRERY_TRY(const auto predictor, service::make_predictor(context.env, chosen, options.names()));
  return predicted_times(market, *predictor);
}

Status run_loop(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  LoopOptions how;
  how.nodes.clear();
  for (const std::int64_t nodes : options.integers("nodes")) how.nodes.push_back(static_cast<int>(nodes));
  how.gaps_s.clear();
  for (const std::int64_t gap : options.integers("gap")) how.gaps_s.push_back(static_cast<double>(gap));
  how.instances = static_cast<int>(options.integer("instances"));
  how.jobs_per_node = static_cast<int>(options.integer("jobs-per-node"));
  how.in_house = options.flag("in-house");
  how.switch_s = options.duration("switch").value();
  how.seed = static_cast<std::uint64_t>(options.integer("seed"));
  how.milp.horizon_s = options.duration("horizon").value();
  how.milp.tries = static_cast<int>(options.integer("tries"));
  ORRERY_TRY(how.milp.planner, planner_options(context, options));
  ORRERY_TRY(const std::vector<KindTimes> times, kind_times(context, how, options));
  const std::size_t runs =
      how.nodes.size() * how.gaps_s.size() * static_cast<std::size_t>(how.instances) * kPolicies.size();
  Progress progress("renting", static_cast<std::int64_t>(runs), progress_options(context.env, "runs"));
  ORRERY_TRY(const std::vector<LoopRow> rows, loop_experiment(how, times, context.env, [&] { progress.advance(1); }));
  progress.finish();
  const std::vector<Setting> settings = by_setting(rows);
  ORRERY_TRY_VOID(context.print_table(summary(settings), options));
  if (for_people(options)) context.print(verdict(settings));
  if (options.text("plot").empty()) return {};
  return context.write_file(options.text("plot"), loop_plot(settings), options);
}

Status run_prototype(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  PrototypeOptions how;
  how.jobs = static_cast<std::size_t>(options.integer("jobs"));
  how.seeds = static_cast<std::uint64_t>(options.integer("seeds"));
  how.slack = options.number("slack");
  if (options.text("errors") == "predicted") how.errors = PrototypeErrors::kPredicted;
  how.milp.horizon_s = options.duration("horizon").value();
  ORRERY_TRY(how.milp.planner, planner_options(context, options));
  ORRERY_TRY(const service::PredictorFields chosen, service::predictor_fields().read(options));
  ORRERY_TRY(const auto predictor, service::make_predictor(context.env, chosen, options.names()));
  Progress progress("renting", static_cast<std::int64_t>(how.seeds), progress_options(context.env, "seeds"));
  ORRERY_TRY(const auto rows, prototype_experiment(how, *predictor, context.env, [&] { progress.advance(1); }));
  progress.finish();
  Table table({{"seed", "seed", CellFormat::kInteger},
               {"predicted_usd", "predicted", CellFormat::kDollars},
               {"real_usd", "real", CellFormat::kDollars},
               {"predicted_rental_usd", "rental predicted", CellFormat::kDollars},
               {"real_rental_usd", "real", CellFormat::kDollars},
               {"predicted_tardiness_usd", "tardiness predicted", CellFormat::kDollars},
               {"real_tardiness_usd", "real", CellFormat::kDollars},
               {"difference", "difference", CellFormat::kPercent}});
  double predicted = 0, real = 0, size = 0;
  for (const PrototypeRow& row : rows) {
    table.add({static_cast<std::int64_t>(row.seed), row.predicted.total_usd(), row.real.total_usd(),
               row.predicted.rental_usd, row.real.rental_usd, row.predicted.tardiness_usd, row.real.tardiness_usd,
               row.difference()});
    predicted += row.predicted.total_usd();
    real += row.real.total_usd();
    size += std::fabs(row.difference());
  }
  ORRERY_TRY_VOID(context.print_table(table, options));
  if (for_people(options))
    context.print(
        fmt::format("\nall seeds together: predicted {}, real {}, {:+.2f} %; mean size of the difference {:.2f} %\n",
                    format_dollars(Dollars(predicted)), format_dollars(Dollars(real)), 100 * (real / predicted - 1),
                    100 * size / static_cast<double>(rows.size())));
  return {};
}

}  // namespace

Command plan_loop_command() {
  return {
      "plan loop",
      "",
      0,
      0,
      "rent by plan and by simple rules on synthetic jobs, and compare what it costs",
      join(join({integer_option("nodes", 2, "machines that may be open at once").bounds(1, 100).list(),
                 integer_option("gap", 30, "mean seconds between submissions").bounds(1, 1e6).list(),
                 integer_option("instances", 5, "instances of each setting").bounds(1, 1000),
                 integer_option("jobs-per-node", 10, "jobs of an instance").bounds(1, 1000),
                 flag_option("in-house", "also the in-house machines, each on at most a fifth of the nodes"),
                 duration_option("switch", "0s", "lost when a job is suspended, moved or resized").bounds(0, 1e6),
                 integer_option("seed", 1, "seed of the first instance").bounds(0, 1e15),
                 duration_option("horizon", "30m", "plan again after this long without an event").bounds(1, 1e7),
                 integer_option("tries", 1000, "changes tried in each search for a good order").bounds(0, 1'000'000),
                 text_option("measured", "", "times of jobs from tables of measured runs, not predicted").in("DIR"),
                 service::predictor_option(), text_option("plot", "", "write an SVG picture of the costs").in("FILE")},
                planner_fields().records()),
           table_options()),
      {"orrery-lab plan loop --nodes 2 --gap 30 --instances 1 --heuristic",
       "orrery-lab plan loop --nodes 2,5 --gap 30,45,6000 --plot loop.svg"},
      run_loop};
}

Command plan_prototype_command() {
  return {"plan prototype",
          "",
          0,
          0,
          "what jobs on rented machines cost if predictions are as wrong as they were on measured runs",
          join(join({integer_option("jobs", 12, "jobs, one every 300 s").bounds(1, 1000),
                     integer_option("seeds", 10, "draws of errors, due dates and weights").bounds(1, 1000),
                     number_option("slack", 10, "due dates are this times 1 to 3 shortest times away").bounds(0.1, 1e6),
                     choice_option("errors", "measured", {"measured", "predicted"},
                                   "as wrong as predictions were on measured runs, or as their own intervals say"),
                     duration_option("horizon", "30m", "plan again after this long without an event").bounds(1, 1e7),
                     service::predictor_option()},
                    planner_fields().records()),
               table_options()),
          {"orrery-lab plan prototype --jobs 6 --seeds 2 --heuristic"},
          run_prototype};
}

}  // namespace orrery::lab
