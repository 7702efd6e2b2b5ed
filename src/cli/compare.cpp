#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "base/plot/plots.h"
#include "base/text.h"
#include "cli/catalogs.h"
#include "cli/commands.h"
#include "cli/predictors.h"
#include "cli/runs.h"

namespace orrery::cli {

using hardware::Offer;
using predict::Prediction;

namespace {

// One way to buy the run. Points into the list of offers and the predictions of Candidates.
struct Choice {
  const Offer* offer = nullptr;
  int machines = 1;
  const Prediction* prediction = nullptr;
  DollarsPerHour price;
  std::string verdict;  // "best", or why not
  bool on_front = false;

  int devices() const { return machines * offer->device_count; }
  Dollars cost() const { return price * prediction->total_time.value; }
  std::string label() const {
    return fmt::format("{}{} {}", machines > 1 ? fmt::format("{} × ", machines) : "", offer->provider, offer->instance);
  }
  std::string place() const {
    return offer->region.empty() ? label() : fmt::format("{} in {}", label(), offer->region);
  }
};

// Offers that cannot be choices, by the reason.
struct LeftOut {
  std::size_t unknown_device = 0;
  std::size_t slice = 0;
  std::size_t odd_price = 0;
  std::size_t no_spot = 0;
  std::size_t device_count = 0;  // too many, or not a multiple of tensor × pipeline

  std::size_t total() const { return unknown_device + slice + odd_price + no_spot + device_count; }
  std::string text() const {
    const std::pair<std::size_t, std::string_view> reasons[] = {{unknown_device, "unknown device"},
                                                                {slice, "slice of a device"},
                                                                {odd_price, "odd price"},
                                                                {no_spot, "no spot price"},
                                                                {device_count, "wrong number of devices"}};
    std::vector<std::string> parts;
    for (const auto& [count, reason] : reasons) {
      if (count > 0) parts.push_back(fmt::format("{} {}", format_whole(static_cast<double>(count)), reason));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  }
};

// Every choice does the same work: the samples of --epochs, or --steps steps of one replica's batch; the steps of a job
// are of its global batch.
double samples_wanted(const RunRequest& request) {
  const OptionValues& options = request.options;
  const std::int64_t batch = request.job && request.job->batch ? *request.job->batch : options.integer("batch");
  if (options.has("epochs")) return options.number("epochs") * static_cast<double>(options.integer("dataset-size"));
  return static_cast<double>(options.integer("steps")) * static_cast<double>(batch);
}

// Turns offers into choices. Offers of the same device and number take the same time, so each such group is predicted
// once, and only its cheapest can be on the front.
class Candidates {
 public:
  Candidates(const RunRequest& request, const predict::Predictor& predictor)
      : request_(request), options_(request.options), predictor_(predictor) {}

  Status add(const Offer& offer, int machines) {
    if (!possible(offer, machines)) return {};
    const auto [found, is_new] = groups_.try_emplace({offer.device, offer.device_count, machines});
    Group& group = found->second;
    if (is_new) {
      ORRERY_TRY(group.prediction, predict(offer, machines));
    }
    const DollarsPerHour price = options_.flag("spot") ? offer.spot.value_or(offer.price) : offer.price;
    choices_.push_back({&offer, machines, &group.prediction, price * machines, {}});
    if (is_new || choices_.back().price < choices_[group.cheapest].price) group.cheapest = choices_.size() - 1;
    return {};
  }

  const LeftOut& left_out() const { return left_out_; }

  // Gives out the choices, those that a cheaper one of the same device and number beats marked. Call once.
  std::vector<Choice> take() {
    std::map<const Prediction*, std::size_t> cheapest;
    for (const auto& [key, group] : groups_) cheapest[&group.prediction] = group.cheapest;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      const std::size_t best = cheapest[choices_[i].prediction];
      if (best != i) choices_[i].verdict = "same device and number, no dearer at " + choices_[best].place();
    }
    return std::move(choices_);
  }

 private:
  struct Group {
    Prediction prediction;
    std::size_t cheapest = 0;  // of choices_
  };

  bool job_fits(int devices) const { return !request_.job || !workload::misfit(*request_.job, devices); }

  bool possible(const Offer& offer, int machines) {
    const std::int64_t plan = options_.integer("tensor") * options_.integer("pipeline");
    const std::int64_t devices = std::int64_t{machines} * offer.device_count;
    std::size_t* reason = nullptr;
    if (offer.device.empty()) {
      reason = &left_out_.unknown_device;
    } else if (offer.device_count == 0) {
      reason = &left_out_.slice;
    } else if (offer.odd_price) {
      reason = &left_out_.odd_price;
    } else if (options_.flag("spot") && !offer.spot) {
      reason = &left_out_.no_spot;
    } else if (devices % plan != 0 || devices > hardware::kDevicesMax || !job_fits(static_cast<int>(devices))) {
      reason = &left_out_.device_count;
    }
    if (reason != nullptr) ++*reason;
    return reason == nullptr;
  }

  std::int64_t batch_on(int devices) const {
    const auto batch = request_.job ? workload::replica_batch(*request_.job, devices) : std::nullopt;
    return batch.value_or(options_.integer("batch"));
  }

  Result<Prediction> predict(const Offer& offer, int machines) const {
    const int devices = machines * offer.device_count;
    ORRERY_TRY(const hardware::Placement placement,
               hardware::make_placement(offer.device, devices, offer.device_count,
                                        {.inside = {}, .between = options_.text("network")}));
    ORRERY_TRY(const workload::TrainingGraph graph, request_.graph.with_batch(batch_on(devices)));
    ORRERY_TRY(workload::TrainingRun run, make_run(graph, options_.text("precision"), placement, options_));
    run.steps = std::max(1.0, std::ceil(samples_wanted(request_) / static_cast<double>(run.global_batch())));
    return predictor_.predict(run, placement);
  }

  const RunRequest& request_;
  const OptionValues& options_;
  const predict::Predictor& predictor_;
  std::map<std::tuple<std::string, int, int>, Group> groups_;  // device, devices per machine, machines
  std::vector<Choice> choices_;
  LeftOut left_out_;
};

std::string rejection(const Choice& choice, const OptionValues& options) {
  if (!choice.prediction->fits) {
    return fmt::format("does not fit: needs {}, has {}", format_bytes(choice.prediction->memory.value),
                       format_bytes(choice.prediction->device_memory));
  }
  if (options.has("deadline") && choice.prediction->total_time.value > hours(options.number("deadline"))) {
    return "misses the deadline";
  }
  if (options.has("budget") && choice.cost() > Dollars(options.number("budget"))) return "above the budget";
  return {};
}

// Marks the choices that no other beats in both time and cost.
void mark_front(std::vector<Choice>& choices, const OptionValues& options) {
  std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    const auto key = [](const Choice& c) { return std::pair(c.prediction->total_time.value, c.cost()); };
    return key(a) < key(b);
  });
  const Choice* cheapest = nullptr;
  for (Choice& choice : choices) {
    if (std::string reason = rejection(choice, options); !reason.empty()) choice.verdict = std::move(reason);
    if (!choice.verdict.empty()) continue;
    if (cheapest != nullptr && cheapest->cost() <= choice.cost()) {
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
               {"region", "region"},
               {"machines", "machines", CellFormat::kInteger},
               {"device", "device"},
               {"devices", "devices", CellFormat::kInteger},
               {"price_usd_per_h", "per hour", CellFormat::kDollars},
               {"price_date", "price of"},
               {"iteration_s", "iteration", CellFormat::kSeconds},
               {"samples_per_s", "samples/s", CellFormat::kNumber},
               {"calibrated", "calibrated", CellFormat::kText, false},
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
    const Prediction& p = *c.prediction;
    table.add({c.offer->provider,
               c.offer->instance,
               c.offer->region.empty() ? Cell() : Cell(c.offer->region),
               std::int64_t{c.machines},
               c.offer->device,
               std::int64_t{c.devices()},
               c.price.value(),
               c.offer->date.empty() ? Cell() : Cell(c.offer->date),
               p.iteration.value.value(),
               p.samples_per_second,
               p.calibrated,
               p.memory.value.value(),
               p.total_time.value.value(),
               p.total_time.low.value(),
               p.total_time.high.value(),
               c.cost().value(),
               (c.price * p.total_time.low).value(),
               (c.price * p.total_time.high).value(),
               c.on_front,
               c.verdict});
  }
  return table;
}

std::string calibration_of(const std::vector<Choice>& choices) {
  const auto calibrated =
      std::count_if(choices.begin(), choices.end(), [](const Choice& choice) { return choice.prediction->calibrated; });
  return calibration_text(static_cast<std::size_t>(calibrated), choices.size());
}

std::string plot(const std::vector<Choice>& choices, const std::string& model) {
  plot::ScatterPlot scatter;
  scatter.heading = {.title = fmt::format("{}: time and cost of {} offers", model, choices.size()),
                     .subtitle = fmt::format("Predictions, {}; list prices", calibration_of(choices))};
  scatter.x = {.title = "Total time", .unit = "h", .log = true};
  scatter.y = {.title = "Cost", .unit = "USD", .log = true};
  scatter.pareto = plot::Preference{};
  plot::ScatterSeries series{.name = "offers", .points = {}};
  for (const Choice& c : choices) {
    if (!c.prediction->fits) continue;
    series.points.push_back({.x = c.prediction->total_time.value.value() / 3600,
                             .y = c.cost().value(),
                             .label = c.on_front ? c.label() : std::string()});
  }
  scatter.series.push_back(std::move(series));
  return plot::scatter_plot(scatter);
}

Status run_compare(Context& context, const Arguments& arguments) {
  ORRERY_TRY(const RunRequest request, read_request(context.env, arguments.words[0], arguments.options));
  const OptionValues& options = request.options;
  if (options.has("epochs") && !options.has("dataset-size")) return Error::invalid("--epochs needs --dataset-size");
  ORRERY_TRY(const OfferList list, load_offers(context, options));
  ORRERY_TRY(const auto predictor, chosen_predictor(context.env, options));
  Candidates candidates(request, *predictor);
  for (const Offer& offer : list.offers) {
    for (const std::int64_t machines : options.integers("machines")) {
      ORRERY_TRY_VOID(candidates.add(offer, static_cast<int>(machines)));
    }
  }
  std::vector<Choice> choices = candidates.take();
  const LeftOut& left_out = candidates.left_out();
  if (choices.empty()) {
    return Error::infeasible(
        list.offers.empty() ? "the price list is empty"
                            : fmt::format("none of {} offers can be used: {}; the number of devices must be a multiple "
                                          "of --tensor × --pipeline",
                                          list.offers.size(), left_out.text()));
  }
  mark_front(choices, options);
  const Table table = choice_table(choices, options.flag("all"));
  ORRERY_TRY_VOID(context.print_table(table, options));
  if (for_people(options)) {
    if (table.rows() == 0) context.print("no offer fits these limits; --all shows why\n");
    context.print(
        fmt::format("\n{} of {} choices shown (--all shows the rest and why not){}; {} samples; 80 % intervals, "
                    "{}; list prices, which move; {}\n",
                    table.rows(), format_whole(static_cast<double>(choices.size())),
                    left_out.total() > 0 ? fmt::format(", left out: {}", left_out.text()) : "",
                    format_count(samples_wanted(request)), calibration_of(choices), describe(list)));
  }
  if (options.text("plot").empty()) return {};
  return context.write_file(options.text("plot"), plot(choices, request.model), options);
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
          join(join(join(std::move(training), catalog_options()),
                    {integer_option("machines", 1, "machines of one offer to rent").bounds(1, 4096).list(),
                     text_option("network", "", "link between machines").in("LINK"), predictor_option(),
                     optional_number("deadline", "finish within").in("HOURS").bounds(0, 1e9),
                     optional_number("budget", "spend at most").in("USD").bounds(0, 1e12),
                     flag_option("spot", "use spot prices; offers without one are left out"),
                     flag_option("all", "show every offer with the reason it was not chosen"),
                     text_option("plot", "", "write an SVG picture of time against cost").in("FILE")}),
               table_options()),
          {"orrery compare resnet50 --epochs 90 --dataset-size 1281167 --batch 64",
           "orrery compare gpt2 --steps 100000 --batch 8 --optimizer adamw --machines 1,2,4 --deadline 24",
           "orrery compare bert_base --spot --all --json", "orrery compare job.yaml --machines 1,2,4",
           "orrery compare resnet50 --epochs 90 --dataset-size 1281167 --catalog prices.csv --override ours.csv"},
          run_compare};
}

}  // namespace orrery::cli
