#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/commands.h"
#include "elastic/job/agent.h"
#include "elastic/job/launcher.h"
#include "env/files.h"

namespace orrery::cli {

namespace {

// "1:8".
Result<std::pair<int, int>> parse_bounds(const std::string& text) {
  const auto parts = split(text, ':');
  int bounds[2] = {0, 0};
  bool is_sound = parts.size() == 2;
  for (std::size_t i = 0; is_sound && i < 2; ++i) {
    const char* const end = parts[i].data() + parts[i].size();
    const auto [stopped, failure] = std::from_chars(parts[i].data(), end, bounds[i]);
    is_sound = failure == std::errc() && stopped == end && bounds[i] >= 1 && bounds[i] <= elastic::kSlotsMax;
  }
  if (!is_sound || bounds[0] > bounds[1]) {
    return Error::invalid(
        fmt::format("--elastic: expected MIN:MAX from 1 to {}, such as 1:8, not {}", elastic::kSlotsMax, quote(text)));
  }
  return std::pair(bounds[0], bounds[1]);
}

constexpr Bytes kSecretMax = kibibytes(4);

// The first line of a file that only its owner should be able to read. Nothing if none was named.
Result<std::string> read_secret(Context& context, const OptionValues& options, const std::string& option) {
  if (!options.has(option)) return std::string();
  ORRERY_TRY(const std::string text, context.env.files.read(options.text(option), kSecretMax));
  const std::string secret = split(text, '\n').front();
  if (secret.empty()) {
    return Error::invalid(fmt::format("{} holds no secret in its first line", quote(options.text(option))));
  }
  return secret;
}

Result<std::vector<env::Address>> parse_agents(const std::string& text) {
  std::vector<env::Address> agents;
  for (const std::string& one : split(text, ',')) {
    auto address = env::parse_address(one);
    if (!address) return std::move(address).error().with_context("--hosts");
    agents.push_back(std::move(*address));
  }
  return agents;
}

Result<elastic::LaunchOptions> launch_options(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  elastic::LaunchOptions launch;
  launch.argv = options.texts("program");
  launch.arena_bytes = static_cast<std::uint64_t>(options.size("shm-size").value());
  launch.folder = options.text("folder");
  launch.events = options.text("events");
  launch.preemption_file = options.text("preemption-file");
  launch.is_quiet = options.flag("quiet");
  elastic::RosterOptions& roster = launch.roster;
  roster.job = options.has("name") ? options.text("name") : fmt::format("job-{}", ::getpid());
  roster.size = static_cast<int>(options.integer("workers"));
  roster.size_max = roster.size;
  if (options.has("elastic")) {
    ORRERY_TRY(std::tie(roster.size_min, roster.size_max), parse_bounds(options.text("elastic")));
    if (roster.size < roster.size_min || roster.size > roster.size_max) {
      return Error::invalid(fmt::format("--workers {} is outside --elastic {}", roster.size, options.text("elastic")));
    }
  }
  roster.standby = static_cast<int>(options.integer("standby"));
  roster.replacements = static_cast<int>(options.integer("max-restarts"));
  launch.partition_timeout = options.duration("partition-timeout");
  if (options.has("hosts")) {
    ORRERY_TRY(launch.agents, parse_agents(options.text("hosts")));
    ORRERY_TRY(launch.credentials.secret, read_secret(context, options, "secret-file"));
    launch.credentials.encrypts = options.flag("encrypt");
  } else if (options.flag("encrypt")) {
    return Error::invalid("--encrypt is for jobs on several hosts (--hosts)");
  }
  if (roster.size_max + roster.standby > elastic::kSlotsMax) {
    return Error::invalid(fmt::format("{} workers and {} standby; at most {} processes fit on one host",
                                      roster.size_max, roster.standby, elastic::kSlotsMax));
  }
  // Leaving workers keep their slots for a moment while others come.
  roster.slots = std::min(elastic::kSlotsMax, 2 * roster.size_max + roster.standby);
  return launch;
}

Status run_job(Context& context, const Arguments& arguments) {
  ORRERY_TRY(const elastic::LaunchOptions options, launch_options(context, arguments));
  ORRERY_TRY(const elastic::LaunchReport report, elastic::launch(context.env, options));
  context.exit_with(report.exit_code);
  return {};
}

}  // namespace

Command run_command() {
  return {
      "run",
      "start the worker processes of a training job, on this host or on several, and replace workers that die",
      {text_option("program", "", "program of the workers and its arguments, after `--`")
           .in("-- PROGRAM [ARGUMENT]")
           .word()
           .list(4096)
           .required(),
       integer_option("workers", 2, "initial number of workers").bounds(1, elastic::kSlotsMax).or_letter('n'),
       text_option("elastic", "", "smallest and largest number of workers (default: 1:WORKERS)").in("MIN:MAX"),
       integer_option("standby", 0, "standby workers: processes that are started and wait until they are needed")
           .bounds(0, elastic::kSlotsMax),
       integer_option("max-restarts", 0, "how many dead workers are replaced, in total").bounds(0, 1e6),
       text_option("name", "", "name by which other commands find the job (default: job-PROCESS)").in("NAME"),
       text_option(
           "folder", "",
           "folder of this attempt to run the job, created here and an error if it exists; when the job has ended, "
           "its file `exit` says how")
           .in("DIR"),
       text_option("events", "", "append every event of the workers as a line of JSON").in("FILE"),
       text_option("preemption-file", "",
                   "preemption notice: when this file appears, the job stops; if it lists worker numbers, only these "
                   "workers leave")
           .in("FILE"),
       text_option("hosts", "", "run on these hosts, through the `orrery agent` on each of them").in("HOST:PORT,…"),
       text_option("secret-file", "", "file whose first line is the secret of the agents").in("FILE"),
       flag_option("encrypt", "encrypt what hosts send each other; it is signed in any case"),
       duration_option("partition-timeout", "30s",
                       "how long a minority of the workers waits for the others before it gives up")
           .bounds(0, 1e6),
       size_option("shm-size", "256MiB", "shared memory for the tensors of each worker")
           .bounds(0, gibibytes(1024).value()),
       flag_option("quiet", "print only the output of the program, and errors")},
      {"orrery run -n 3 --name demo --elastic 1:4 -- orrery train lenet --epochs 1",
       "orrery run -n 2 --standby 1 --max-restarts 5 --events events.jsonl -- python3 train.py",
       "orrery run -n 2 -- sh -c hostname",
       "orrery run -n 4 --hosts 10.0.0.1:7700,10.0.0.2:7700 --secret-file ~/.orrery-secret -- python3 train.py"},
      run_job};
}

namespace {

Status be_agent(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  elastic::AgentOptions agent;
  auto address = env::parse_address(options.text("listen"));
  if (!address) return std::move(address).error().with_context("--listen");
  agent.listen = std::move(*address);
  ORRERY_TRY(agent.credentials.secret, read_secret(context, options, "secret-file"));
  agent.credentials.encrypts = options.flag("encrypt");
  return elastic::run_agent(context.env, agent);
}

}  // namespace

Command agent_command() {
  return {"agent",
          "start and supervise processes on this host for `orrery run --hosts` on other hosts",
          {text_option("listen", "127.0.0.1:7700",
                       "address on which launchers and workers of other hosts connect; they must be able to reach it")
               .in("HOST:PORT"),
           text_option("secret-file", "", "file whose first line is the secret that a launcher must know").in("FILE"),
           flag_option("encrypt", "refuse launchers that do not encrypt")},
          {"orrery agent --listen 10.0.0.1:7700 --secret-file ~/.orrery-secret"},
          be_agent};
}

}  // namespace orrery::cli
