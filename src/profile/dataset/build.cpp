#include "profile/dataset/build.h"

#include <fmt/format.h>
#include <set>

#include "base/gzip.h"
#include "base/text.h"
#include "env/clock.h"
#include "env/files.h"
#include "profile/calm.h"

namespace orrery::profile {

namespace {

constexpr Seconds kCalmWaitMax(600);
constexpr Seconds kSlowWaitMax(2);
constexpr ProfileOptions kRounds{.warmup = 2, .repetitions = 30, .time_max = {}, .wait_max = kSlowWaitMax};

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

// What is known from an earlier run, and the log it goes on in.
class Store {
 public:
  Store(env::Files& files, std::string path) : files_(files), path_(std::move(path)), log_path_(path_ + ".log") {}

  Status open(const DatasetHeader& header) {
    ORRERY_TRY(dataset_, earlier(header));
    if (!(dataset_.header == header)) {
      return Error::invalid(fmt::format("{} was measured on \"{}\", {}, {} threads, seed {}; give another file", path_,
                                        dataset_.header.machine, dataset_.header.library, dataset_.header.threads,
                                        dataset_.header.seed));
    }
    for (const DatasetEntry& entry : dataset_.entries) keys_.insert(entry.configuration.key());
    ORRERY_TRY_VOID(files_.write_atomically(log_path_, all_lines()));
    ORRERY_TRY(log_, files_.open_log(log_path_));
    return {};
  }

  bool has(const Configuration& configuration) const { return keys_.contains(configuration.key()); }
  const std::vector<DatasetEntry>& entries() const { return dataset_.entries; }

  Status add(DatasetEntry entry) {
    ORRERY_TRY_VOID(log_->append(entry_line(entry)));
    ORRERY_TRY_VOID(log_->sync());
    keys_.insert(entry.configuration.key());
    dataset_.entries.push_back(std::move(entry));
    return {};
  }

  Status finish() {
    log_.reset();
    ORRERY_TRY_VOID(files_.write_atomically(path_, gzip(all_lines())));
    return files_.remove(log_path_);
  }

 private:
  Result<Dataset> earlier(const DatasetHeader& header) {
    if (files_.exists(log_path_)) {
      ORRERY_TRY(const std::string lines, files_.read(log_path_, kDatasetMax));
      auto dataset = parse_dataset(lines, true);
      if (!dataset) return std::move(dataset).error().with_context(log_path_);
      return dataset;
    }
    if (files_.exists(path_)) return read_dataset(files_, path_);
    return Dataset{header, {}};
  }

  std::string all_lines() const {
    std::string lines = header_line(dataset_.header);
    for (const DatasetEntry& entry : dataset_.entries) lines += entry_line(entry);
    return lines;
  }

  env::Files& files_;
  std::string path_, log_path_;
  Dataset dataset_;
  std::set<std::string> keys_;
  std::unique_ptr<env::AppendLog> log_;
};

// The library's name comes from the smallest model there is.
Result<DatasetHeader> make_header(env::Env env, const BuildOptions& options, const Workbench& bench) {
  ORRERY_TRY(const workload::TrainingRun run, run_of({"lenet", "lenet", 1, workload::Optimizer::kSgd}));
  ORRERY_TRY(const auto executor, bench.make(run, {}));
  return DatasetHeader{describe_machine(env.files), executor->library(), options.threads, options.seed};
}

}  // namespace

std::string describe_machine(env::Files& files) {
  const std::string processor = files.read("/proc/cpuinfo", mebibytes(4)).value_or("");
  const std::string memory = files.read("/proc/meminfo", kibibytes(64)).value_or("");
  return fmt::format("{}, {} cores, {}", field(processor, "model name"), occurrences(processor, "processor\t"),
                     field(memory, "MemTotal"));
}

Result<Profile> measure_configuration(env::Env env, const Configuration& configuration, int threads,
                                      Seconds per_configuration, const Workbench& bench) {
  ORRERY_TRY(const workload::TrainingRun run, run_of(configuration));
  ExecutorOptions how;
  how.threads = threads;
  ORRERY_TRY(const auto executor, bench.make(run, how));
  ProfileOptions rounds = kRounds;
  rounds.time_max = per_configuration;
  Profile best;
  double best_others = 0;
  for (int attempt = 0; attempt < 1 + kRetries; ++attempt) {
    wait_for_calm(env, kCalmWaitMax);
    const OtherProcesses others(env);
    ORRERY_TRY(Profile now, measure(run, *executor, rounds, env.files, env.clock, {.slowness = bench.slowness}));
    const double disturbed = std::max(0.0, others.cores() - kCalmCores);
    now.is_noisy = now.is_noisy || disturbed > 0;
    const bool is_better = std::pair(disturbed, now.spread) < std::pair(best_others, best.spread);
    if (attempt == 0 || is_better) {
      best = std::move(now);
      best_others = disturbed;
    }
    if (!best.is_noisy) break;
  }
  return best;
}

Result<BuildReport> build_dataset(env::Env env, const std::string& path, const BuildOptions& options,
                                  const Workbench& bench, const std::function<void(std::size_t)>& progress) {
  ORRERY_TRY(const DatasetHeader header, make_header(env, options, bench));
  Store store(env.files, path);
  ORRERY_TRY_VOID(store.open(header));
  BuildReport report;
  const Seconds start = env.clock.monotonic();
  constexpr std::uint64_t kMostNumbers = 1'000'000;
  for (std::uint64_t number = 0; store.entries().size() < options.count && number < kMostNumbers; ++number) {
    if (options.time_max > Seconds(0) && env.clock.monotonic() - start > options.time_max) break;
    ORRERY_TRY(const Configuration configuration, draw_configuration(options.seed, number, options.limits));
    if (store.has(configuration)) continue;
    auto profile = measure_configuration(env, configuration, options.threads, options.per_configuration, bench);
    if (!profile) {
      report.failures.push_back(configuration.key() + ": " + profile.error().to_string());
      continue;
    }
    ORRERY_TRY_VOID(store.add(entry_of(configuration, *profile)));
    ++report.measured;
    if (progress) progress(store.entries().size());
  }
  report.entries = store.entries().size();
  for (const DatasetEntry& entry : store.entries()) report.noisy += entry.is_noisy ? 1 : 0;
  ORRERY_TRY_VOID(store.finish());
  return report;
}

}  // namespace orrery::profile
