#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <optional>

#include "base/text.h"
#include "cli/commands.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/processes.h"
#include "env/terminal.h"
#include "profile/proc_text.h"
#include "profile/sampler.h"

namespace orrery::cli {

namespace {

Table summary(const profile::Samples& samples) {
  Table table({{"series", "series"},
               {"unit", "unit"},
               {"values", "values", CellFormat::kInteger},
               {"mean", "mean", CellFormat::kNumber},
               {"max", "max", CellFormat::kNumber},
               {"resolution_s", "resolution", CellFormat::kSeconds}});
  for (const trace::ResourceSeries& series : samples.series) {
    table.add({series.name, series.unit, static_cast<std::int64_t>(series.values.size()), profile::mean(series),
               profile::largest(series), profile::resolution(series).value()});
  }
  return table;
}

profile::SampleOptions sample_options(const OptionValues& options) {
  profile::SampleOptions result;
  result.period = options.duration("period");
  result.interfaces = options.texts("interface");
  if (!options.has("pid")) return result;
  for (const std::int64_t pid : options.integers("pid")) {
    result.processes.push_back({fmt::format("process {}", pid), pid, false});
  }
  return result;
}

Seconds time_limit(const Arguments& arguments) {
  const bool until_command_ends = !arguments.words.empty() && !arguments.options.given("seconds");
  return Seconds(until_command_ends ? std::numeric_limits<double>::infinity() : arguments.options.number("seconds"));
}

Result<std::unique_ptr<env::Process>> start(env::Env env, const std::vector<std::string>& argv) {
  if (argv.empty()) return std::unique_ptr<env::Process>();
  env::ProcessSpec spec;
  spec.argv = argv;
  spec.own_group = true;
  return env.processes.spawn(spec);
}

// Waits until `next`; the exit if the command ended before. Returns early when the user interrupts.
Result<std::optional<env::ProcessExit>> wait_until(env::Env env, env::Process* command, Seconds next) {
  constexpr Seconds kSlice(0.1);  // how late an interrupt may be seen
  std::optional<env::ProcessExit> exit;
  while (!exit && env.clock.monotonic() < next && !env.terminal.was_interrupted()) {
    const Seconds left = std::min(kSlice, next - env.clock.monotonic());
    if (command == nullptr) {
      env.clock.sleep(left);
      continue;
    }
    ORRERY_TRY(exit, command->wait(left));
  }
  return exit;
}

// Until the command ends, the time is up or the user interrupts. The command is ended with the observation.
Status observe(env::Env env, env::Process* command, Seconds time_max, Seconds period,
               profile::SampleCollector& collector) {
  const Seconds end = env.clock.monotonic() + time_max;
  for (Seconds next = env.clock.monotonic(); next < end && !env.terminal.was_interrupted();) {
    ORRERY_TRY_VOID(collector.collect());
    while (next <= env.clock.monotonic()) next += period;
    ORRERY_TRY(const auto exit, wait_until(env, command, next));
    if (exit && exit->ok()) return {};
    if (exit) return Error::unavailable(fmt::format("the command ended with {}", to_string(*exit)));
  }
  return command == nullptr ? Status() : command->kill(env::Signal::kKill);
}

// What is named must be there when sampling begins; it may end later.
Status check_names(env::Files& files, const profile::SampleOptions& how) {
  for (const profile::SampledProcess& process : how.processes) {
    if (!files.exists(fmt::format("/proc/{}/stat", process.pid)))
      return Error::not_found(fmt::format("--pid: there is no process {}", process.pid));
  }
  const bool all =
      std::all_of(how.interfaces.begin(), how.interfaces.end(), [](const auto& name) { return name.empty(); });
  if (all) return {};
  constexpr Bytes kMost = mebibytes(4);
  ORRERY_TRY(const std::string text, files.read("/proc/net/dev", kMost));
  ORRERY_TRY(const auto interfaces, profile::parse_interfaces(text));
  std::vector<std::string> names;
  for (const auto& [name, traffic] : interfaces) names.push_back(name);
  for (const std::string& name : how.interfaces) {
    if (!interfaces.contains(name))
      return Error::not_found(fmt::format("--interface: there is no {}{}", quote(name), did_you_mean(name, names)));
  }
  return {};
}

Status run_sample(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  profile::SampleOptions how = sample_options(options);
  ORRERY_TRY_VOID(check_names(context.env.files, how));
  ORRERY_TRY(const auto command, start(context.env, arguments.words));
  if (command) how.processes.push_back({"command", command->id(), false});
  auto collector = profile::make_collector(context.env.files, context.env.clock, how);
  const Status observed = observe(context.env, command.get(), time_limit(arguments), how.period, collector);
  const profile::Samples samples = collector.samples();
  ORRERY_TRY_VOID(context.print_table(summary(samples), options));
  for (const std::string& note : samples.notes) {
    if (for_people(options)) context.print(fmt::format("note: {}\n", note));
  }
  if (!options.has("out")) return observed;
  const std::string csv = profile::to_csv(samples.series, profile::first_time(samples.series));
  ORRERY_TRY_VOID(context.write_file(options.text("out"), csv, options));
  return observed;
}

}  // namespace

Command sample_command() {
  return {
      "sample",
      "[-- COMMAND…]",
      0,
      1000,
      "sample CPU, memory, network, disk and GPU utilisation of the machine and of a command",
      join({number_option("seconds", 10, "how long to sample (with a command, the default is until it ends)")
                .bounds(0.01, 86400),
            duration_option("period", "10ms", "time between two samples").bounds(0.001, 60),
            text_option("interface", "", "network interfaces to sample (default: all but lo)").in("NAME").list(),
            optional_integer("pid", "processes to sample; their descendants are included").bounds(1, 1 << 30).list(),
            text_option("out", "", "write every value to this CSV file").in("FILE")},
           table_options()),
      {"orrery sample --seconds 10 --period 10ms --out series.csv", "orrery sample -- orrery profile lenet",
       "orrery sample --pid 1 --seconds 1 --json"},
      run_sample};
}

}  // namespace orrery::cli
