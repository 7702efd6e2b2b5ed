#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/plot/plots.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/runs.h"
#include "hardware/offer.h"
#include "predict/analytic/analytic.h"

namespace orrery::cli {

using hardware::Offer;
using predict::Prediction;

namespace {

// One way to buy the run.
struct Choice {
  Offer offer;
  int machines = 1;
  Prediction prediction;
  DollarsPerHour price;
  Dollars cost;
  Dollars cost_low, cost_high;
  std::string verdict;  // "best", or why not
  bool on_front = false;

  int devices() const { return machines * offer.device_count; }
  std::string label() const {
    return fmt::format("{}{} {}", machines > 1 ? fmt::format("{} × ", machines) : "", offer.provider, offer.instance);
  }
};

// Every choice does the same work: the samples of --epochs, or --steps steps of one replica's batch.
double samples_wanted(const OptionValues& options, std::int64_t batch) {
  if (options.has("epochs")) return options.number("epochs") * static_cast<double>(options.integer("dataset-size"));
  return static_cast<double>(options.integer("steps")) * static_cast<double>(batch);
}

Result<Choice> evaluate(const Offer& offer, int machines, const workload::TrainingGraph& graph,
                        const OptionValues& options, const predict::Predictor& predictor) {
  Choice choice;
  choice.offer = offer;
  choice.machines = machines;
  ORRERY_TRY(const hardware::Placement placement,
             hardware::make_placement(offer.device, choice.devices(), offer.device_count,
                                      {.inside = {}, .between = options.text("network")}));
  ORRERY_TRY(workload::TrainingRun run, make_run(graph, options.text("precision"), placement, options));
  run.steps =
      std::max(1.0, std::ceil(samples_wanted(options, graph.batch()) / static_cast<double>(run.global_batch())));
  ORRERY_TRY(choice.prediction, predictor.predict(run, placement));
  const bool spot = options.flag("spot");
  choice.price = (spot ? offer.spot.value_or(offer.price) : offer.price) * machines;
  choice.cost = choice.price * choice.prediction.total_time.value;
  choice.cost_low = choice.price * choice.prediction.total_time.low;
  choice.cost_high = choice.price * choice.prediction.total_time.high;
  return choice;
}

std::string rejection(const Choice& choice, const OptionValues& options) {
  if (!choice.prediction.fits) {
    return fmt::format("does not fit: needs {}, has {}", format_bytes(choice.prediction.memory.value),
                       format_bytes(choice.prediction.device_memory));
  }
  if (options.has("deadline") && choice.prediction.total_time.value > hours(options.number("deadline"))) {
    return "misses the deadline";
  }
  if (options.has("budget") && choice.cost > Dollars(options.number("budget"))) return "above the budget";
  return {};
}

// Marks the choices that no other beats in both time and cost.
void mark_front(std::vector<Choice>& choices, const OptionValues& options) {
  std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    const auto key = [](const Choice& c) { return std::pair(c.prediction.total_time.value, c.cost); };
    return key(a) < key(b);
  });
  const Choice* cheapest = nullptr;
  for (Choice& choice : choices) {
    choice.verdict = rejection(choice, options);
    if (!choice.verdict.empty()) continue;
    if (cheapest != nullptr && cheapest->cost <= choice.cost) {
      choice.verdict = fmt::format("{} is faster and no dearer", cheapest->label());
      continue;
    }
    choice.on_front = true;
    choice.verdict = "best at this price";
    cheapest = &choice;
  }
}

Table choice_table(const std::vector<Choice>& choices, bool all) {
  Table table({{"provider", "provider"},
               {"instance", "instance"},
               {"machines", "machines", CellFormat::kInteger},
               {"device", "device"},
               {"devices", "devices", CellFormat::kInteger},
               {"price_usd_per_h", "per hour", CellFormat::kDollars},
               {"price_date", "price of"},
               {"iteration_s", "iteration", CellFormat::kSeconds},
               {"samples_per_s", "samples/s", CellFormat::kNumber},
               {"memory_bytes", "memory", CellFormat::kBytes},
               {"total_s", "total time", CellFormat::kSeconds},
               {"total_low_s", "time low", CellFormat::kSeconds, false},
               {"total_high_s", "time high", CellFormat::kSeconds, false},
               {"cost_usd", "cost", CellFormat::kDollars},
               {"cost_low_usd", "low", CellFormat::kDollars},
               {"cost_high_usd", "high", CellFormat::kDollars},
               {"pareto", "pareto", CellFormat::kText, false},
               {"verdict", "verdict"}});
  for (const Choice& c : choices) {
    if (!all && !c.on_front) continue;
    table.add({std::string(c.offer.provider), std::string(c.offer.instance), std::int64_t{c.machines},
               std::string(c.offer.device), std::int64_t{c.devices()}, c.price.value(), std::string(c.offer.date),
               c.prediction.iteration.value.value(), c.prediction.samples_per_second, c.prediction.memory.value.value(),
               c.prediction.total_time.value.value(), c.prediction.total_time.low.value(),
               c.prediction.total_time.high.value(), c.cost.value(), c.cost_low.value(), c.cost_high.value(),
               c.on_front, c.verdict});
  }
  return table;
}

std::string plot(const std::vector<Choice>& choices, const std::string& model) {
  plot::ScatterPlot scatter;
  scatter.heading = {.title = fmt::format("{}: time and cost of {} offers", model, choices.size()),
                     .subtitle = "Analytic prediction, uncalibrated; list prices"};
  scatter.x = {.title = "Total time", .unit = "h", .log = true};
  scatter.y = {.title = "Cost", .unit = "USD", .log = true};
  scatter.pareto = plot::Preference{};
  plot::ScatterSeries series{.name = "offers", .points = {}};
  for (const Choice& c : choices) {
    if (!c.prediction.fits) continue;
    series.points.push_back({.x = c.prediction.total_time.value.value() / 3600,
                             .y = c.cost.value(),
                             .label = c.on_front ? c.label() : std::string()});
  }
  scatter.series.push_back(std::move(series));
  return plot::scatter_plot(scatter);
}

Status run_compare(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  if (options.has("epochs") && !options.has("dataset-size")) return Error::invalid("--epochs needs --dataset-size");
  const std::string& model = arguments.words[0];
  ORRERY_TRY(const workload::TrainingGraph single, load_model(context.env.files, model));
  ORRERY_TRY(const workload::TrainingGraph graph, single.with_batch(options.integer("batch")));
  const predict::AnalyticPredictor predictor;
  std::vector<Choice> choices;
  std::size_t skipped = 0;
  for (const Offer& offer : hardware::built_in_offers()) {
    for (const std::int64_t machines : options.integers("machines")) {
      const std::int64_t plan = options.integer("tensor") * options.integer("pipeline");
      if ((options.flag("spot") && !offer.spot) || machines * offer.device_count % plan != 0) {
        ++skipped;
        continue;
      }
      ORRERY_TRY(Choice choice, evaluate(offer, static_cast<int>(machines), graph, options, predictor));
      choices.push_back(std::move(choice));
    }
  }
  if (choices.empty()) {
    return Error::infeasible(
        fmt::format("none of {} offers has a spot price and a number of devices that is a multiple "
                    "of --tensor × --pipeline",
                    skipped));
  }
  mark_front(choices, options);
  const Table table = choice_table(choices, options.flag("all"));
  ORRERY_TRY_VOID(context.print_table(table, options));
  if (for_people(options)) {
    if (table.rows() == 0) context.print("no offer fits these limits; --all shows why\n");
    context.print(
        fmt::format("\n{} of {} choices shown (--all shows the rest and why not){}; {} samples; analytic, "
                    "uncalibrated, 80 % intervals; list prices, which move\n",
                    table.rows(), choices.size(), skipped > 0 ? fmt::format(", {} left out", skipped) : "",
                    format_count(samples_wanted(options, graph.batch()))));
  }
  if (options.text("plot").empty()) return {};
  return context.write_file(options.text("plot"), plot(choices, model), options);
}

}  // namespace

Command compare_command() {
  std::vector<OptionRecord> training = training_options();
  for (OptionRecord& record : training) {
    if (record.name == "steps") record.help = "steps of one device's batch; every offer does as many samples";
    if (record.name == "batch" || record.name == "precision") record.is_list = false;
  }
  return {"compare",
          "MODEL",
          1,
          1,
          "which offer to rent: the best in time and cost, and why not the others",
          join(join(std::move(training),
                    {integer_option("machines", 1, "machines of one offer to rent").bounds(1, 4096).list(),
                     text_option("network", "", "link between machines").in("LINK"),
                     optional_number("deadline", "finish within").in("HOURS").bounds(0, 1e9),
                     optional_number("budget", "spend at most").in("USD").bounds(0, 1e12),
                     flag_option("spot", "use spot prices; offers without one are left out"),
                     flag_option("all", "show every offer with the reason it was not chosen"),
                     text_option("plot", "", "write an SVG picture of time against cost").in("FILE")}),
               table_options()),
          {"orrery compare resnet50 --epochs 90 --dataset-size 1281167 --batch 64",
           "orrery compare gpt2 --steps 100000 --batch 8 --optimizer adamw --machines 1,2,4 --deadline 24",
           "orrery compare bert_base --spot --all --json"},
          run_compare};
}

}  // namespace orrery::cli
