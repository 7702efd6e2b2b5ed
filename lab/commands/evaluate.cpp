#include <fmt/format.h>
#include <limits>
#include <optional>

#include "cli/data_folder.h"
#include "env/clock.h"
#include "env/files.h"
#include "lab/commands/commands.h"
#include "lab/evaluate/suites.h"
#include "lab/lab.h"
#include "service/network_fields.h"

namespace orrery::lab {

using namespace cli;

namespace {

std::vector<OptionRecord> training_options() {
  return join(
      join(service::sequence_fields().records(), service::resource_network_fields().records()),
      {integer_option("steps", 0,
                      "steps of each training of a network; 0: the number of the suite (for driple no training)")
           .bounds(0, 1e9),
       optional_duration("time-limit", "longest time of each training of a network"),
       text_option("keep", "", "folder for what trainings leave: those that were killed go on from there").in("DIR"),
       flag_option("baselines", "also fit and score what others published, on the same data; slow")});
}

// "a.svg" → "a-layers.svg".
std::string figure_path(const std::string& path, const std::string& name) {
  const std::string_view ending = path.ends_with(".svg") ? ".svg" : "";
  return fmt::format("{}-{}{}", path.substr(0, path.size() - ending.size()), name, ending);
}

Result<std::vector<std::string>> write_figures(Context& context, const SuiteReport& report, const std::string& path) {
  std::vector<std::string> written;
  for (const ReportFigure& figure : report.figures) {
    written.push_back(figure_path(path, figure.name));
    ORRERY_TRY_VOID(context.env.files.write_atomically(written.back(), figure.svg));
  }
  if (!written.empty()) return written;
  ORRERY_TRY_VOID(context.env.files.write_atomically(path, to_svg(report)));
  return std::vector<std::string>{path};
}

Status run_evaluate(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const Suite suite, find_suite(arguments.words[0]));
  ORRERY_TRY(const predict::SequenceOptions sequence, service::sequence_fields().read(options));
  ORRERY_TRY(const predict::ResourceNetworkOptions resource, service::resource_network_fields().read(options));
  std::optional<Progress> progress, fits;
  const SuiteInput input{
      .files = context.env.files,
      .now_s = [&] { return context.env.clock.monotonic().value(); },
      .data = data_folder(context),
      .train = options.text("train"),
      .test = options.text("test"),
      .seed = static_cast<std::uint64_t>(options.integer("seed")),
      .threads = static_cast<int>(options.integer("threads")),
      .baselines = options.flag("baselines"),
      .training = {.sequence = sequence,
                   .resource = resource,
                   .steps = static_cast<std::uint64_t>(options.integer("steps")),
                   .seconds_max = options.has("time-limit") ? options.duration("time-limit").value()
                                                            : std::numeric_limits<double>::infinity(),
                   .keep = options.text("keep"),
                   .progress =
                       [&](std::uint64_t done, std::uint64_t total) {
                         if (!progress) {
                           progress.emplace("training", static_cast<std::int64_t>(total),
                                            progress_options(context.env, "steps"));
                         }
                         progress->advance(static_cast<std::int64_t>(done) - progress->done());
                       }},
      .after_fit =
          [&] {
            if (!fits) {
              fits.emplace("evaluating " + arguments.words[0], 0, progress_options(context.env, "fits"));
              fits->begin();
            }
            fits->advance(1);
          }};
  ORRERY_TRY(const SuiteReport report, suite.run(input));
  if (progress) progress->finish();
  if (fits) fits->finish();
  std::vector<std::string> written;
  if (options.has("out")) {
    ORRERY_TRY(written, write_figures(context, report, options.text("out")));
  }
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
  for (const std::string& path : written) context.print(fmt::format("wrote {}\n", path));
  return {};
}

// "operators, layers, llm".
std::string suite_names() {
  std::string names;
  for (const Suite& suite : all_suites()) names += (names.empty() ? "" : ", ") + suite.name;
  return names;
}

}  // namespace

Command evaluate_command() {
  std::vector<std::string> examples;
  for (const Suite& suite : all_suites()) {
    examples.push_back("orrery-lab evaluate " + suite.name);
  }
  return {
      "evaluate",
      "SUITE",
      1,
      1,
      "score predictions against measurements: " + suite_names(),
      join(join({text_option("train", "", "folder to fit on").in("DIR"),
                 text_option("test", "", "folder to score on; without it, cross-validation inside the first").in("DIR"),
                 integer_option("seed", 1, "seed of every random choice").bounds(0, 1e15),
                 integer_option("threads", 2, "threads to fit with").bounds(1, 256),
                 flag_option("markdown", "print a Markdown table"),
                 text_option("out", "", "draw predicted against measured").in("FILE.svg")},
                training_options()),
           table_options()),
      examples,
      run_evaluate};
}

}  // namespace orrery::lab
