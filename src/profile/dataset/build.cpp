#include "profile/dataset/build.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/text.h"
#include "env/clock.h"
#include "env/files.h"
#include "profile/line_log.h"

namespace orrery::profile {

namespace {

constexpr Seconds kQuietTime(5);  // to find out what a quiet core reads
constexpr ProfileOptions kRounds{.warmup = 2, .repetitions = 30, .time_max = Seconds(0.4)};

// The text after "KEY" and ":" in a file like /proc/cpuinfo.
std::string field(std::string_view text, std::string_view key) {
  const std::size_t line = text.find(key);
  if (line == std::string_view::npos) return "unknown";
  const std::size_t colon = text.find(':', line);
  const std::string_view value = text.substr(colon + 1, text.find('\n', colon) - colon - 1);
  return std::string(trim(value));
}

std::size_t occurrences(std::string_view text, std::string_view word) {
  std::size_t count = 0;
  for (std::size_t place = 0; (place = text.find(word, place)) != std::string_view::npos; ++place) ++count;
  return count;
}

// What is known from earlier runs, and the log in which it continues.
class Store {
 public:
  Store(env::Files& files, const std::string& path) : path_(path), log_(files, path) {}

  // Nothing was measured into it yet.
  bool is_new() const { return log_.is_new(); }

  Status open(const DatasetHeader& header) {
    ORRERY_TRY(const LineLog::Earlier earlier, log_.earlier(kDatasetMax));
    dataset_ = {header, {}};
    if (!log_.is_new()) {
      auto dataset = parse_dataset(earlier.lines, earlier.is_log);
      if (!dataset) return std::move(dataset).error().with_context(earlier.source);
      dataset_ = std::move(*dataset);
    }
    if (!dataset_.header.is_same_bench(header)) {
      return Error::invalid(fmt::format("{} was measured on \"{}\", {}, {} threads, seed {}; give another file", path_,
                                        dataset_.header.machine, dataset_.header.library, dataset_.header.threads,
                                        dataset_.header.seed));
    }
    for (const DatasetEntry& entry : dataset_.entries) {
      keys_.insert(entry.configuration.key());
      visits_ += entry.visits.size();
    }
    return log_.start(all_lines());
  }

  bool has(const Configuration& configuration) const { return keys_.contains(configuration.key()); }
  const DatasetHeader& header() const { return dataset_.header; }
  const std::vector<DatasetEntry>& entries() const { return dataset_.entries; }
  std::size_t visits() const { return visits_; }

  Status add(const Configuration& configuration, const Profile& profile) {
    keys_.insert(configuration.key());
    dataset_.entries.push_back({.configuration = configuration});
    return add(dataset_.entries.size() - 1, profile);
  }

  Status add(std::size_t entry, const Profile& profile) {
    ORRERY_TRY_VOID(add_visit(dataset_.entries[entry], profile));
    ++visits_;
    return log_.append(entry_line(dataset_.entries[entry]));
  }

  Status finish() { return log_.finish(all_lines()); }

 private:
  std::string all_lines() const {
    std::string lines = header_line(dataset_.header);
    for (const DatasetEntry& entry : dataset_.entries) lines += entry_line(entry);
    return lines;
  }

  std::string path_;
  LineLog log_;
  Dataset dataset_;
  std::set<std::string> keys_;
  std::size_t visits_ = 0;
};

Result<DatasetHeader> make_header(env::Env env, const BuildOptions& options, const Workbench& bench) {
  ORRERY_TRY(std::string library, library_name(bench));
  return DatasetHeader{describe_machine(env.files), std::move(library), options.threads, options.seed};
}

// Fills the store while there is time.
class Builder {
 public:
  Builder(env::Env env, const BuildOptions& options, const Workbench& bench, Store& store,
          const std::function<void(std::size_t)>& progress)
      : env_(env), options_(options), bench_(bench), store_(store), progress_(progress) {}

  Status draw_new() {
    constexpr std::uint64_t kMostNumbers = 1'000'000;
    for (std::uint64_t number = 0; store_.entries().size() < options_.count && number < kMostNumbers; ++number) {
      ORRERY_TRY(const Configuration configuration, draw_configuration(options_.seed, number, options_.limits));
      if (store_.has(configuration)) continue;
      if (!time_.may_begin()) return {};
      const auto made = visit(env_, configuration, store_.header(), bench_, time_);
      if (!made) {
        failures.push_back(configuration.key() + ": " + made.error().to_string());
        continue;
      }
      ORRERY_TRY_VOID(store_.add(configuration, made->profile));
      count(*made);
    }
    return {};
  }

  Status visit_again() {
    for (std::size_t round = 1; round < options_.visits; ++round) {
      for (std::size_t i = 0; i < store_.entries().size(); ++i) {
        if (store_.entries()[i].visits.size() > round) continue;
        if (!time_.may_begin()) return {};
        const Configuration& configuration = store_.entries()[i].configuration;
        ORRERY_TRY(const Visit made, visit(env_, configuration, store_.header(), bench_, time_));
        ORRERY_TRY_VOID(store_.add(i, made.profile));
        count(made);
      }
    }
    return {};
  }

  std::vector<std::string> failures;
  std::size_t visits = 0;
  std::size_t disturbed = 0;

 private:
  void count(const Visit& made) {
    ++visits;
    if (made.is_disturbed) ++disturbed;
    if (progress_) progress_(store_.visits());
  }

  env::Env env_;
  const BuildOptions& options_;
  const Workbench& bench_;
  Store& store_;
  const std::function<void(std::size_t)>& progress_;
  MeasuringTime time_{env_, options_.others, options_.time_max};
};

}  // namespace

std::string describe_machine(env::Files& files) {
  const std::string processor = files.read("/proc/cpuinfo", mebibytes(4)).value_or("");
  const std::string memory = files.read("/proc/meminfo", kibibytes(64)).value_or("");
  return fmt::format("{}, {} cores, {}", field(processor, "model name"), occurrences(processor, "processor\t"),
                     field(memory, "MemTotal"));
}

// Asks the smallest model there is.
Result<std::string> library_name(const Workbench& bench) {
  ORRERY_TRY(const workload::TrainingRun run, run_of({"lenet", "lenet", 1, workload::Optimizer::kSgd}));
  ORRERY_TRY(const auto executor, bench.make(run, {}));
  return executor->library();
}

Result<Visit> visit(env::Env env, const Configuration& configuration, const DatasetHeader& header,
                    const Workbench& bench, const MeasuringTime& time) {
  ORRERY_TRY(const workload::TrainingRun run, run_of(configuration));
  ExecutorOptions how;
  how.threads = header.threads;
  ORRERY_TRY(const auto executor, bench.make(run, how));
  ProfileHooks hooks;
  if (bench.speed_probe) hooks.slowness = [&] { return slowness(bench.speed_probe->read(), header.quiet); };
  const int attempts = time.ignores_others() ? 1 : 1 + kRetries;
  for (int attempt = 1;; ++attempt) {
    if (attempt > 1) wait_until_idle(env, time.idle_wait_max());
    const OtherProcesses meanwhile(env);
    ORRERY_TRY(Profile profile, measure(run, *executor, kRounds, env.files, env.clock, hooks));
    const bool is_disturbed = meanwhile.cores() >= kIdleCores;
    if (attempt == attempts || !is_disturbed) return Visit{std::move(profile), is_disturbed};
  }
}

Result<BuildReport> build_dataset(env::Env env, const std::string& path, const BuildOptions& options,
                                  const Workbench& bench, const std::function<void(std::size_t)>& progress) {
  ORRERY_TRY(DatasetHeader header, make_header(env, options, bench));
  Store store(env.files, path);
  if (bench.speed_probe && store.is_new()) header.quiet = quiet_reading(*bench.speed_probe, env.clock, kQuietTime);
  ORRERY_TRY_VOID(store.open(header));
  Builder builder(env, options, bench, store, progress);
  ORRERY_TRY_VOID(builder.draw_new());
  ORRERY_TRY_VOID(builder.visit_again());
  BuildReport report{.entries = store.entries().size(),
                     .visits = builder.visits,
                     .disturbed = builder.disturbed,
                     .failures = std::move(builder.failures)};
  for (const DatasetEntry& entry : store.entries()) report.noisy += entry.is_noisy() ? 1 : 0;
  ORRERY_TRY_VOID(store.finish());
  return report;
}

}  // namespace orrery::profile
