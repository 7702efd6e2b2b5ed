#include "service/sample.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <optional>

#include "base/text.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/processes.h"
#include "profile/proc_text.h"

namespace orrery::service {

const Fields<SampleRequest>& sample_fields() {
  using S = SampleRequest;
  static const auto kFields =
      Fields<S>()
          .add(&S::seconds,
               number_option("seconds", 10, "how long to sample (with a command, the default is until it ends)")
                   .bounds(0.01, 86400))
          .add(&S::period, duration_option("period", "10ms", "time between two samples").bounds(0.001, 60))
          .add(&S::interfaces,
               text_option("interface", "", "network interfaces to sample (default: all but lo)").in("NAME").list())
          .add(
              &S::pids,
              optional_integer("pid", "processes to sample; their descendants are included").bounds(1, 1 << 30).list());
  return kFields;
}

Table sample_table(const profile::Samples& samples) {
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

namespace {

profile::SampleOptions sample_options(const SampleRequest& request) {
  profile::SampleOptions result;
  result.period = request.period;
  result.interfaces = request.interfaces;
  for (const std::int64_t pid : request.pids) {
    result.processes.push_back({fmt::format("process {}", pid), pid, false});
  }
  return result;
}

Result<std::unique_ptr<env::Process>> start(env::Env env, const std::vector<std::string>& argv) {
  if (argv.empty()) return std::unique_ptr<env::Process>();
  env::ProcessSpec spec;
  spec.argv = argv;
  spec.own_group = true;
  return env.processes.spawn(spec);
}

// Waits until `next`; the exit if the command ended before. Returns early when it is asked to stop.
Result<std::optional<env::ProcessExit>> wait_until(env::Env env, env::Process* command, Seconds next, Watch& watch) {
  constexpr Seconds kSlice(0.1);  // how late a request to stop may be seen
  std::optional<env::ProcessExit> exit;
  while (!exit && env.clock.monotonic() < next && !watch.stopped()) {
    const Seconds left = std::min(kSlice, next - env.clock.monotonic());
    if (command == nullptr) {
      env.clock.sleep(left);
      continue;
    }
    ORRERY_TRY(exit, command->wait(left));
  }
  return exit;
}

// Until the command ends, the time is up or it is asked to stop. The command is ended with the observation.
Status observe(env::Env env, env::Process* command, Seconds time_max, Seconds period,
               profile::SampleCollector& collector, Watch& watch) {
  const Seconds end = env.clock.monotonic() + time_max;
  for (Seconds next = env.clock.monotonic(); next < end && !watch.stopped();) {
    ORRERY_TRY_VOID(collector.collect());
    while (next <= env.clock.monotonic()) next += period;
    ORRERY_TRY(const auto exit, wait_until(env, command, next, watch));
    if (exit && exit->ok()) return {};
    if (exit) return Error::unavailable(fmt::format("the command ended with {}", to_string(*exit)));
  }
  return command == nullptr ? Status() : command->kill(env::Signal::kKill);
}

// What is named must be there when sampling begins; it may end later.
Status check_names(env::Files& files, const profile::SampleOptions& how, const FieldNames& names_of) {
  for (const profile::SampledProcess& process : how.processes) {
    if (!files.exists(fmt::format("/proc/{}/stat", process.pid)))
      return Error::not_found(fmt::format("{}: there is no process {}", names_of("pid"), process.pid));
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
      return Error::not_found(
          fmt::format("{}: there is no {}{}", names_of("interface"), quote(name), did_you_mean(name, names)));
  }
  return {};
}

}  // namespace

Result<SampleAnswer> sample(env::Env env, const SampleRequest& request, const std::vector<std::string>& command,
                            Watch& watch) {
  profile::SampleOptions how = sample_options(request);
  ORRERY_TRY_VOID(check_names(env.files, how, request.names));
  ORRERY_TRY(const auto process, start(env, command));
  if (process) how.processes.push_back({"command", process->id(), false});
  auto collector = profile::make_collector(env.files, env.clock, how);
  const bool until_command_ends = process && !request.seconds.given();
  const Seconds time_max(until_command_ends ? std::numeric_limits<double>::infinity() : *request.seconds);
  Status ended = observe(env, process.get(), time_max, how.period, collector, watch);
  return SampleAnswer{collector.samples(), std::move(ended)};
}

}  // namespace orrery::service
