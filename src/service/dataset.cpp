#include "service/dataset.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>

#include "base/statistics.h"
#include "base/text.h"

namespace orrery::service {

using profile::Dataset;
using profile::DatasetEntry;

namespace {

OptionRecord file_option() {
  return text_option("file", "", "data set").in("FILE").required().word();
}

OptionRecord time_option() {
  return optional_duration("time", "stop after this time; running the same command again continues");
}

OptionRecord busy_option() {
  return flag_option("busy", "measure although other programs use the processor, instead of waiting until they do not");
}

}  // namespace

const Fields<DatasetBuildRequest>& dataset_build_fields() {
  using D = DatasetBuildRequest;
  static const auto kFields =
      Fields<D>()
          .add(&D::file, file_option())
          .add(&D::count, integer_option("count", 800, "configurations that the file should hold").bounds(1, 1e6))
          .add(&D::time, time_option())
          .add(&D::seed, integer_option("seed", 1, "seed of the configurations").bounds(0, 1e15))
          .add(&D::visits,
               integer_option("visits", 3, "measurements of each configuration, minutes apart").bounds(1, 100))
          .add(&D::threads, integer_option("threads", 1, "threads inside operators; one thread gives the least noise")
                                .bounds(1, 1024))
          .add(&D::busy, busy_option());
  return kFields;
}

const Fields<DatasetJobsRequest>& dataset_jobs_fields() {
  using D = DatasetJobsRequest;
  static const auto kFields =
      Fields<D>()
          .add(&D::file, file_option())
          .add(&D::count, integer_option("count", 240, "jobs that the file should hold").bounds(1, 1e6))
          .add(&D::time, time_option())
          .add(&D::seed, integer_option("seed", 1, "seed of the jobs").bounds(0, 1e15))
          .add(&D::busy, busy_option());
  return kFields;
}

const Fields<DatasetShowRequest>& dataset_show_fields() {
  static const auto kFields = Fields<DatasetShowRequest>().add(&DatasetShowRequest::file, file_option());
  return kFields;
}

Result<profile::Workbench> workbench(env::Env env) {
  ORRERY_TRY(std::unique_ptr<profile::SpeedProbe> speed_probe, profile::make_speed_probe(env.clock));
  return profile::Workbench{.make =
                                [env](const workload::TrainingRun& run, const profile::ExecutorOptions& options) {
                                  return profile::make_executor(run, options, env.clock);
                                },
                            .speed_probe = std::move(speed_probe)};
}

Result<profile::BuildReport> build_dataset(env::Env env, const DatasetBuildRequest& request, Watch& watch) {
  profile::BuildOptions how;
  how.count = request.count;
  if (request.time) how.time_max = *request.time;
  how.seed = request.seed;
  how.threads = request.threads;
  how.visits = request.visits;
  how.others = request.busy ? profile::Others::kIgnored : profile::Others::kWaitedFor;
  watch.begin("measuring", static_cast<std::int64_t>(how.count * how.visits), "visits");
  ORRERY_TRY(const profile::Workbench bench, workbench(env));
  std::optional<std::int64_t> earlier;
  const auto report = [&](std::size_t visits) {
    const auto done = static_cast<std::int64_t>(visits);
    if (!earlier) earlier = done - 1;
    watch.at(done, *earlier);
  };
  return profile::build_dataset(env, request.file, how, bench, report);
}

namespace {

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

DatasetSummary show_configurations(const Dataset& dataset) {
  Table table = family_table(dataset);
  std::vector<double> spreads, conservation;
  for (const DatasetEntry& entry : dataset.entries) {
    Seconds total;
    for (const auto& op : entry.operators) total += op.execution + op.gap;
    spreads.push_back(entry.spread());
    conservation.push_back(std::abs(total / entry.iteration() - 1));
  }
  std::string text = fmt::format("{} configurations of {} families\nmeasured on {}, {}, {} threads, seed {}\n",
                                 dataset.entries.size(), table.rows(), dataset.header.machine, dataset.header.library,
                                 dataset.header.threads, dataset.header.seed);
  if (!spreads.empty()) {
    text += fmt::format("median spread of visits {:.1f} %, of operators and gaps against the iteration {:.1f} %\n",
                        100 * median(spreads), 100 * median(conservation));
  }
  return DatasetSummary{text + "\n", std::move(table)};
}

}  // namespace

Result<DatasetSummary> show_dataset(env::Env env, const DatasetShowRequest& request) {
  if (const auto jobs = profile::read_jobs(env.files, request.file)) return show_jobs(*jobs);
  ORRERY_TRY(const Dataset dataset, profile::read_dataset(env.files, request.file));
  return show_configurations(dataset);
}

}  // namespace orrery::service
