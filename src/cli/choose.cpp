#include "service/choose.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"

namespace orrery::cli {

using service::ChooseAnswer;

namespace {

Status print_answer(Context& context, const ChooseAnswer& answer, const OptionValues& options) {
  const bool people = for_people(options);
  if (people && answer.chosen != nullptr) {
    context.print(fmt::format("CHOSEN {}\n\n", service::choice_line(*answer.chosen)));
  }
  const Table table = service::choice_table(answer, options.flag("all"));
  if (table.rows() > 0 || !people) ORRERY_TRY_VOID(context.print_table(table, options));
  if (!people) return {};
  const std::string left_out = answer.choices->left_out().text();
  context.print(fmt::format(
      "\n{} of {} configurations shown; rejected: {}{} (--all shows each); {} samples; 80 % intervals, {}; {}\n",
      table.rows(), format_whole(static_cast<double>(answer.choices->all().size())), service::rejected_text(answer),
      left_out.empty() ? "" : fmt::format("; offers left out: {}", left_out), format_count(*answer.spec.samples),
      service::calibration_text(answer), service::describe(*answer.offers)));
  return {};
}

Status run_choose(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const service::ChooseRequest request, service::choose_fields().read(options));
  ORRERY_TRY(const service::ChooseAnswers answers, service::choose(context.env, request));
  const ChooseAnswer& answer = *answers.front();
  ORRERY_TRY_VOID(print_answer(context, answer, options));
  for (std::size_t i = 1; for_people(options) && i < answers.size(); ++i) {
    const plan::Choice* other = answers[i]->chosen;
    context.print(
        fmt::format("{} would choose {}\n", answers[i]->predictor,
                    other != nullptr ? service::choice_line(*other) : "nothing: no configuration meets the limits"));
  }
  if (!options.text("plot").empty()) {
    ORRERY_TRY_VOID(context.write_file(options.text("plot"), service::choice_plot(answer), options));
  }
  if (answer.chosen == nullptr) return service::nothing_fits(answer);
  return {};
}

}  // namespace

Command choose_command() {
  return {"choose",
          "which machines to rent for one job: offers × numbers × batches, and why not the others",
          join(join(service::choose_fields().records(),
                    {text_option("plot", "", "draw time against cost as SVG").in("FILE")}),
               table_options()),
          {"orrery choose resnet50 --epochs 90 --dataset-size 1281167 --deadline 24h",
           "orrery choose gpt2 --steps 100000 --batch-per-gpu 4,8 --optimizer adamw --budget 500 --plot front.svg",
           "orrery choose bert_base --steps 20000 --spot --interruptions 0.2 --predictor auto,analytic",
           "orrery choose llama_7b --batch 256 --nodes 2,4,8 --device H100 --precision bf16 --zero 3 --optimizer adamw",
           "orrery choose job.yaml --catalog prices.csv --all --json"},
          run_choose};
}

}  // namespace orrery::cli
