#include "service/profile.h"

#include <algorithm>
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/terminal_watch.h"
#include "env/files.h"
#include "service/traces.h"

namespace orrery::cli {

using service::MeasuredWorkers;
using service::PredictedWorker;

namespace {

Status print_profile(Context& context, const profile::Profile& profile, const OptionValues& options) {
  if (!for_people(options)) return context.print_table(service::operator_table(profile), options);
  const auto top = static_cast<std::size_t>(options.integer("top"));
  context.print(service::profile_text(profile));
  context.print(fmt::format("\nthe longest {} of {} operators\n", std::min(top, profile.trace.operators.size()),
                            profile.trace.operators.size()));
  context.print(service::operator_table(profile, top).to_text());
  return {};
}

Status show(Context& context, const profile::Profile& profile, const OptionValues& options) {
  ORRERY_TRY_VOID(print_profile(context, profile, options));
  const std::string& path = options.text("trace");
  if (path.empty()) return {};
  ORRERY_TRY(const service::TraceForm form, service::trace_form(path));
  return context.write_file(path, service::write_trace({{"1"}, {profile.trace}}, form), options);
}

// steps.csv, and the series of each process.
Status write_folder(Context& context, const MeasuredWorkers& measured, const OptionValues& options) {
  const std::string& folder = options.text("out");
  ORRERY_TRY_VOID(context.env.files.make_directory(folder));
  ORRERY_TRY_VOID(context.write_file(folder + "/steps.csv", service::steps_csv(measured), options));
  for (const profile::LaunchedProcess& process : measured.report.processes) {
    std::string file = process.name;
    std::replace(file.begin(), file.end(), ' ', '-');
    ORRERY_TRY_VOID(context.write_file(folder + "/" + file + ".csv", service::series_csv(measured, process), options));
  }
  return {};
}

Status show(Context& context, const MeasuredWorkers& measured, const OptionValues& options) {
  if (for_people(options)) context.print(service::workers_text(measured) + "\n");
  ORRERY_TRY_VOID(context.print_table(service::process_table(measured), options));
  for (const std::string& note : measured.report.notes) {
    if (for_people(options)) context.print(fmt::format("note: {}\n", note));
  }
  return options.has("out") ? write_folder(context, measured, options) : Status();
}

Status show(Context& context, const PredictedWorker& worker, const OptionValues& options) {
  ORRERY_TRY_VOID(context.print_table(service::worker_table(worker), options));
  if (!worker.in_domain) {
    TerminalWatch(context.env)
        .note("the model has operators unlike those that were measured: intervals are at least those of formulas");
  }
  if (!options.flag("json") && !options.flag("csv")) context.print(service::worker_text(worker));
  return {};
}

// What only one kind of measurement can write, checked before anything is measured.
Status check_output(const service::ProfileRequest& request, const OptionValues& options) {
  const bool has_operators = !request.workers, has_series = request.workers && !request.predict;
  for (const char* name : {"trace", "top"}) {
    if (options.given(name) && !has_operators)
      return Error::invalid(fmt::format("--{} is about operators; leave --workers out", name));
  }
  if (options.has("out") && !has_series) return Error::invalid("--out is for measured workers; give --workers");
  if (options.text("trace").empty()) return {};
  const auto form = service::trace_form(options.text("trace"));
  return form ? Status() : Status(form.error());
}

Status run_profile(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const service::ProfileRequest request, service::profile_fields().read(options));
  ORRERY_TRY_VOID(check_output(request, options));
  TerminalWatch watch(context.env);
  ORRERY_TRY(const service::ProfileAnswer answer, service::profile(context.env, request, watch));
  return std::visit([&](const auto& measured) { return show(context, measured, options); }, answer);
}

}  // namespace

Command profile_command() {
  return {
      "profile",
      "train a model for real for a few steps and trace every operator, or measure several workers and their network",
      join(
          join(
              service::profile_fields().records(),
              {integer_option("top", 15, "operators to list").bounds(1, 1e6),
               text_option("trace", "",
                           "write the trace: .pftrace for ui.perfetto.dev, .json for Chrome, or .trace.json")
                   .in("FILE"),
               text_option("out", "", "with --workers: write step times and sampled series to this folder").in("DIR")}),
          table_options()),
      {"orrery profile resnet18 --batch 8", "orrery profile resnet18 --batch 8 --trace resnet18.pftrace",
       "orrery profile lenet --data fashion-mnist --batch 64 --repetitions 100",
       "orrery profile gpt2:layers=2 --batch 1 --data README.md --threads 1",
       "orrery profile resnet18 --json > operators.json", "orrery profile lenet --workers 2 --steps 20",
       "orrery profile lenet --workers 2 --form allreduce --steps 20",
       "orrery profile mobilenet_v2 --workers 2 --isolate --rate 50MB/s --out run",
       "orrery profile resnet18 --workers 2 --rate 50MB/s --predict"},
      run_profile};
}

}  // namespace orrery::cli
