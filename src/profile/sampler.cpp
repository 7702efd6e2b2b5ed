#include "profile/sampler.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "base/text.h"

namespace orrery::profile {

namespace {

constexpr Bytes kProcFileMax = mebibytes(4);

}  // namespace

SampleCollector::SampleCollector(env::Files& files, const env::Clock& clock, SampleOptions options,
                                 std::unique_ptr<Gpus> gpus)
    : files_(files), clock_(clock), options_(std::move(options)), gpus_(std::move(gpus)) {}

Status SampleCollector::collect() {
  const auto keep_note = [&](const Status& status) {
    if (!status) note(status.error().to_string());
  };
  ORRERY_TRY(const CpuTicks cpu, read_cpu());
  if (options_.machine) keep_note(collect_machine(cpu));
  for (const SampledProcess& process : options_.processes) {
    const Status status = collect_process(process, cpu);
    const bool has_ended = !status && builders_.contains(process.name + " memory");
    if (!has_ended) keep_note(status);
  }
  if (gpus_) keep_note(collect_gpus());
  return {};
}

Samples SampleCollector::samples() const {
  Samples samples{{}, {notes_.begin(), notes_.end()}};
  for (const auto& [name, builder] : builders_) {
    if (!builder.series().values.empty()) samples.series.push_back(builder.series());
    if (builder.dropped() == 0) continue;
    samples.notes.push_back(
        fmt::format("{}: {} samples after the first {} were dropped", name, builder.dropped(), options_.samples_max));
  }
  return samples;
}

Result<std::string> SampleCollector::read(const std::string& path) {
  return files_.read(path, kProcFileMax);
}

// Other threads may take the core between the reading and the look at the clock; a rate would then be wrong twice.
Result<SampleCollector::TimedText> SampleCollector::read_timed(const std::string& path) {
  constexpr int kAttempts = 3;
  constexpr double kPeriodShare = 0.05;
  for (int i = 1;; ++i) {
    const Seconds before = clock_.monotonic();
    ORRERY_TRY(std::string text, read(path));
    const Seconds after = clock_.monotonic();
    if (i == kAttempts || after - before <= options_.period * kPeriodShare) {
      return TimedText{before + (after - before) / 2, std::move(text)};
    }
  }
}

Result<CpuTicks> SampleCollector::read_cpu() {
  ORRERY_TRY(const std::string text, read("/proc/stat"));
  return parse_cpu(text);
}

Result<SampleCollector::Usage> SampleCollector::read_usage(std::int64_t pid) {
  const std::string folder = fmt::format("/proc/{}/", pid);
  Usage usage;
  ORRERY_TRY(const std::string stat, read(folder + "stat"));
  ORRERY_TRY(usage.ticks, parse_process_ticks(stat));
  usage.ran = clock_.processor_time(pid);
  ORRERY_TRY(const std::string status, read(folder + "status"));
  ORRERY_TRY(usage.memory, parse_resident(status));
  const auto io = read(folder + "io");  // not allowed for processes of other users
  if (!io) return usage;
  ORRERY_TRY(usage.disk, parse_process_disk(*io));
  return usage;
}

// Descendants that end while they are read are left out.
Result<SampleCollector::Usage> SampleCollector::read_family(std::int64_t pid) {
  ORRERY_TRY(Usage sum, read_usage(pid));
  for (const std::int64_t member : family_of(files_, pid)) {
    if (member == pid) continue;
    const auto usage = read_usage(member);
    if (!usage) continue;
    sum.ticks += usage->ticks;
    if (sum.ran) sum.ran = usage->ran ? std::optional(*sum.ran + *usage->ran) : std::nullopt;
    sum.memory += usage->memory;
    sum.disk.in += usage->disk.in;
    sum.disk.out += usage->disk.out;
  }
  return sum;
}

Status SampleCollector::collect_machine(const CpuTicks& cpu) {
  add(ReadingKind::kShare, "cpu", "share", clock_.monotonic(), cpu.busy, cpu.total);
  ORRERY_TRY_VOID(collect_network("/proc/net/dev", ""));
  ORRERY_TRY(const std::string text, read("/proc/diskstats"));
  ORRERY_TRY(const Traffic disks, parse_disks(text));
  add_traffic("disk read", "disk write", clock_.monotonic(), disks);
  return collect_memory_traffic();
}

// One counter for each last-level cache. Without the kernel's resource control mounted, or without counters, there is
// no folder and no series.
Status SampleCollector::collect_memory_traffic() {
  const std::string folder = "/sys/fs/resctrl/mon_data";
  const auto caches = files_.list(folder);
  if (!caches) return {};
  double bytes = 0;
  bool has_any = false;
  for (const std::string& cache : *caches) {
    const auto text = read(fmt::format("{}/{}/mbm_total_bytes", folder, cache));
    const auto count = text ? parse_number(*text) : std::nullopt;
    if (!count) continue;  // "Unavailable", or a cache without this counter
    bytes += *count;
    has_any = true;
  }
  if (has_any) add(ReadingKind::kRate, "memory traffic", "B/s", clock_.monotonic(), bytes);
  return {};
}

Status SampleCollector::collect_process(const SampledProcess& process, const CpuTicks& cpu) {
  // The network first: its bursts are the shortest.
  if (process.has_network)
    ORRERY_TRY_VOID(collect_network(fmt::format("/proc/{}/net/dev", process.pid), process.name + " "));
  const auto usage = read_family(process.pid);
  if (!usage) return Error(usage.error()).with_context(fmt::format("sampling {}", process.name));
  const Seconds time = clock_.monotonic();
  if (usage->ran) {
    add(ReadingKind::kRate, process.name + " cpu", "cores", time, usage->ran->value());
  } else {
    add(ReadingKind::kShare, process.name + " cpu", "cores", time, usage->ticks * cpu.cores, cpu.total);
  }
  add(ReadingKind::kLevel, process.name + " memory", "B", time, usage->memory.value());
  add_traffic(process.name + " disk read", process.name + " disk write", time, usage->disk);
  return {};
}

Status SampleCollector::collect_network(const std::string& path, const std::string& prefix) {
  ORRERY_TRY(const TimedText file, read_timed(path));
  ORRERY_TRY(const auto interfaces, parse_interfaces(file.text));
  for (const auto& [name, traffic] : interfaces) {
    if (!wants(name)) continue;
    add_traffic(fmt::format("{}network receive {}", prefix, name), fmt::format("{}network transmit {}", prefix, name),
                file.time, traffic);
  }
  return {};
}

Status SampleCollector::collect_gpus() {
  ORRERY_TRY(const auto readings, gpus_->read());
  const Seconds time = clock_.monotonic();
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const std::string name = fmt::format("gpu {}", i);
    add(ReadingKind::kRefreshed, name, "share", time, readings[i].busy);
    add(ReadingKind::kRefreshed, name + " memory busy", "share", time, readings[i].memory_busy);
    add(ReadingKind::kLevel, name + " memory", "B", time, readings[i].memory.value());
  }
  return {};
}

bool SampleCollector::wants(const std::string& interface) const {
  const auto& names = options_.interfaces;
  return names.empty() ? interface != "lo" : std::find(names.begin(), names.end(), interface) != names.end();
}

void SampleCollector::add(ReadingKind kind, const std::string& name, const char* unit, Seconds time, double value,
                          double base) {
  const auto found = builders_.try_emplace(name, kind, name, unit, options_.samples_max).first;
  found->second.add(time, value, base);
}

void SampleCollector::add_traffic(const std::string& in, const std::string& out, Seconds time, const Traffic& traffic) {
  add(ReadingKind::kRate, in, "B/s", time, traffic.in);
  add(ReadingKind::kRate, out, "B/s", time, traffic.out);
}

namespace {

std::unique_ptr<Gpus> gpus_if_any(std::string& reason) {
  auto gpus = open_nvml();
  if (gpus) return std::move(*gpus);
  reason = fmt::format("no GPU is sampled: {}", gpus.error().to_string());
  return nullptr;
}

}  // namespace

SampleCollector make_collector(env::Files& files, const env::Clock& clock, SampleOptions options) {
  std::string reason;
  auto gpus = gpus_if_any(reason);
  SampleCollector collector(files, clock, std::move(options), std::move(gpus));
  if (!reason.empty()) collector.note(std::move(reason));
  return collector;
}

Sampler::Sampler(env::Files& files, env::Clock& clock, SampleOptions options)
    : clock_(clock),
      period_(options.period),
      collector_(make_collector(files, clock, std::move(options))),
      thread_([this](const std::stop_token& stopped) { run(stopped); }) {}

// Keeps to the grid of periods; a late sample does not move the ones after it.
void Sampler::run(const std::stop_token& stopped) {
  Seconds next = clock_.monotonic();
  while (!stopped.stop_requested()) {
    if (const Status status = collector_.collect(); !status) collector_.note(status.error().to_string());
    const Seconds now = clock_.monotonic();
    while (next <= now) next += period_;
    clock_.sleep(next - now);
  }
}

Samples Sampler::stop() {
  thread_.request_stop();
  thread_.join();
  return collector_.samples();
}

std::vector<std::int64_t> family_of(env::Files& files, std::int64_t pid) {
  std::vector<std::int64_t> family = {pid};
  for (std::size_t i = 0; i < family.size() && family.size() < kFamilyMax; ++i) {
    const auto text = files.read(fmt::format("/proc/{0}/task/{0}/children", family[i]), kProcFileMax);
    if (!text) continue;
    for (const std::string& word : split(*text, ' ')) {
      const auto child = parse_process_id(word);
      if (child && family.size() < kFamilyMax) family.push_back(*child);
    }
  }
  return family;
}

Seconds first_time(const std::vector<trace::ResourceSeries>& series) {
  std::optional<Seconds> first;
  for (const trace::ResourceSeries& one : series) {
    if (!one.times.empty() && (!first || one.times.front() < *first)) first = one.times.front();
  }
  return first.value_or(Seconds(0));
}

std::string to_csv(const std::vector<trace::ResourceSeries>& series, Seconds start) {
  std::string text = "series,unit,time_s,value\n";
  for (const trace::ResourceSeries& one : series) {
    for (std::size_t i = 0; i < one.values.size(); ++i) {
      text += fmt::format("{},{},{:.6f},{:.9g}\n", one.name, one.unit, (one.times[i] - start).value(), one.values[i]);
    }
  }
  return text;
}

}  // namespace orrery::profile
