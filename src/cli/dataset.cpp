#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>

#include "base/statistics.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/dataset_commands.h"
#include "env/clock.h"
#include "profile/dataset/build.h"

namespace orrery::cli {

using profile::Dataset;
using profile::DatasetEntry;

Result<profile::Workbench> workbench(env::Env env) {
  ORRERY_TRY(std::unique_ptr<profile::SpeedProbe> speed_probe, profile::make_speed_probe(env.clock));
  return profile::Workbench{.make =
                                [env](const workload::TrainingRun& run, const profile::ExecutorOptions& options) {
                                  return profile::make_executor(run, options, env.clock);
                                },
                            .speed_probe = std::move(speed_probe)};
}

void advance_to(Progress& progress, std::size_t done) {
  if (progress.done() == 0) progress.skip(static_cast<std::int64_t>(done) - 1);
  progress.advance(1);
}

namespace {

OptionRecord visits_option() {
  return integer_option("visits", 3, "measurements of each configuration, minutes apart").bounds(1, 100);
}

Status run_build(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  profile::BuildOptions how;
  how.count = static_cast<std::size_t>(options.integer("count"));
  if (options.has("time")) how.time_max = options.duration("time");
  how.seed = static_cast<std::uint64_t>(options.integer("seed"));
  how.threads = static_cast<int>(options.integer("threads"));
  how.visits = static_cast<std::size_t>(options.integer("visits"));
  Progress progress("measuring", static_cast<std::int64_t>(how.count * how.visits),
                    progress_options(context.env, "visits"));
  progress.begin();
  ORRERY_TRY(const profile::Workbench bench, workbench(context.env));
  const auto report = [&](std::size_t visits) { advance_to(progress, visits); };
  ORRERY_TRY(const profile::BuildReport built,
             profile::build_dataset(context.env, arguments.words[0], how, bench, report));
  context.print(fmt::format("{}: {} configurations, {} visits now, {} of all noisy\n", arguments.words[0],
                            built.entries, built.visits, built.noisy));
  for (const std::string& failure : built.failures) context.print(fmt::format("left out: {}\n", failure));
  return {};
}

struct FamilySummary {
  std::int64_t entries = 0, noisy = 0, operators = 0;
  std::vector<double> iterations_s;
};

Table family_table(const Dataset& dataset) {
  std::map<std::string, FamilySummary> families;
  for (const DatasetEntry& entry : dataset.entries) {
    FamilySummary& family = families[entry.configuration.family];
    ++family.entries;
    family.noisy += entry.is_noisy() ? 1 : 0;
    family.operators += static_cast<std::int64_t>(entry.operators.size());
    family.iterations_s.push_back(entry.iteration().value());
  }
  Table table({{"family", "family"},
               {"configurations", "configurations", CellFormat::kInteger},
               {"noisy", "noisy", CellFormat::kInteger},
               {"operators", "operators", CellFormat::kInteger},
               {"iteration_low_s", "fastest", CellFormat::kSeconds},
               {"iteration_median_s", "median", CellFormat::kSeconds},
               {"iteration_high_s", "slowest", CellFormat::kSeconds}});
  for (const auto& [name, family] : families) {
    table.add({name, family.entries, family.noisy, family.operators, quantile(family.iterations_s, 0),
               median(family.iterations_s), quantile(family.iterations_s, 1)});
  }
  return table;
}

Status run_show(Context& context, const Arguments& arguments) {
  if (const auto jobs = profile::read_jobs(context.env.files, arguments.words[0])) {
    return show_jobs(context, *jobs, arguments.options);
  }
  ORRERY_TRY(const Dataset dataset, profile::read_dataset(context.env.files, arguments.words[0]));
  const Table table = family_table(dataset);
  if (!for_people(arguments.options)) return context.print_table(table, arguments.options);
  std::vector<double> spreads, conservation;
  for (const DatasetEntry& entry : dataset.entries) {
    Seconds total;
    for (const auto& op : entry.operators) total += op.execution + op.gap;
    spreads.push_back(entry.spread());
    conservation.push_back(std::abs(total / entry.iteration() - 1));
  }
  context.print(fmt::format("{} configurations of {} families\nmeasured on {}, {}, {} threads, seed {}\n",
                            dataset.entries.size(), table.rows(), dataset.header.machine, dataset.header.library,
                            dataset.header.threads, dataset.header.seed));
  if (!spreads.empty()) {
    context.print(
        fmt::format("median spread of visits {:.1f} %, of operators and gaps against the iteration {:.1f} %\n",
                    100 * median(spreads), 100 * median(conservation)));
  }
  context.print("\n");
  return context.print_table(table, arguments.options);
}

}  // namespace

Command dataset_build_command() {
  return {"dataset build",
          "FILE",
          1,
          1,
          "measure random training configurations of the zoo and collect them in one file",
          {integer_option("count", 800, "configurations that the file should hold").bounds(1, 1e6),
           optional_duration("time", "stop after this time; running the same command again continues"),
           integer_option("seed", 1, "seed of the configurations").bounds(0, 1e15), visits_option(),
           integer_option("threads", 1, "threads inside operators; one thread gives the least noise").bounds(1, 1024)},
          {"orrery dataset build cpu.dataset", "orrery dataset build cpu.dataset --count 2000 --time 1h"},
          run_build};
}

Command dataset_show_command() {
  return {"dataset show",
          "FILE",
          1,
          1,
          "summarise a data set by family or by setting",
          table_options(),
          {"orrery dataset show cpu.dataset", "orrery dataset show cpu.dataset --json"},
          run_show};
}

}  // namespace orrery::cli
