#include "service/predict.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "cli/commands.h"
#include "service/explain.h"
#include "service/predict_plot.h"
#include "service/prediction_table.h"
#include "service/resources.h"
#include "service/traces.h"

namespace orrery::cli {

using predict::Prediction;
using service::PredictedRun;
using service::RunPoint;

namespace {

using Runs = std::vector<PredictedRun>;

Table prediction_table(const Runs& runs) {
  Table table(service::prediction_columns());
  for (const PredictedRun& run : runs) table.add(service::prediction_cells(run));
  return table;
}

std::string heading(const RunPoint& point) {
  const auto& parallel = point.run.parallelism;
  std::string text = fmt::format("{} on {} × {}, batch {}", point.model, point.placement.devices,
                                 point.placement.device->name, point.run.global_batch());
  if (parallel.data > 1) text += fmt::format(" ({} on each of {} replicas)", point.run.graph.batch(), parallel.data);
  if (parallel.tensor > 1) text += fmt::format(", tensor {}", parallel.tensor);
  if (parallel.pipeline > 1) text += fmt::format(", pipeline {}", parallel.pipeline);
  if (parallel.microbatches > 1) text += fmt::format(", {} micro-batches", parallel.microbatches);
  if (parallel.zero_stage > 0) text += fmt::format(", ZeRO {}", parallel.zero_stage);
  return text + fmt::format(", {}, {}\n", to_string(point.run.precision), to_string(point.run.optimizer));
}

// Why no measurement vouches for the interval.
std::string uncalibrated(const Prediction& p) {
  if (p.learned_share == 0) return "formulas and data sheets, no measurement of this device yet";
  return fmt::format("{:.0f} % of the time was learned, the rest is formulas and data sheets", 100 * p.learned_share);
}

std::string summary(const PredictedRun& run) {
  const auto& [point, p] = run;
  const auto time = [](Seconds t) { return format_seconds(t); };
  std::string text = heading(point);
  text += fmt::format("\n  iteration  {}  ({} to {} with 80 %)   {} samples/s\n", time(p.iteration.value),
                      time(p.iteration.low), time(p.iteration.high), format_number(p.samples_per_second, 4));
  text +=
      fmt::format("             forward {}, backward {}, update {}", time(p.forward), time(p.backward), time(p.update));
  if (p.exposed_communication > Seconds(0)) text += fmt::format(", exposed network {}", time(p.exposed_communication));
  if (p.pipeline_bubble > Seconds(0)) text += fmt::format(", pipeline bubble {}", time(p.pipeline_bubble));
  text += fmt::format("\n  memory     {} of {}: {}\n", format_bytes(p.memory.value), format_bytes(p.device_memory),
                      p.fits ? "fits" : "DOES NOT FIT");
  text += fmt::format("  total      {} for {} steps  ({} to {})", time(p.total_time.value),
                      format_whole(point.run.steps), time(p.total_time.low), time(p.total_time.high));
  if (p.cost) {
    text += fmt::format("\n  cost       {}  ({} to {}), {}", format_dollars(p.cost->value), format_dollars(p.cost->low),
                        format_dollars(p.cost->high), p.cost_basis);
  } else {
    text += "\n  cost       unknown: " + p.cost_basis;
  }
  text += fmt::format("\n  made by    {}{}\n", p.made_by, p.calibrated ? "" : ", uncalibrated: " + uncalibrated(p));
  for (const std::string& note : p.notes) text += fmt::format("  note       {}\n", note);
  return text;
}

// The rows of the table, each with its explanation.
std::string explained_json(const Runs& runs, std::size_t top) {
  auto rows = nlohmann::ordered_json::parse(prediction_table(runs).to_json());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    rows[i]["explanation"] = nlohmann::ordered_json::parse(service::explanation_json(runs[i], top));
  }
  return rows.dump(2) + "\n";
}

// What the table does not contain: how many steps, which prices, notes; each once.
std::string footnotes(const Runs& runs) {
  std::set<double> steps;
  std::vector<std::string> lines;
  const auto add = [&](std::string line) {
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
  };
  for (const auto& [point, prediction] : runs) {
    steps.insert(point.run.steps);
    const auto& placement = point.placement;
    add(fmt::format("{} × {}: {}", placement.devices, placement.device->name, prediction.cost_basis));
    for (const std::string& note : prediction.notes) add(note);
    add(fmt::format("by {}{}", prediction.made_by, prediction.calibrated ? "" : ": uncalibrated"));
  }
  std::string text = fmt::format("\nlow and high: 80 % interval; time and cost of {} steps\n",
                                 steps.size() == 1 ? format_whole(*steps.begin()) : "each run's");
  constexpr std::size_t kMostLines = 12;
  for (std::size_t i = 0; i < std::min(lines.size(), kMostLines); ++i) text += lines[i] + "\n";
  if (lines.size() > kMostLines) text += fmt::format("and {} more; --json has them all\n", lines.size() - kMostLines);
  return text;
}

void print_for_people(Context& context, const Runs& runs, const OptionValues& options) {
  const bool single = runs.size() == 1;
  if (single) {
    context.print(summary(runs[0]));
  } else {
    context.print(prediction_table(runs).to_text());
    context.print(footnotes(runs));
  }
  if (!options.flag("explain")) return;
  for (const PredictedRun& run : runs) {
    if (!single) context.print("\n" + heading(run.point));
    context.print(service::explanation_text(run, static_cast<std::size_t>(options.integer("top"))));
  }
}

Status write_files(Context& context, const Runs& runs, const OptionValues& options) {
  const bool wants_one = !options.text("timeline").empty() || !options.text("trace").empty();
  if (wants_one && runs.size() > 1) {
    return Error::invalid("--timeline and --trace show one run; give one model, device, count and batch");
  }
  if (!options.text("trace").empty()) {
    ORRERY_TRY(const service::TraceForm form, service::trace_form(options.text("trace")));
    const trace::TraceFile file{{"1"}, {service::predicted_trace(runs[0])}};
    ORRERY_TRY_VOID(context.write_file(options.text("trace"), service::write_trace(file, form), options));
  }
  if (!options.text("timeline").empty()) {
    ORRERY_TRY_VOID(context.write_file(options.text("timeline"), service::plot_timeline(runs[0]), options));
  }
  if (options.text("plot").empty()) return {};
  return context.write_file(options.text("plot"), service::plot_predictions(runs), options);
}

Status show_resources(Context& context, const OptionValues& options) {
  ORRERY_TRY(const service::ResourcesRequest request, service::resources_fields().read(options));
  ORRERY_TRY(const service::ResourcesAnswer answer, service::predict_resources(context.env, request));
  ORRERY_TRY_VOID(context.print_table(service::resources_table(answer), options));
  if (for_people(options)) context.print(service::resources_text(answer));
  return {};
}

Status run_predict(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  if (options.flag("resources")) return show_resources(context, options);
  ORRERY_TRY(const service::PredictRequest request, service::predict_fields().read(options));
  ORRERY_TRY(const Runs runs, service::predict(context.env, request));
  if (for_people(options)) {
    print_for_people(context, runs, options);
  } else if (options.flag("json") && options.flag("explain")) {
    context.print(explained_json(runs, static_cast<std::size_t>(options.integer("top"))));
  } else {
    ORRERY_TRY_VOID(context.print_table(prediction_table(runs), options));
  }
  return write_files(context, runs, options);
}

}  // namespace

Command predict_command() {
  return {"predict",
          "predict time, memory and cost of training, or the resources it uses",
          join(join(join(service::predict_fields().records(), service::weights_fields().records()),
                    {flag_option("resources",
                                 "predict bursts and idling of GPU, memory and network instead of times, by a network "
                                 "that `orrery fit --form driple` made or that Driple published (--predictor FILE)"),
                     flag_option("explain", "show where the time and the memory go"),
                     integer_option("top", 10, "operators that --explain lists").bounds(1, 100000),
                     text_option("plot", "", "draw the throughput as SVG").in("FILE"),
                     text_option("trace", "",
                                 "write the predicted operators of one iteration as an execution trace, in the format "
                                 "of `orrery profile`")
                         .in("FILE"),
                     text_option("timeline", "", "draw the timeline of one iteration as SVG, operator by operator")
                         .in("FILE")}),
               table_options()),
          {"orrery predict resnet50 --device V100 --batch 64 --explain",
           "orrery predict resnet50 --device V100,A100,H100 --batch 8,16,32,64 --plot sweep.svg",
           "orrery predict gpt2 --gpus A100:8,A100:16,A100:32 --precision bf16 --zero 1 --optimizer adamw",
           "orrery predict resnet50 --gpus H100:8 --epochs 90 --dataset-size 1281167 --batch 2048 --json",
           "orrery predict resnet18 --device CPU --batch 8 --predictor cpu.model",
           "orrery predict resnet50 --device V100 --batch 128 --observed observed.jsonl",
           "orrery predict resnet18 --device T4 --batch 32 --predictor t4-ets.model",
           "orrery predict resnet18:input=32 --device CPU --batch 8 --predictor step.model --fact width=1",
           "orrery predict resnet18 --batch 8 --resources --predictor resources.model",
           "orrery predict graph.pbtxt --resources --predictor pre-train.pkl --frequencies node_frequency.csv",
           "orrery predict resnet18 --device T4 --batch 32 --trace predicted.trace.json",
           "orrery predict job.yaml --device H100"},
          run_predict};
}

}  // namespace orrery::cli
