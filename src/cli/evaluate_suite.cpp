#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/data_folder.h"
#include "env/clock.h"
#include "env/files.h"
#include "predict/evaluate/suites.h"

namespace orrery::cli {

namespace {

Status run_evaluate(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const predict::Suite suite, predict::find_suite(arguments.words[0]));
  const predict::SuiteInput input{.files = context.env.files,
                                  .now_s = [&] { return context.env.clock.monotonic().value(); },
                                  .data = data_folder(context),
                                  .train = options.text("train"),
                                  .test = options.text("test"),
                                  .seed = static_cast<std::uint64_t>(options.integer("seed")),
                                  .threads = static_cast<int>(options.integer("threads"))};
  ORRERY_TRY(const predict::SuiteReport report, suite.run(input));
  if (options.has("out")) ORRERY_TRY_VOID(context.env.files.write_atomically(options.text("out"), to_svg(report)));
  if (options.flag("json")) {
    context.print(to_json(report));
    return {};
  }
  if (options.flag("markdown")) {
    context.print(to_markdown(report));
    return {};
  }
  ORRERY_TRY_VOID(context.print_table(to_table(report), options));
  if (!for_people(options)) return {};
  context.print(fmt::format("\nsuite {}, seed {}\n", report.suite, report.seed));
  for (const std::string& note : report.notes) context.print(note + "\n");
  if (options.has("out")) context.print(fmt::format("wrote {}\n", options.text("out")));
  return {};
}

// "memory, operators, layers".
std::string suite_names() {
  std::string names = "memory";
  for (const predict::Suite& suite : predict::all_suites()) names += ", " + suite.name;
  return names;
}

}  // namespace

Command evaluate_command() {
  std::vector<std::string> examples = {"orrery evaluate memory"};
  for (const predict::Suite& suite : predict::all_suites()) {
    examples.push_back("orrery evaluate " + suite.name);
  }
  return {"evaluate",
          "SUITE",
          1,
          1,
          "score predictions against measurements: " + suite_names(),
          join({text_option("train", "", "folder to fit on").in("DIR"),
                text_option("test", "", "folder to score on; without it, cross-validation inside the first").in("DIR"),
                integer_option("seed", 1, "of every random choice").bounds(0, 1e15),
                integer_option("threads", 2, "threads to fit with").bounds(1, 256),
                flag_option("markdown", "print a Markdown table"),
                text_option("out", "", "draw predicted against measured").in("FILE.svg")},
               table_options()),
          examples,
          run_evaluate};
}

}  // namespace orrery::cli
