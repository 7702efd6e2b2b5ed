#include <fmt/format.h>
#include <limits>
#include <optional>

#include "base/text.h"
#include "cli/commands.h"
#include "env/clock.h"
#include "env/processes.h"
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

// Waits until `next`; the exit if the command ended before.
Result<std::optional<env::ProcessExit>> wait_until(env::Env env, env::Process* command, Seconds next) {
  const Seconds left = next - env.clock.monotonic();
  if (command != nullptr) return command->wait(left);
  env.clock.sleep(left);
  return std::optional<env::ProcessExit>();
}

// Until the command ends or the time is up. The command is ended with the observation.
Status observe(env::Env env, env::Process* command, Seconds time_max, Seconds period,
               profile::SampleCollector& collector) {
  const Seconds end = env.clock.monotonic() + time_max;
  for (Seconds next = env.clock.monotonic(); next < end;) {
    ORRERY_TRY_VOID(collector.collect());
    while (next <= env.clock.monotonic()) next += period;
    ORRERY_TRY(const auto exit, wait_until(env, command, next));
    if (exit && exit->ok()) return {};
    if (exit) return Error::unavailable(fmt::format("the command ended with {}", to_string(*exit)));
  }
  return command == nullptr ? Status() : command->kill(env::Signal::kKill);
}

Status run_sample(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  profile::SampleOptions how = sample_options(options);
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
      "sample CPU, memory, network, disk and GPU use, of the machine and of a command",
      join({number_option("seconds", 10, "how long; with a command, until it ends unless given").bounds(0.01, 86400),
            duration_option("period", "10ms", "between two samples").bounds(0.001, 60),
            text_option("interface", "", "network interfaces; all but lo unless given").in("NAME").list(),
            optional_integer("pid", "processes to sample, each with its descendants").bounds(1, 1 << 30).list(),
            text_option("out", "", "write every value to this CSV file").in("FILE")},
           table_options()),
      {"orrery sample --seconds 10 --period 10ms --out series.csv", "orrery sample -- orrery profile lenet",
       "orrery sample --pid 1 --seconds 1 --json"},
      run_sample};
}

}  // namespace orrery::cli
