#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/commands.h"
#include "elastic/job/launcher.h"

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

Result<elastic::LaunchOptions> launch_options(const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  elastic::LaunchOptions launch;
  launch.argv = arguments.words;
  launch.arena_bytes = static_cast<std::uint64_t>(options.integer("arena")) << 20;
  launch.events = options.text("events");
  launch.notice = options.text("notice");
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
  roster.spares = static_cast<int>(options.integer("spares"));
  roster.replacements = static_cast<int>(options.integer("replace"));
  if (roster.size_max + roster.spares > elastic::kSlotsMax) {
    return Error::invalid(fmt::format("{} members and {} spares; at most {} processes fit on one host", roster.size_max,
                                      roster.spares, elastic::kSlotsMax));
  }
  // Those who leave keep their slots for a moment while others come.
  roster.slots = std::min(elastic::kSlotsMax, 2 * roster.size_max + roster.spares);
  return launch;
}

Status run_job(Context& context, const Arguments& arguments) {
  ORRERY_TRY(const elastic::LaunchOptions options, launch_options(arguments));
  ORRERY_TRY(const elastic::LaunchReport report, elastic::launch(context.env, options));
  context.exit_with(report.exit_code);
  return {};
}

}  // namespace

Command run_command() {
  return {"run",
          "-- PROGRAM [ARGUMENT…]",
          1,
          4096,
          "start the processes of a training job on this host, and let others take their places when they die",
          {integer_option("workers", 2, "members at first").bounds(1, elastic::kSlotsMax).or_letter('n'),
           text_option("elastic", "", "fewest and most members it may have; 1:WORKERS unless given").in("MIN:MAX"),
           integer_option("spares", 0, "processes that are started and wait until they are needed")
               .bounds(0, elastic::kSlotsMax),
           integer_option("replace", 0, "members that died and are replaced by others, in all").bounds(0, 1e6),
           text_option("name", "", "by which other commands find the job; job-PROCESS unless given").in("NAME"),
           text_option("events", "", "append what happens to members, as lines of JSON").in("FILE"),
           text_option("notice", "", "when this file appears the job stops; with numbers in it, these members leave")
               .in("FILE"),
           integer_option("arena", 256, "MiB of shared memory for the tensors of each process").bounds(0, 1 << 20),
           flag_option("quiet", "say nothing but what the program prints, and errors")},
          {"orrery run -n 3 --name demo --elastic 1:4 -- orrery train lenet --passes 1",
           "orrery run -n 2 --spares 1 --replace 5 --events events.jsonl -- python3 train.py",
           "orrery run -n 2 -- sh -c hostname"},
          run_job};
}

}  // namespace orrery::cli
