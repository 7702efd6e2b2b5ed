#include <algorithm>
#include <fmt/format.h>
#include <thread>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/traces.h"
#include "predict/analytic/analytic.h"
#include "profile/profiler.h"
#include "profile/training_data.h"
#include "service/models.h"
#include "workload/training_options.h"

namespace orrery::cli {

using workload::Phase;

namespace {

// Shares are of `total`, the whole iteration.
Table operator_rows(const trace::ExecutionTrace& trace, Seconds total) {
  Table table({{"phase", "phase"},
               {"operator", "operator"},
               {"kind", "kind"},
               {"input", "input"},
               {"execution_s", "execution", CellFormat::kSeconds},
               {"gap_s", "gap", CellFormat::kSeconds},
               {"share", "share", CellFormat::kPercent},
               {"flops", "FLOPs", CellFormat::kCount},
               {"bytes", "bytes", CellFormat::kBytes, false},
               {"start_s", "start", CellFormat::kSeconds, false}});
  for (const trace::TracedOperator& op : trace.operators) {
    const std::string input = op.inputs.empty() ? "" : fmt::format("[{}]", fmt::join(op.inputs[0], ", "));
    table.add({std::string(to_string(op.phase)), op.name, op.kind, input, op.execution.value(), op.gap.value(),
               (op.execution + op.gap) / total, op.flops.value(), op.bytes.value(), op.start.value()});
  }
  return table;
}

// The longest operators, longest first.
trace::ExecutionTrace longest(trace::ExecutionTrace trace, std::size_t count) {
  std::stable_sort(trace.operators.begin(), trace.operators.end(),
                   [](const auto& a, const auto& b) { return a.execution + a.gap > b.execution + b.gap; });
  trace.operators.resize(std::min(count, trace.operators.size()));
  return trace;
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string phase_lines(const trace::ExecutionTrace& trace) {
  std::string text;
  for (const Phase phase : {Phase::kForward, Phase::kBackward, Phase::kUpdate}) {
    const auto operators = std::count_if(trace.operators.begin(), trace.operators.end(),
                                         [&](const auto& op) { return op.phase == phase; });
    text += fmt::format("  {:<10} {} executing, {} in gaps, {} operators\n", to_string(phase),
                        format_seconds(trace.execution(phase)), format_seconds(trace.gaps(phase)), operators);
  }
  return text;
}

std::string summary(const profile::Profile& p) {
  std::string text = fmt::format("{}, batch {}, {}, measured on {}\n\n", p.trace.model, p.trace.batch,
                                 p.trace.optimizer, p.trace.device);
  text += fmt::format("  iteration  {}  ({} samples/s), steps spread {}\n", format_seconds(p.iteration),
                      format_number(static_cast<double>(p.trace.batch) / p.iteration.value(), 4), percent(p.spread));
  text += phase_lines(p.trace);
  text += fmt::format(
      "  traced     {} of {} steps kept; operators and gaps add up to {} ({:+.1f} %), tracing costs {}\n", p.kept,
      p.measured, format_seconds(p.trace.iteration()), 100 * p.conservation, percent(std::max(0.0, p.overhead)));
  text += fmt::format("  loss       {} to {}\n", format_number(p.first_loss, 4), format_number(p.last_loss, 4));
  if (p.is_noisy) {
    text += fmt::format(
        "  warning    too noisy: the machine had a load of {:.1f} before the start; repeat when it is idle\n", p.load);
  }
  return text;
}

// Refuses what would push the machine into swapping.
Status check_memory(env::Env env, const workload::TrainingRun& run) {
  ORRERY_TRY(const hardware::Placement here, hardware::make_placement("CPU", 1, 1));
  ORRERY_TRY(const predict::Prediction prediction, predict::AnalyticPredictor().predict(run, here));
  ORRERY_TRY(const Bytes free, profile::available_memory(env.files));
  const Bytes needed = prediction.memory.value;
  if (needed <= free) return {};
  return Error::infeasible(
      fmt::format("{} at batch {} needs about {}, but only {} of memory are free; try a smaller "
                  "--batch or model",
                  run.graph.name(), run.graph.batch(), format_bytes(needed), format_bytes(free)));
}

Result<std::unique_ptr<profile::TrainingData>> open_data(env::Env env, const std::string& name) {
  if (name == "synthetic") return std::unique_ptr<profile::TrainingData>();
  if (name == "fashion-mnist") {
    ORRERY_TRY(auto images, profile::read_images(env.files, profile::kFashionMnistFolder));
    return std::unique_ptr<profile::TrainingData>(std::move(images));
  }
  return profile::read_text(env.files, name);
}

Result<workload::TrainingRun> run_of(env::Env env, const std::string& word, const OptionValues& options) {
  ORRERY_TRY(const service::NamedModel model, service::load_model(env, word));
  ORRERY_TRY(workload::TrainingGraph graph, model.graph.with_batch(options.integer("batch")));
  workload::TrainingRun run{std::move(graph)};
  ORRERY_TRY(run.optimizer, workload::parse_optimizer(options.text("optimizer")));
  return run;
}

profile::ExecutorOptions executor_options(const OptionValues& options) {
  profile::ExecutorOptions result;
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  result.threads = options.has("threads") ? static_cast<int>(options.integer("threads")) : cores;
  result.on_gpu = options.flag("gpu");
  result.seed = static_cast<std::uint64_t>(options.integer("seed"));
  result.learning_rate = options.number("learning-rate");
  return result;
}

Result<profile::Profile> measure(env::Env env, const workload::TrainingRun& run, const OptionValues& options) {
  Progress progress(fmt::format("profiling {}", run.graph.name()), options.integer("repetitions"),
                    progress_options(env, "rounds"));
  progress.begin();
  ORRERY_TRY(const auto data, open_data(env, options.text("data")));
  const profile::ExecutorOptions how = executor_options(options);
  ORRERY_TRY(const auto executor, profile::make_executor(run, how, env.clock));
  profile::ProfileHooks hooks;
  hooks.after_round = [&](int, int) { progress.advance(1); };
  if (data) hooks.before_step = [&](std::int64_t step) { return data->feed(*executor, run.graph, step); };
  const profile::ProfileOptions repeated{static_cast<int>(options.integer("warmup")),
                                         static_cast<int>(options.integer("repetitions")), Seconds()};
  ORRERY_TRY(profile::Profile profile, profile::measure(run, *executor, repeated, env.files, env.clock, hooks));
  profile.trace.device = how.on_gpu ? "CUDA device 0" : fmt::format("{} CPU threads", how.threads);
  return profile;
}

// Where the trace goes, checked before anything is measured.
Result<std::string> form_of_output(const std::string& path) {
  return path.empty() ? Result<std::string>("") : trace_form(path);
}

Status print_profile(Context& context, const profile::Profile& profile, const OptionValues& options) {
  const Seconds total = profile.trace.iteration();
  if (!for_people(options)) return context.print_table(operator_rows(profile.trace, total), options);
  const auto top = static_cast<std::size_t>(options.integer("top"));
  context.print(summary(profile));
  context.print(fmt::format("\nthe longest {} of {} operators\n", std::min(top, profile.trace.operators.size()),
                            profile.trace.operators.size()));
  context.print(operator_rows(longest(profile.trace, top), total).to_text());
  return {};
}

Status run_profile(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  const std::string path = options.text("trace");
  ORRERY_TRY(const std::string form, form_of_output(path));
  ORRERY_TRY(const workload::TrainingRun run, run_of(context.env, arguments.words[0], options));
  ORRERY_TRY_VOID(check_memory(context.env, run));
  ORRERY_TRY(const profile::Profile profile, measure(context.env, run, options));
  ORRERY_TRY_VOID(print_profile(context, profile, options));
  if (path.empty()) return {};
  return context.write_file(path, write_trace_as({{"1"}, {profile.trace}}, form), options);
}

}  // namespace

Command profile_command() {
  return {
      "profile",
      "MODEL",
      1,
      1,
      "train a model for real for a few steps and trace every operator",
      join({integer_option("batch", 8, "samples per step").bounds(1, 1 << 20), workload::optimizer_option(),
            integer_option("repetitions", 10, "rounds to measure; each is one plain and one traced step")
                .bounds(3, 10000),
            integer_option("warmup", 3, "warm-up steps that are not measured").bounds(1, 10000),
            optional_integer("threads", "threads inside operators (default: all cores)").bounds(1, 1024),
            flag_option("gpu", "run on the first CUDA device"),
            text_option("data", "synthetic", "input data: synthetic, fashion-mnist, or a text file").in("DATA"),
            number_option("learning-rate", 1e-3, "learning rate of the optimizer").bounds(0, 1e3),
            integer_option("seed", 1, "seed of the initial parameters and the synthetic data").bounds(0, 1e15),
            integer_option("top", 15, "operators to list").bounds(1, 1e6),
            text_option("trace", "", "write the trace: .pftrace for ui.perfetto.dev, .json for Chrome, or .trace.json")
                .in("FILE")},
           table_options()),
      {"orrery profile resnet18 --batch 8", "orrery profile resnet18 --batch 8 --trace resnet18.pftrace",
       "orrery profile lenet --data fashion-mnist --batch 64 --repetitions 100",
       "orrery profile gpt2:layers=2 --batch 1 --data README.md --threads 1",
       "orrery profile resnet18 --json > operators.json"},
      run_profile};
}

}  // namespace orrery::cli
