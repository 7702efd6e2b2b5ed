#include <fmt/format.h>
#include <limits>
#include <optional>

#include "cli/commands.h"
#include "cli/data_folder.h"
#include "env/clock.h"
#include "env/files.h"
#include "predict/evaluate/suites.h"

namespace orrery::cli {

namespace {

constexpr predict::Structure kStructures[] = {predict::Structure::kBiLstm,      predict::Structure::kLstm,
                                              predict::Structure::kGru,         predict::Structure::kRnn,
                                              predict::Structure::kTransformer, predict::Structure::kGcn};
constexpr predict::GraphLayer kGraphLayers[] = {predict::GraphLayer::kGcn, predict::GraphLayer::kGin,
                                                predict::GraphLayer::kGat, predict::GraphLayer::kMpnn};
constexpr predict::Readout kReadouts[] = {predict::Readout::kSet2Set, predict::Readout::kSum, predict::Readout::kMean};
constexpr predict::DepthRule kDepths[] = {predict::DepthRule::kHalf, predict::DepthRule::kLog2,
                                          predict::DepthRule::kNodes};
constexpr predict::Grouping kGroupings[] = {predict::Grouping::kNone, predict::Grouping::kUniform,
                                            predict::Grouping::kProportional};
constexpr predict::GroupRule kGroupRules[] = {predict::GroupRule::kLog10, predict::GroupRule::kLog2,
                                              predict::GroupRule::kSquareRoot, predict::GroupRule::kShare};
constexpr predict::Loss kLosses[] = {predict::Loss::kL1, predict::Loss::kSmoothL1, predict::Loss::kMse};

template <class Values>
std::vector<std::string> names_of(const Values& values) {
  std::vector<std::string> names;
  for (const auto value : values) names.emplace_back(to_string(value));
  return names;
}

// The value whose name is among the choices of an option.
template <class Values>
auto named(const Values& values, const std::string& name) {
  for (const auto value : values) {
    if (to_string(value) == name) return value;
  }
  return values[0];
}

std::vector<OptionRecord> training_options() {
  const predict::SequenceOptions form;
  const predict::ResourceNetworkOptions resource;
  return {
      choice_option("structure", std::string(to_string(form.structure)), names_of(kStructures), "of the ETS network"),
      integer_option("layers", form.layers, "of the ETS network").bounds(1, 16),
      integer_option("width", form.width, "operators in a window of the ETS network").bounds(1, 256),
      integer_option("stride", form.stride, "operators from window to window").bounds(1, 256),
      choice_option("loss", std::string(to_string(form.loss)), names_of(kLosses), "that the ETS network minimises"),
      flag_option("falling-rate", "let the learning rate of the ETS network fall to 0 instead of keeping it"),
      choice_option("graph-layer", std::string(to_string(resource.graph_layer)), names_of(kGraphLayers),
                    "of the Driple network"),
      choice_option("readout", std::string(to_string(resource.readout)), names_of(kReadouts), "of the Driple network"),
      choice_option("depth", std::string(to_string(resource.depth)), names_of(kDepths),
                    "graph layers of the Driple network, from the nodes of a graph"),
      choice_option("grouping", std::string(to_string(resource.grouping.grouping)), names_of(kGroupings),
                    "of nodes before the Driple network reads them"),
      integer_option("groups", static_cast<std::int64_t>(resource.grouping.groups), "of uniform grouping")
          .bounds(1, 1e4),
      choice_option("group-rule", std::string(to_string(resource.grouping.rule)), names_of(kGroupRules),
                    "of proportional grouping: groups from the nodes of a batch of graphs"),
      integer_option("steps", 0, "of each training of a network; 0: the suite's own number, for driple none")
          .bounds(0, 1e9),
      optional_duration("time-limit", "of each training of a network"),
      text_option("keep", "", "folder for what trainings leave: those that were killed go on from there").in("DIR"),
      flag_option("baselines", "also fit and score what others published, on the same data; slow")};
}

predict::SequenceOptions sequence_options(const OptionValues& options) {
  predict::SequenceOptions form;
  form.structure = named(kStructures, options.text("structure"));
  form.layers = static_cast<std::int32_t>(options.integer("layers"));
  form.width = static_cast<std::int32_t>(options.integer("width"));
  form.stride = static_cast<std::int32_t>(options.integer("stride"));
  form.loss = named(kLosses, options.text("loss"));
  if (options.flag("falling-rate")) form.schedule = predict::LearningRate::kFalling;
  return form;
}

predict::ResourceNetworkOptions resource_options(const OptionValues& options) {
  predict::ResourceNetworkOptions form;
  form.graph_layer = named(kGraphLayers, options.text("graph-layer"));
  form.readout = named(kReadouts, options.text("readout"));
  form.depth = named(kDepths, options.text("depth"));
  form.grouping.grouping = named(kGroupings, options.text("grouping"));
  form.grouping.groups = static_cast<std::size_t>(options.integer("groups"));
  form.grouping.rule = named(kGroupRules, options.text("group-rule"));
  return form;
}

// "a.svg" → "a-layers.svg".
std::string figure_path(const std::string& path, const std::string& name) {
  const std::string_view ending = path.ends_with(".svg") ? ".svg" : "";
  return fmt::format("{}-{}{}", path.substr(0, path.size() - ending.size()), name, ending);
}

Result<std::vector<std::string>> write_figures(Context& context, const predict::SuiteReport& report,
                                               const std::string& path) {
  std::vector<std::string> written;
  for (const predict::ReportFigure& figure : report.figures) {
    written.push_back(figure_path(path, figure.name));
    ORRERY_TRY_VOID(context.env.files.write_atomically(written.back(), figure.svg));
  }
  if (!written.empty()) return written;
  ORRERY_TRY_VOID(context.env.files.write_atomically(path, to_svg(report)));
  return std::vector<std::string>{path};
}

Status run_evaluate(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const predict::Suite suite, predict::find_suite(arguments.words[0]));
  std::optional<Progress> progress, fits;
  const predict::SuiteInput input{
      .files = context.env.files,
      .now_s = [&] { return context.env.clock.monotonic().value(); },
      .data = data_folder(context),
      .train = options.text("train"),
      .test = options.text("test"),
      .seed = static_cast<std::uint64_t>(options.integer("seed")),
      .threads = static_cast<int>(options.integer("threads")),
      .baselines = options.flag("baselines"),
      .training = {.sequence = sequence_options(options),
                   .resource = resource_options(options),
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
  ORRERY_TRY(const predict::SuiteReport report, suite.run(input));
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
  for (const predict::Suite& suite : predict::all_suites()) names += (names.empty() ? "" : ", ") + suite.name;
  return names;
}

}  // namespace

Command evaluate_command() {
  std::vector<std::string> examples;
  for (const predict::Suite& suite : predict::all_suites()) {
    examples.push_back("orrery evaluate " + suite.name);
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

}  // namespace orrery::cli
