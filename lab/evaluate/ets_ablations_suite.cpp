#include "lab/evaluate/ets_ablations_suite.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <optional>

#include "base/parallel.h"
#include "base/plot/plots.h"
#include "lab/evaluate/shared_progress.h"
#include "predict/readers/ets_traces.h"

namespace orrery::lab {

namespace {

constexpr std::string_view kSet = "ets_traces";
constexpr std::string_view kGpu = "RTX2080Ti";
constexpr std::string_view kFamilies[] = {"mobilenet_v3", "mnasnet", "shufflenet", "wide_resnet"};
constexpr std::uint64_t kFoldScored = 0;
constexpr std::uint64_t kSteps = 600;
constexpr double kMillisecond = 1e-3;  // of a microsecond
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kPublisher = "ETS, RTX 2080 Ti, best";

// One way to train, and what was published for it.
struct Cell {
  std::string axis, label;
  SequenceOptions options;
  double published = kNan;
  std::string group() const { return axis + ": " + label; }
};

struct Outcome {
  std::vector<Case> cases;
  TrainingOutcome training;
};

class Plan {
 public:
  explicit Plan(const SequenceOptions& base) : base_(base) {}

  // `change` makes the cell's options out of the base's.
  template <class Change>
  void add(const std::string& axis, const std::string& label, double published, Change change) {
    Cell cell{axis, label, base_, published};
    change(cell.options);
    cells_.push_back(std::move(cell));
  }

  std::vector<Cell> take() { return std::move(cells_); }

 private:
  SequenceOptions base_;
  std::vector<Cell> cells_;
};

void add_structures(Plan& plan) {
  struct Entry {
    Structure structure;
    double published;  // those of RNN and GCN are one run under two names: not to be believed
  };
  for (const Entry& entry :
       {Entry{Structure::kBiLstm, 0.034}, Entry{Structure::kLstm, 0.062}, Entry{Structure::kGru, 0.046},
        Entry{Structure::kRnn, kNan}, Entry{Structure::kTransformer, 0.073}, Entry{Structure::kGcn, kNan}}) {
    plan.add("structure", std::string(to_string(entry.structure)), entry.published,
             [&](SequenceOptions& options) { options.structure = entry.structure; });
  }
}

struct NumberEntry {
  std::int32_t value;
  double published;
};

void add_numbers(Plan& plan) {
  for (const NumberEntry& entry : {NumberEntry{1, 0.060}, NumberEntry{2, 0.045}, NumberEntry{3, 0.037},
                                   NumberEntry{4, 0.035}, NumberEntry{5, 0.036}, NumberEntry{6, 0.039}}) {
    plan.add("layers", std::to_string(entry.value), entry.published,
             [&](SequenceOptions& options) { options.layers = entry.value; });
  }
  for (const NumberEntry& entry : {NumberEntry{4, 0.046}, NumberEntry{8, 0.053}, NumberEntry{12, 0.037},
                                   NumberEntry{16, 0.043}, NumberEntry{24, kNan}}) {
    plan.add("width", std::to_string(entry.value), entry.published, [&](SequenceOptions& options) {
      options.width = entry.value;
      options.stride = entry.value / 2;
    });
  }
  for (const NumberEntry& entry : {NumberEntry{1, 0.029}, NumberEntry{2, 0.035}, NumberEntry{3, 0.034},
                                   NumberEntry{4, 0.041}, NumberEntry{6, 0.043}, NumberEntry{12, 0.049}}) {
    plan.add("stride", std::to_string(entry.value), entry.published,
             [&](SequenceOptions& options) { options.stride = entry.value; });
  }
}

void add_losses_and_departures(Plan& plan) {
  struct Entry {
    Loss loss;
    double published;
  };
  for (const Entry& entry : {Entry{Loss::kL1, 0.035}, Entry{Loss::kSmoothL1, 0.038}, Entry{Loss::kMse, 0.071}}) {
    plan.add("loss", std::string(to_string(entry.loss)), entry.published,
             [&](SequenceOptions& options) { options.loss = entry.loss; });
  }
  plan.add("departure", "none", kNan, [](SequenceOptions&) {});
  plan.add("departure", "constant learning rate", kNan,
           [](SequenceOptions& options) { options.schedule = LearningRate::kConstant; });
  plan.add("departure", "falling learning rate", kNan,
           [](SequenceOptions& options) { options.schedule = LearningRate::kFalling; });
  plan.add("departure", "sizes as logarithms", kNan,
           [](SequenceOptions& options) { options.sizes = SizeForm::kLogarithmic; });
  plan.add("departure", "times as logarithms", kNan,
           [](SequenceOptions& options) { options.targets = TargetForm::kLogarithms; });
}

struct Subset {
  std::string gpu;
  LaunchTraces traces;
  std::vector<const LaunchTrace*> learned, scored;
};

bool is_chosen_family(const LaunchTrace& trace) {
  return std::find(std::begin(kFamilies), std::end(kFamilies), trace.family) != std::end(kFamilies);
}

Result<Subset> read_subset(const SuiteInput& input) {
  const std::string folder = training_folder(input, kSet);
  ORRERY_TRY(const std::vector<std::string> gpus, gpus_of(input.files, folder));
  Subset subset;
  const bool has_gpu = std::find(gpus.begin(), gpus.end(), kGpu) != gpus.end();
  subset.gpu = has_gpu ? std::string(kGpu) : gpus.front();
  ORRERY_TRY(subset.traces, read_launch_traces(input.files, folder, subset.gpu));
  std::vector<LaunchTrace>& all = subset.traces.traces;
  const bool has_families = std::any_of(all.begin(), all.end(), is_chosen_family);
  std::erase_if(all,
                [&](const LaunchTrace& trace) { return trace.overlaps || (has_families && !is_chosen_family(trace)); });
  for (const LaunchTrace& trace : all) {
    const bool is_scored = configuration_fold(trace, input.seed) == kFoldScored;
    (is_scored ? subset.scored : subset.learned).push_back(&trace);
  }
  if (subset.learned.empty() || subset.scored.empty()) {
    return Error::invalid(fmt::format("{}: too few traces of {} to leave some out", folder, subset.gpu));
  }
  return subset;
}

Result<Outcome> run_cell(const Cell& cell, const Subset& subset, const SuiteInput& input, SharedProgress& progress) {
  const TrainingWatch watch{
      .progress = progress.part(), .now_s = input.now_s, .seconds_max = input.training.seconds_max};
  ORRERY_TRY(const SequenceModel model, SequenceModel::fit(subset.learned, subset.traces.kinds, cell.options, watch));
  Outcome outcome{{}, model.weights().training};
  for (const LaunchTrace* trace : subset.scored) {
    ORRERY_TRY(const SequencePrediction prediction, model.predict(*trace));
    outcome.cases.push_back({.group = "",
                             .measured = trace->iteration * kMillisecond,
                             .predicted = prediction.iteration * kMillisecond,
                             .low = kNan,
                             .high = kNan});
  }
  return outcome;
}

std::string figure_of(const SuiteReport& report, const std::vector<Cell>& cells, const std::string& axis) {
  const bool is_number = axis == "layers" || axis == "width" || axis == "stride";
  plot::LinePlot lines{
      .heading = {.title = "Error by " + axis},
      .x = {.title = axis},
      .y = {.title = "mean error", .unit = "%", .from_zero = true},
      .series = {{.name = "trained here", .markers = true},
                 {.name = "published, trained longer on other traces", .markers = true, .dashed = true}}};
  plot::BarPlot bars{.heading = lines.heading, .y = lines.y, .value_labels = true};
  bars.series = {{.name = lines.series[0].name}, {.name = lines.series[1].name}};
  for (const Cell& cell : cells) {
    const ReportRow* row = report.find(cell.group());
    if (cell.axis != axis || row == nullptr) continue;
    const double ours = 100 * row->score.mre, published = 100 * cell.published;
    if (is_number) {
      lines.series[0].points.push_back({std::stod(cell.label), ours});
      lines.series[1].points.push_back({std::stod(cell.label), published});
    }
    bars.groups.push_back(cell.label);
    bars.series[0].values.push_back(ours);
    bars.series[1].values.push_back(published);
  }
  return is_number ? line_plot(lines) : bar_plot(bars);
}

// The cell among `cells` that is trained the same way.
std::size_t first_like(const std::vector<Cell>& cells, std::size_t index) {
  for (std::size_t i = 0; i < index; ++i) {
    if (fingerprint_of({}, cells[i].options) == fingerprint_of({}, cells[index].options)) return i;
  }
  return index;
}

}  // namespace

Result<SuiteReport> run_ets_ablations_suite(const SuiteInput& input) {
  if (!input.test.empty()) return Error::invalid("ets-ablations leaves out a part of its folder; it takes no --test");
  const double begin = input.now_s();
  SuiteReport report{.suite = "ets-ablations", .seed = input.seed};
  SequenceOptions base = input.training.sequence;
  base.seed = input.seed;
  base.threads = 1;
  base.steps = input.training.steps > 0 ? input.training.steps : kSteps;
  ORRERY_TRY_VOID(validate(base));
  ORRERY_TRY(const Subset subset, read_subset(input));
  Plan plan(base);
  add_structures(plan);
  add_numbers(plan);
  add_losses_and_departures(plan);
  const std::vector<Cell> cells = plan.take();
  std::vector<std::size_t> trained;  // indices of cells
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (first_like(cells, i) == i) trained.push_back(i);
  }
  SharedProgress progress(input.training.progress, trained.size() * base.steps);
  std::vector<std::optional<Result<Outcome>>> outcomes(cells.size());
  run_parallel(trained.size(), input.threads,
               [&](std::size_t i) { outcomes[trained[i]] = run_cell(cells[trained[i]], subset, input, progress); });
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto& outcome = *outcomes[first_like(cells, i)];
    if (!outcome) return Error(outcome.error()).with_context(cells[i].group());
    std::vector<Case> cases = outcome->cases;
    for (Case& one : cases) one.group = cells[i].group();
    report.add(cases, outcome->training.seconds);
    if (cells[i].published == cells[i].published) report.publish(cells[i].group(), cells[i].published, kPublisher);
    if (outcome->training.steps < base.steps) {
      report.notes.push_back(
          fmt::format("{}: {} of {} steps in the time allowed", cells[i].group(), outcome->training.steps, base.steps));
    }
  }
  for (const char* axis : {"structure", "layers", "width", "stride", "loss", "departure"}) {
    report.figures.push_back({axis, figure_of(report, cells, axis)});
  }
  report.notes.push_back(fmt::format(
      "{}: {} traces learned from, {} scored; {} steps of {} operators for each of {} trainings; {:.0f} s in all",
      subset.gpu, subset.learned.size(), subset.scored.size(), base.steps, base.rows_per_step, trained.size(),
      input.now_s() - begin));
  return report;
}

}  // namespace orrery::lab
