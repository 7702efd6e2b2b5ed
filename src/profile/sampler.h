#pragma once
// Samples what a machine and some of its processes use, at a fixed period, into ResourceSeries.
//
//   "cpu"                      share of all cores that is busy                       /proc/stat
//   "network receive eth0"     B/s, and "network transmit eth0"                      /proc/net/dev
//   "disk read", "disk write"  B/s of all physical disks                             /proc/diskstats
//   "memory traffic"           B/s between caches and memory, where the processor counts  /sys/fs/resctrl
//   "gpu 0", "gpu 0 memory …"  share busy, share of time memory is busy, B occupied  NVML
//   "NAME cpu"                 cores that a process and its descendants keep busy    its CPU clock, /proc/PID/stat
//   "NAME memory"              B resident                                            /proc/PID/status
//   "NAME disk read", "… write"  B/s that reached a disk                             /proc/PID/io
//   "NAME network receive eth0", …  in the network namespace of the process          /proc/PID/net/dev
//
// series_builder.h says how readings become values and stale ones are removed. A source that cannot be read gives no
// series and one note; one that ends, like a process, ends its series.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "env/clock.h"
#include "env/files.h"
#include "profile/gpus.h"
#include "profile/proc_text.h"
#include "profile/series_builder.h"

namespace orrery::profile {

struct SampledProcess {
  std::string name;
  std::int64_t pid = 0;
  bool has_network = false;  // of its own: sample the interfaces it sees
};

struct SampleOptions {
  Seconds period{0.010};
  std::size_t samples_max = 1'000'000;    // of each series; what comes after is dropped and noted
  bool machine = true;                    // CPU, network and disks of the whole machine
  std::vector<std::string> interfaces{};  // empty: all but lo
  std::vector<SampledProcess> processes{};
};

struct Samples {
  std::vector<trace::ResourceSeries> series;  // those with a value, by name
  std::vector<std::string> notes;             // what could not be sampled, and why
};

// Takes one sample of everything at every call. Not thread-safe. What it is given must outlive it.
class SampleCollector {
 public:
  // `gpus` may be empty.
  SampleCollector(env::Files& files, const env::Clock& clock, SampleOptions options, std::unique_ptr<Gpus> gpus = {});

  // Fails only when nothing at all can be sampled: there is no /proc/stat.
  Status collect();
  void note(std::string text) { notes_.insert(std::move(text)); }
  Samples samples() const;

 private:
  struct Usage {
    double ticks = 0;
    std::optional<Seconds> ran;  // more precise than ticks, where there is such a clock
    Bytes memory;
    Traffic disk;
  };

  // A file's text and when it was read, within a fraction of the period if the machine lets us.
  struct TimedText {
    Seconds time;
    std::string text;
  };

  Result<std::string> read(const std::string& path);
  Result<TimedText> read_timed(const std::string& path);
  Result<CpuTicks> read_cpu();
  Result<Usage> read_usage(std::int64_t pid);
  Result<Usage> read_family(std::int64_t pid);
  Status collect_machine(const CpuTicks& cpu);
  Status collect_process(const SampledProcess& process, const CpuTicks& cpu);
  Status collect_network(const std::string& path, const std::string& prefix);
  Status collect_gpus();
  Status collect_memory_traffic();
  bool wants(const std::string& interface) const;
  void add(ReadingKind kind, const std::string& name, const char* unit, Seconds time, double value, double base = 0);
  void add_traffic(const std::string& in, const std::string& out, Seconds time, const Traffic& traffic);

  env::Files& files_;
  const env::Clock& clock_;
  SampleOptions options_;
  std::unique_ptr<Gpus> gpus_;
  std::map<std::string, SeriesBuilder> builders_;
  std::set<std::string> notes_;
};

// A collector with the GPUs there are, or a note why there are none.
SampleCollector make_collector(env::Files& files, const env::Clock& clock, SampleOptions options);

// A collector on a thread of its own, from construction to stop(). Needs thread-safe files and clock: the real ones.
class Sampler {
 public:
  Sampler(env::Files& files, env::Clock& clock, SampleOptions options);

  // Ends within a period; the samples are complete then. Call once.
  Samples stop();

 private:
  void run(const std::stop_token& stopped);

  env::Clock& clock_;
  Seconds period_;
  SampleCollector collector_;
  std::jthread thread_;  // last: it uses the others
};

// The process and its descendants that are alive, at most kFamilyMax. Children of threads other than the first of
// their process are not found.
inline constexpr std::size_t kFamilyMax = 256;
std::vector<std::int64_t> family_of(env::Files& files, std::int64_t pid);

// "series,unit,time_s,value" and a line per value; times are since `start`.
std::string to_csv(const std::vector<trace::ResourceSeries>& series, Seconds start);
// The first of all times; 0 without any.
Seconds first_time(const std::vector<trace::ResourceSeries>& series);

}  // namespace orrery::profile
