#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>

#include "base/random.h"
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
  return integer_option("visits", 3, "measurements of each, minutes apart").bounds(1, 100);
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

// `count` entries, chosen by the seed, in the order of the file.
std::vector<const DatasetEntry*> sample_of(const Dataset& dataset, std::size_t count, std::uint64_t seed) {
  std::vector<const DatasetEntry*> chosen;
  Random random(seed);
  std::size_t wanted = std::min(count, dataset.entries.size());
  for (std::size_t i = 0; i < dataset.entries.size(); ++i) {
    if (random.below(dataset.entries.size() - i) >= wanted) continue;
    chosen.push_back(&dataset.entries[i]);
    --wanted;
  }
  return chosen;
}

Status run_check(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const Dataset dataset, profile::read_dataset(context.env.files, arguments.words[0]));
  const auto chosen = sample_of(dataset, static_cast<std::size_t>(options.integer("count")),
                                static_cast<std::uint64_t>(options.integer("seed")));
  if (chosen.empty()) return Error::invalid("the data set has no entries");
  Table table({{"model", "model"},
               {"batch", "batch", CellFormat::kInteger},
               {"stored_s", "stored", CellFormat::kSeconds},
               {"measured_s", "now", CellFormat::kSeconds},
               {"difference", "difference", CellFormat::kPercent},
               {"slowness", "slowness now", CellFormat::kNumber},
               {"noisy", "noisy"}});
  const std::int64_t visits = options.integer("visits");
  Progress progress("measuring", visits * static_cast<std::int64_t>(chosen.size()),
                    progress_options(context.env, "visits"));
  progress.begin();
  ORRERY_TRY(const profile::Workbench bench, workbench(context.env));
  std::vector<DatasetEntry> again(chosen.size());
  std::vector<std::vector<double>> slowness(chosen.size());
  for (std::int64_t round = 0; round < visits; ++round) {
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      ORRERY_TRY(const profile::Profile now,
                 profile::visit(context.env, chosen[i]->configuration, dataset.header, bench));
      ORRERY_TRY_VOID(add_visit(again[i], now));
      slowness[i].push_back(now.slowness);
      progress.advance(1);
    }
  }
  progress.finish();
  std::vector<double> differences;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const Seconds stored = chosen[i]->iteration(), now = again[i].iteration();
    differences.push_back(std::abs(now / stored - 1));
    table.add({chosen[i]->configuration.model, chosen[i]->configuration.batch, stored.value(), now.value(),
               differences.back(), median(slowness[i]), chosen[i]->is_noisy() || again[i].is_noisy()});
  }
  ORRERY_TRY_VOID(context.print_table(table, options));
  if (for_people(options)) {
    context.print(fmt::format("\nmedian difference {:.1f} % over {} configurations\n", 100 * median(differences),
                              differences.size()));
  }
  return {};
}

}  // namespace

Command dataset_build_command() {
  return {"dataset build",
          "FILE",
          1,
          1,
          "measure random training configurations of the zoo into one file",
          {integer_option("count", 800, "configurations the file shall have").bounds(1, 1e6),
           optional_duration("time", "stop after this; the same command goes on later"),
           integer_option("seed", 1, "of the configurations").bounds(0, 1e15), visits_option(),
           integer_option("threads", 1, "threads inside operators; one is the least disturbed").bounds(1, 1024)},
          {"orrery dataset build cpu.dataset", "orrery dataset build cpu.dataset --count 2000 --time 1h"},
          run_build};
}

Command dataset_show_command() {
  return {"dataset show",
          "FILE",
          1,
          1,
          "what a data set holds, by family or by setting",
          table_options(),
          {"orrery dataset show cpu.dataset", "orrery dataset show cpu.dataset --json"},
          run_show};
}

Command dataset_check_command() {
  return {"dataset check",
          "FILE",
          1,
          1,
          "measure some configurations of a data set again and compare",
          join({integer_option("count", 30, "configurations to measure").bounds(1, 1e6), visits_option(),
                integer_option("seed", 1, "of which ones").bounds(0, 1e15)},
               table_options()),
          {"orrery dataset check cpu.dataset --count 30"},
          run_check};
}

}  // namespace orrery::cli
