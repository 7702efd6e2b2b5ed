#include "cli/choices.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/plot/plots.h"
#include "base/text.h"
#include "cli/predictors.h"

namespace orrery::cli {

using plan::Choice;

std::vector<OptionRecord> choice_options(bool several_batches) {
  std::vector<OptionRecord> training = training_options();
  for (OptionRecord& record : training) {
    if (record.name == "steps") record.help = "steps of one device's batch; every offer does as many samples";
    if (record.name == "precision") record.is_list = false;
    if (record.name == "batch") record.is_list = several_batches;
  }
  return join(join(std::move(training), catalog_options()),
              {integer_option("machines", 1, "machines of one offer to rent").bounds(1, 4096).list(),
               text_option("network", "", "link between machines").in("LINK"),
               text_option("device", "", "rent these only").in("NAME").list(),
               text_option("deadline", "", "finish within: hours, or a time such as 90m, 24h or 2d").in("TIME"),
               optional_number("budget", "spend at most").in("USD").bounds(0, 1e12),
               flag_option("all", "show every offer with the reason it was not chosen"),
               text_option("plot", "", "write an SVG picture of time against cost").in("FILE")});
}

Result<double> samples_wanted(const RunRequest& request) {
  const OptionValues& options = request.options;
  if (options.has("epochs")) {
    if (!options.has("dataset-size")) return Error::invalid("--epochs needs --dataset-size");
    return options.number("epochs") * static_cast<double>(options.integer("dataset-size"));
  }
  const bool own_batch = request.job && request.job->batch;
  const std::int64_t batch = own_batch ? *request.job->batch : options.integers("batch").front();
  return static_cast<double>(options.integer("steps")) * static_cast<double>(batch);
}

Result<plan::ChoiceSpace> choice_space(const RunRequest& request) {
  const OptionValues& options = request.options;
  plan::ChoiceSpace space;
  space.machines.clear();
  for (const std::int64_t machines : options.integers("machines")) space.machines.push_back(static_cast<int>(machines));
  space.batches = options.integers("batch");
  for (const std::string& name : options.texts("device")) {
    if (name.empty()) continue;
    ORRERY_TRY(const hardware::Device* device, hardware::find_device(name));
    space.devices.emplace_back(device->name);
  }
  space.network = options.text("network");
  space.replica_devices = options.integer("tensor") * options.integer("pipeline");
  ORRERY_TRY(space.samples, samples_wanted(request));
  return space;
}

Result<plan::Limits> limits_of(const OptionValues& options) {
  plan::Limits limits;
  if (const std::string& text = options.text("deadline"); !text.empty()) {
    const auto number = parse_number(text);
    limits.deadline = number ? hours(*number) : parse_duration(text);
    if (!limits.deadline || !(*limits.deadline > Seconds(0)) || !std::isfinite(limits.deadline->value())) {
      return Error::invalid(
          fmt::format("--deadline: expected hours above 0, or a time such as 90m, 24h or 2d, got {}", quote(text)));
    }
  }
  if (options.has("budget")) limits.budget = Dollars(options.number("budget"));
  return limits;
}

Result<plan::Choices> all_choices(const RunRequest& request, const OfferList& list, const plan::ChoiceSpace& space,
                                  const predict::Predictor& predictor) {
  plan::Choices choices(request.graph, request.job ? &*request.job : nullptr, space, predictor,
                        [&request](workload::TrainingGraph graph, const hardware::Placement& placement) {
                          return make_run(std::move(graph), request.options.text("precision"), placement,
                                          request.options);
                        });
  choices.add(list.offers);
  if (choices.configurations() > 0) return choices;
  return Error::infeasible(
      list.offers.empty() ? "the price list is empty"
                          : fmt::format("none of {} offers can be used: {}; the number of devices must be a multiple "
                                        "of --tensor × --pipeline",
                                        list.offers.size(), choices.left_out().text()));
}

std::string calibration_of(const std::vector<Choice>& choices) {
  const auto calibrated =
      std::count_if(choices.begin(), choices.end(), [](const Choice& choice) { return choice.prediction->calibrated; });
  return calibration_text(static_cast<std::size_t>(calibrated), choices.size());
}

std::string choice_plot(const std::vector<Choice>& choices, const std::string& model) {
  plot::ScatterPlot scatter;
  scatter.heading = {.title = fmt::format("{}: time and cost of {} offers", model, choices.size()),
                     .subtitle = fmt::format("Predictions, {}; list prices", calibration_of(choices))};
  scatter.x = {.title = "Total time", .unit = "h", .log = true};
  scatter.y = {.title = "Cost", .unit = "USD", .log = true};
  scatter.pareto = plot::Preference{};
  plot::ScatterSeries series{.name = "offers", .points = {}}, chosen{.name = "chosen", .points = {}};
  for (const Choice& choice : choices) {
    if (!choice.prediction->fits || choice.is_bound) continue;
    plot::ScatterSeries& into = choice.verdict == plan::Verdict::kChosen ? chosen : series;
    into.points.push_back({.x = choice.time.value.value() / 3600,
                           .y = choice.cost.value.value(),
                           .label = choice.on_front() ? choice.label() : std::string()});
  }
  scatter.series.push_back(std::move(series));
  if (!chosen.points.empty()) scatter.series.push_back(std::move(chosen));
  return plot::scatter_plot(scatter);
}

}  // namespace orrery::cli
