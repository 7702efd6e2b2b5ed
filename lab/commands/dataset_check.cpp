#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/random.h"
#include "base/statistics.h"
#include "lab/commands/commands.h"
#include "profile/dataset/build.h"
#include "service/dataset.h"

namespace orrery::lab {

using namespace cli;
using profile::Dataset;
using profile::DatasetEntry;

namespace {

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
  ORRERY_TRY(const profile::Workbench bench, service::workbench(context.env));
  std::vector<DatasetEntry> again(chosen.size());
  std::vector<std::vector<double>> slowness(chosen.size());
  profile::MeasuringTime time(context.env, profile::Others::kWaitedFor, Seconds(0));
  for (std::int64_t round = 0; round < visits; ++round) {
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      time.may_begin();
      ORRERY_TRY(const profile::Visit now,
                 profile::visit(context.env, chosen[i]->configuration, dataset.header, bench, time));
      ORRERY_TRY_VOID(add_visit(again[i], now.profile));
      slowness[i].push_back(now.profile.slowness);
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

Command dataset_check_command() {
  return {"dataset check",
          "FILE",
          1,
          1,
          "measure some configurations of a data set again and compare the times",
          join({integer_option("count", 30, "configurations to measure again").bounds(1, 1e6),
                integer_option("visits", 3, "measurements of each configuration, minutes apart").bounds(1, 100),
                integer_option("seed", 1, "seed of the choice of configurations").bounds(0, 1e15)},
               table_options()),
          {"orrery-lab dataset check cpu.dataset --count 30"},
          run_check};
}

}  // namespace orrery::lab
