#include <fmt/format.h>

#include "base/text.h"
#include "cli/choices.h"
#include "cli/commands.h"
#include "cli/predictors.h"

namespace orrery::cli {

using plan::Choice;
using predict::Prediction;

namespace {

Table choice_table(const std::vector<Choice>& choices, const plan::Limits& limits, bool all) {
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
               {"network", "network", CellFormat::kText, false},
               {"in_domain", "in domain", CellFormat::kText, false},
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
    if (!all && !c.on_front()) continue;
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
               p.network.empty() ? Cell() : Cell(p.network),
               p.in_domain,
               p.calibrated,
               p.memory.value.value(),
               c.time.value.value(),
               c.time.low.value(),
               c.time.high.value(),
               c.cost.value.value(),
               c.cost.low.value(),
               c.cost.high.value(),
               c.on_front(),
               plan::reason(c, limits)});
  }
  return table;
}

Status run_compare(Context& context, const Arguments& arguments) {
  ORRERY_TRY(const RunRequest request, read_request(context.env, arguments.words[0], arguments.options));
  const OptionValues& options = request.options;
  ORRERY_TRY(plan::ChoiceSpace space, choice_space(request));
  space.spot = options.flag("spot");
  space.on_demand = !space.spot;
  space.rules = {.interruptions_per_h = 0, .save_every = plan::kSpotTimeMax, .save = {}, .restart = {}};
  ORRERY_TRY(const OfferList list, load_offers(context, options));
  ORRERY_TRY(const auto predictor, chosen_predictor(context.env, options));
  ORRERY_TRY(plan::Choices found, all_choices(request, list, space, *predictor));
  ORRERY_TRY(const plan::Limits limits, limits_of(options));
  ORRERY_TRY_VOID(found.judge(limits, true));
  const std::vector<Choice>& choices = found.all();
  const Table table = choice_table(choices, limits, options.flag("all"));
  ORRERY_TRY_VOID(context.print_table(table, options));
  if (for_people(options)) {
    const plan::LeftOut& left_out = found.left_out();
    if (table.rows() == 0) context.print("no offer fits these limits; --all shows why\n");
    context.print(
        fmt::format("\n{} of {} choices shown (--all shows the rest and why not){}; {} samples; 80 % intervals, "
                    "{}; list prices, which move; {}\n",
                    table.rows(), format_whole(static_cast<double>(choices.size())),
                    left_out.total() > 0 ? fmt::format(", left out: {}", left_out.text()) : "",
                    format_count(space.samples), calibration_of(choices), describe(list)));
  }
  if (options.text("plot").empty()) return {};
  return context.write_file(options.text("plot"), choice_plot(choices, request.model), options);
}

}  // namespace

Command compare_command() {
  return {"compare",
          "MODEL",
          1,
          1,
          "compare offers: those that no other beats in both time and cost, and why the others are not chosen",
          join(join(choice_options(false), {predictor_option(), fact_option(),
                                            flag_option("spot", "use spot prices; leave out offers without one")}),
               table_options()),
          {"orrery compare resnet50 --epochs 90 --dataset-size 1281167 --batch 64",
           "orrery compare gpt2 --steps 100000 --batch 8 --optimizer adamw --machines 1,2,4 --deadline 24",
           "orrery compare bert_base --spot --all --json", "orrery compare job.yaml --machines 1,2,4",
           "orrery compare resnet50 --epochs 90 --dataset-size 1281167 --catalog prices.csv --override ours.csv"},
          run_compare};
}

}  // namespace orrery::cli
