#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "cli/choices.h"
#include "cli/commands.h"
#include "cli/predictors.h"

namespace orrery::cli {

using plan::Choice;
using plan::Choices;
using plan::Limits;
using plan::Verdict;

namespace {

std::string one_line(const Choice& choice) {
  std::string text =
      fmt::format("{}, batch {}: {} ({} to {}), {} ({} to {})", choice.place(), choice.batch,
                  format_seconds(choice.time.value), format_seconds(choice.time.low), format_seconds(choice.time.high),
                  format_dollars(choice.cost.value), format_dollars(choice.cost.low), format_dollars(choice.cost.high));
  if (choice.is_spot)
    text +=
        fmt::format(", {} interruptions, {} lost", format_number(choice.interruptions, 3), format_seconds(choice.lost));
  return text;
}

Table empty_table(bool with_spot) {
  return Table({{"chosen", "chosen"},
                {"provider", "provider"},
                {"instance", "instance"},
                {"region", "region"},
                {"rented", "rented", CellFormat::kText, with_spot},
                {"machines", "machines", CellFormat::kInteger},
                {"device", "device"},
                {"devices", "devices", CellFormat::kInteger},
                {"batch", "batch", CellFormat::kInteger},
                {"price_usd_per_h", "per hour", CellFormat::kDollars},
                {"price_date", "price of", CellFormat::kText, false},
                {"predictor", "predictor"},
                {"network", "network", CellFormat::kText, false},
                {"learned_share", "learned", CellFormat::kPercent, false},
                {"in_domain", "in domain", CellFormat::kText, false},
                {"calibrated", "calibrated", CellFormat::kText, false},
                {"memory_bytes", "memory", CellFormat::kBytes},
                {"time_s", "time", CellFormat::kSeconds},
                {"time_low_s", "time low", CellFormat::kSeconds},
                {"time_high_s", "time high", CellFormat::kSeconds},
                {"interruptions", "interruptions", CellFormat::kNumber, with_spot},
                {"lost_s", "lost", CellFormat::kSeconds, with_spot},
                {"cost_usd", "cost", CellFormat::kDollars},
                {"cost_low_usd", "cost low", CellFormat::kDollars},
                {"cost_high_usd", "cost high", CellFormat::kDollars},
                {"pareto", "pareto", CellFormat::kText, false},
                {"why", "why"}});
}

void add_row(Table& table, const Choice& c, const Limits& limits) {
  const bool chosen = c.verdict == Verdict::kChosen;
  table.add({chosen ? Cell("CHOSEN") : Cell(),
             c.offer->provider,
             c.offer->instance,
             c.offer->region.empty() ? Cell() : Cell(c.offer->region),
             c.is_spot ? "spot" : "on demand",
             std::int64_t{c.machines},
             c.offer->device,
             std::int64_t{c.devices()},
             c.batch,
             c.price.value(),
             c.offer->date.empty() ? Cell() : Cell(c.offer->date),
             c.prediction->predictor,
             c.prediction->network.empty() ? Cell() : Cell(c.prediction->network),
             c.prediction->learned_share,
             c.prediction->in_domain,
             c.prediction->calibrated,
             c.prediction->memory.value.value(),
             c.time.value.value(),
             c.time.low.value(),
             c.time.high.value(),
             c.is_spot ? Cell(c.interruptions) : Cell(),
             c.is_spot ? Cell(c.lost.value()) : Cell(),
             c.cost.value.value(),
             c.cost.low.value(),
             c.cost.high.value(),
             c.on_front(),
             plan::reason(c, limits)});
}

// How many configurations went out for which reason.
std::string rejected(const std::vector<Choice>& choices) {
  std::array<std::size_t, plan::kVerdicts> counts{};
  for (const Choice& choice : choices) ++counts[static_cast<std::size_t>(choice.verdict)];
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto verdict = static_cast<Verdict>(i);
    if (counts[i] == 0 || verdict == Verdict::kChosen || verdict == Verdict::kOnFront) continue;
    parts.push_back(fmt::format("{} {}", format_whole(static_cast<double>(counts[i])), plan::to_string(verdict)));
  }
  return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, ", "));
}

Result<Limits> certain_limits(const OptionValues& options) {
  ORRERY_TRY(Limits limits, limits_of(options));
  limits.certainty = options.number("certainty");
  return limits;
}

plan::Goal goal_of(const OptionValues& options) {
  if (options.text("goal") == "time") return plan::Goal::kTime;
  if (options.text("goal") == "cost") return plan::Goal::kCost;
  return options.has("budget") && options.text("deadline").empty() ? plan::Goal::kTime : plan::Goal::kCost;
}

Result<plan::ChoiceSpace> space_of(const RunRequest& request) {
  ORRERY_TRY(plan::ChoiceSpace space, choice_space(request));
  const OptionValues& options = request.options;
  space.spot = options.flag("spot");
  space.rules = {.interruptions_per_h = options.number("interruptions"),
                 .save_every = options.duration("save-every"),
                 .save = options.duration("save"),
                 .restart = options.duration("restart")};
  return space;
}

struct Answer {
  std::unique_ptr<predict::Predictor> predictor;
  Choices choices;
  const Choice* chosen = nullptr;
};

Result<Answer> answer_with(Context& context, const RunRequest& request, const OfferList& list,
                           const plan::ChoiceSpace& space, const std::string& name) {
  ORRERY_TRY(auto predictor, named_predictor(context.env, name));
  ORRERY_TRY(Choices choices, all_choices(request, list, space, *predictor));
  ORRERY_TRY(const Limits limits, certain_limits(request.options));
  const bool all = request.options.flag("all");
  ORRERY_TRY_VOID(choices.judge(limits, all));
  const Choice* chosen = plan::choose(choices.all(), goal_of(request.options));
  // What comes nearest is found among all configurations.
  if (chosen == nullptr && !all) ORRERY_TRY_VOID(choices.judge(limits, true));
  return Answer{std::move(predictor), std::move(choices), chosen};
}

Error nothing_fits(const Answer& answer, const Limits& limits) {
  std::vector<std::string> lines;
  for (const Choice* choice : plan::nearest(answer.choices.all(), limits))
    lines.push_back(fmt::format("\n  {}: {}", one_line(*choice), plan::reason(*choice, limits)));
  return Error::infeasible(fmt::format("none of {} ways to rent machines will do: {}; nearest:{}",
                                       format_whole(static_cast<double>(answer.choices.all().size())),
                                       rejected(answer.choices.all()), fmt::join(lines, "")));
}

Status print_answer(Context& context, const RunRequest& request, const Answer& answer, const OfferList& list) {
  const OptionValues& options = request.options;
  ORRERY_TRY(const Limits limits, certain_limits(options));
  const std::vector<Choice>& choices = answer.choices.all();
  const bool people = for_people(options);
  if (people && answer.chosen != nullptr) context.print(fmt::format("CHOSEN {}\n\n", one_line(*answer.chosen)));
  Table table = empty_table(options.flag("spot"));
  for (const Choice& choice : choices)
    if (options.flag("all") || choice.on_front()) add_row(table, choice, limits);
  if (table.rows() > 0 || !people) ORRERY_TRY_VOID(context.print_table(table, options));
  if (!people) return {};
  ORRERY_TRY(const double samples, samples_wanted(request));
  const std::string left_out = answer.choices.left_out().text();
  context.print(
      fmt::format("\n{} of {} ways shown; rejected: {}{} (--all shows each); {} samples; 80 % intervals, {}; {}\n",
                  table.rows(), format_whole(static_cast<double>(choices.size())), rejected(choices),
                  left_out.empty() ? "" : fmt::format("; offers left out: {}", left_out), format_count(samples),
                  calibration_of(choices), describe(list)));
  return {};
}

// What others would have chosen: a second opinion costs nothing but its line.
Status print_others(Context& context, const RunRequest& request, const OfferList& list,
                    const plan::ChoiceSpace& space) {
  const std::vector<std::string> names = request.options.text("predictor");
  for (std::size_t i = 1; i < names.size(); ++i) {
    ORRERY_TRY(const Answer other, answer_with(context, request, list, space, names[i]));
    context.print(fmt::format("{} would choose {}\n", names[i],
                              other.chosen != nullptr ? one_line(*other.chosen) : "nothing: no way meets the limits"));
  }
  return {};
}

Status run_choose(Context& context, const Arguments& arguments) {
  ORRERY_TRY(const RunRequest request, read_request(context.env, arguments.words[0], arguments.options));
  const OptionValues& options = request.options;
  ORRERY_TRY(const plan::ChoiceSpace space, space_of(request));
  ORRERY_TRY(const OfferList list, load_offers(context, options));
  ORRERY_TRY(const Answer answer, answer_with(context, request, list, space, options.text("predictor").front()));
  ORRERY_TRY_VOID(print_answer(context, request, answer, list));
  if (for_people(options)) ORRERY_TRY_VOID(print_others(context, request, list, space));
  if (!options.text("plot").empty()) {
    const std::string svg = choice_plot(answer.choices.all(), request.model);
    ORRERY_TRY_VOID(context.write_file(options.text("plot"), svg, options));
  }
  if (answer.chosen != nullptr) return {};
  ORRERY_TRY(const Limits limits, certain_limits(options));
  return nothing_fits(answer, limits);
}

}  // namespace

Command choose_command() {
  std::vector<OptionRecord> common = choice_options(true);
  for (OptionRecord& record : common) {
    if (record.name == "batch") record.default_value = "16,32,64,128";
    if (record.name == "machines") record.default_value = "1,2,4";
    if (record.name == "steps") record.help = "steps of the first batch on one device; every way does as many samples";
  }
  OptionRecord with = predictor_option();
  with.help = "who predicts: " + with.help + "; the first decides, of others it is said what they would choose";
  return {
      "choose",
      "MODEL",
      1,
      1,
      "which machines to rent for one job: offers × numbers × batches, and why not the others",
      join(
          join(
              std::move(common),
              {std::move(with).list(),
               choice_option("goal", "auto", {"auto", "cost", "time"},
                             "what to make least within the limits; auto: cost, or time if only --budget is given"),
               number_option("certainty", 0.9, "with which --deadline and --budget are to be kept").bounds(0.01, 0.999),
               flag_option("spot", "also rent machines that can be taken away"),
               number_option("interruptions", 0.05, "of one spot machine, per hour").bounds(0, 1000),
               duration_option("save-every", "30m", "work between saves on spot machines").bounds(1, 1e7),
               duration_option("save", "30s", "what a save takes").bounds(0, 1e6),
               duration_option("restart", "5m", "from an interruption to work again").bounds(0, 1e6)}),
          table_options()),
      {"orrery choose resnet50 --epochs 90 --dataset-size 1281167 --deadline 24h",
       "orrery choose gpt2 --steps 100000 --batch 4,8 --optimizer adamw --budget 500 --plot front.svg",
       "orrery choose bert_base --steps 20000 --spot --interruptions 0.2 --predictor auto,analytic",
       "orrery choose job.yaml --catalog prices.csv --all --json"},
      run_choose};
}

}  // namespace orrery::cli
