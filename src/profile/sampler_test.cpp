#include "profile/sampler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "env/processes.h"
#include "env/sim_env.h"

namespace orrery::profile {
namespace {

TEST(SeriesBuilder, RatesLieBetweenTheirReadings) {
  SeriesBuilder builder(ReadingKind::kRate, "bytes", "B/s", 10);
  builder.add(Seconds(1), 100);
  builder.add(Seconds(2), 300);    // 200 in 1 s
  builder.add(Seconds(2.5), 300);  // nothing was sent: 0, not stale
  builder.add(Seconds(4.5), 400);  // 100 in 2 s
  EXPECT_EQ(builder.series().times, (std::vector<Seconds>{Seconds(1), Seconds(2), Seconds(2.5)}));
  EXPECT_EQ(builder.series().values, (std::vector<double>{200, 0, 50}));
}

TEST(SeriesBuilder, SharesWaitForTheirBase) {
  SeriesBuilder builder(ReadingKind::kShare, "cpu", "share", 10);
  builder.add(Seconds(0), 0, 0);
  builder.add(Seconds(1), 3, 10);
  builder.add(Seconds(2), 3, 10);  // stale
  builder.add(Seconds(3), 8, 20);
  EXPECT_EQ(builder.series().times, (std::vector<Seconds>{Seconds(0), Seconds(1)}));
  EXPECT_EQ(builder.series().values, (std::vector<double>{0.3, 0.5}));
}

TEST(SeriesBuilder, RepeatedReadingsOfASlowSourceGo) {
  SeriesBuilder builder(ReadingKind::kRefreshed, "gpu", "share", 10);
  for (int i = 0; i < 8; ++i) builder.add(Seconds(i * 0.1), i / 2);  // renewed every second poll
  EXPECT_EQ(builder.series().values, (std::vector<double>{0, 1, 2, 3}));
  EXPECT_NEAR(resolution(builder.series()).value(), 0.2, 1e-12);
}

TEST(SeriesBuilder, ACounterThatGoesBackStartsAnew) {
  SeriesBuilder builder(ReadingKind::kRate, "bytes", "B/s", 10);
  builder.add(Seconds(0), 500);
  builder.add(Seconds(1), 10);
  builder.add(Seconds(2), 30);
  EXPECT_EQ(builder.series().values, (std::vector<double>{20}));
}

TEST(SeriesBuilder, MemoryIsBounded) {
  SeriesBuilder builder(ReadingKind::kLevel, "memory", "B", 3);
  for (int i = 0; i < 10; ++i) builder.add(Seconds(i), i);
  EXPECT_EQ(builder.series().values.size(), 3U);
  EXPECT_EQ(builder.dropped(), 7U);
}

// Whatever a counter does, the bytes of its rates are the bytes it counted.
RC_GTEST_PROP(SeriesBuilder, RatesKeepTheSum, ()) {
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1000));
  SeriesBuilder builder(ReadingKind::kRate, "bytes", "B/s", 1000);
  double counter = 5;
  builder.add(Seconds(0), counter);
  for (std::size_t i = 0; i < steps.size(); ++i)
    builder.add(Seconds(0.01 * static_cast<double>(i + 1)), counter += steps[i]);
  double sum = 0;
  for (const double rate : builder.series().values) sum += rate * 0.01;
  RC_ASSERT(std::abs(sum - (counter - 5)) < 1e-6 * (1 + counter));
}

// A machine whose files contain what the test needs.
struct Machine {
  env::SimEnv sim;

  Machine() {
    for (const char* folder : {"/proc/net", "/proc/7/net", "/proc/7/task/7", "/proc/8/task/8"}) {
      EXPECT_TRUE(sim.files.make_directory(folder));
    }
  }

  void write(const std::string& path, const std::string& text) { EXPECT_TRUE(sim.files.write_atomically(path, text)); }

  // Both cores were busy for `busy` of `total` ticks; process 7 used `ticks`, its child 8 as many.
  void set(int busy, int total, int ticks, int sent) {
    write("/proc/stat", fmt::format("cpu {} 0 0 {} 0 0 0 0 0 0\ncpu0 0\ncpu1 0\n", busy, total - busy));
    write("/proc/diskstats", fmt::format("8 0 sda 1 0 0 1 1 0 {} 1 0 0 0\n", sent));
    for (const char* path : {"/proc/net/dev", "/proc/7/net/dev"}) {
      write(path, fmt::format("a\nb\n lo: 9 0 0 0 0 0 0 0 9 0\neth0: 0 0 0 0 0 0 0 0 {} 0\n", sent));
    }
    for (const int pid : {7, 8}) {
      const std::string folder = fmt::format("/proc/{}/", pid);
      write(folder + "stat", fmt::format("{} (x) R 1 1 1 0 0 0 0 0 0 0 {} 0 0 0\n", pid, ticks));
      write(folder + "status", "VmRSS: 4 kB\n");
      write(folder + "io", "read_bytes: 0\nwrite_bytes: 0\n");
    }
    write("/proc/7/task/7/children", "8 ");
  }
};

const trace::ResourceSeries* find(const Samples& samples, const std::string& name) {
  for (const auto& series : samples.series) {
    if (series.name == name) return &series;
  }
  return nullptr;
}

double only_value(const Samples& samples, const std::string& name) {
  const auto* series = find(samples, name);
  EXPECT_NE(series, nullptr) << name;
  return series == nullptr || series->values.empty() ? -1 : series->values[0];
}

TEST(SampleCollector, MeasuresMachineAndProcess) {
  Machine machine;
  SampleOptions options;
  options.processes = {{"worker 0", 7, true}};
  SampleCollector collector(machine.sim.files, machine.sim.clock, options);
  machine.set(0, 0, 0, 0);
  ASSERT_TRUE(collector.collect());
  machine.sim.clock.advance(Seconds(0.5));
  machine.set(30, 100, 20, 1000);
  ASSERT_TRUE(collector.collect());

  const Samples samples = collector.samples();
  EXPECT_TRUE(samples.notes.empty());
  EXPECT_DOUBLE_EQ(only_value(samples, "cpu"), 0.3);
  EXPECT_DOUBLE_EQ(only_value(samples, "worker 0 cpu"), 0.8);  // (20 + 20) of the 50 ticks of one core
  EXPECT_EQ(only_value(samples, "worker 0 memory"), 8192);
  EXPECT_DOUBLE_EQ(only_value(samples, "network transmit eth0"), 2000);
  EXPECT_DOUBLE_EQ(only_value(samples, "worker 0 network transmit eth0"), 2000);
  EXPECT_DOUBLE_EQ(only_value(samples, "disk write"), 1000 * 512 / 0.5);
  EXPECT_EQ(find(samples, "network transmit lo"), nullptr);
  EXPECT_NE(to_csv(samples.series, first_time(samples.series)).find("worker 0 cpu,cores,0.000000,0.8\n"),
            std::string::npos);
}

TEST(SampleCollector, MeasuresMemoryTrafficWhereTheProcessorCountsIt) {
  Machine machine;
  const auto set_caches = [&](const std::string& first, const std::string& second) {
    for (const auto& [cache, text] : {std::pair{"mon_L3_00", first}, std::pair{"mon_L3_01", second}}) {
      const std::string folder = fmt::format("/sys/fs/resctrl/mon_data/{}", cache);
      EXPECT_TRUE(machine.sim.files.make_directory(folder));
      machine.write(folder + "/mbm_total_bytes", text);
    }
  };
  SampleCollector collector(machine.sim.files, machine.sim.clock, {});
  machine.set(0, 0, 0, 0);
  set_caches("1000\n", "5000\n");
  ASSERT_TRUE(collector.collect());
  machine.sim.clock.advance(Seconds(0.5));
  machine.set(30, 100, 20, 1000);
  set_caches("2000\n", "9000\n");
  ASSERT_TRUE(collector.collect());
  EXPECT_DOUBLE_EQ(only_value(collector.samples(), "memory traffic"), 10'000);
  set_caches("Unavailable\n", "Unavailable\n");
  EXPECT_TRUE(collector.collect());
}

TEST(SampleCollector, WhatCannotBeReadIsSaidOnce) {
  Machine machine;
  machine.set(0, 0, 0, 0);
  SampleOptions options;
  options.processes = {{"gone", 99, false}};
  SampleCollector collector(machine.sim.files, machine.sim.clock, options);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(collector.collect());
  const Samples samples = collector.samples();
  ASSERT_EQ(samples.notes.size(), 1U);
  EXPECT_NE(samples.notes[0].find("sampling gone"), std::string::npos);
}

class TwoGpus final : public Gpus {
 public:
  Result<std::vector<GpuReading>> read() override {
    ++reads_;
    return std::vector<GpuReading>{{0.1 * (reads_ / 2), 0.5, gibibytes(1)}, {0, 0, Bytes(0)}};
  }

 private:
  int reads_ = 0;
};

TEST(SampleCollector, GpusAreSampledAtTheirOwnPace) {
  Machine machine;
  machine.set(0, 0, 0, 0);
  SampleCollector collector(machine.sim.files, machine.sim.clock, {}, std::make_unique<TwoGpus>());
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(collector.collect());
    machine.sim.clock.advance(Seconds(0.1));
  }
  const Samples samples = collector.samples();
  EXPECT_EQ(find(samples, "gpu 0")->values.size(), 4U);  // 0, 0.1, 0.2, 0.3
  EXPECT_EQ(find(samples, "gpu 0 memory busy")->values.size(), 1U);
  EXPECT_EQ(find(samples, "gpu 1 memory")->values.size(), 6U);
}

TEST(Nvml, AMissingLibraryIsUnsupported) {
  const auto gpus = open_nvml("libno-such-library.so.1");
  ASSERT_FALSE(gpus);
  EXPECT_EQ(gpus.error().code(), ErrorCode::kUnsupported);
}

TEST(Nvml, ReadsEveryDevice) {
  const auto gpus = open_nvml("$ORIGIN/libfake_nvml.so");
  ASSERT_TRUE(gpus) << gpus.error().to_string();
  const auto readings = (*gpus)->read();
  ASSERT_TRUE(readings);
  ASSERT_EQ(readings->size(), 2U);
  EXPECT_DOUBLE_EQ(readings->at(0).busy, 0.98);
  EXPECT_DOUBLE_EQ(readings->at(0).memory_busy, 0.54);
  EXPECT_EQ(readings->at(0).memory, Bytes(600));
  EXPECT_EQ(readings->at(1).memory, Bytes(0));
}

TEST(Sampler, SamplesThisMachineOnItsOwnThread) {
  const env::Env env = env::make_real_env();
  Samples samples;
  const trace::ResourceSeries* cpu = nullptr;
  // A busy machine may not let the thread read twice in a short time.
  for (Seconds time(0.1); cpu == nullptr && time < Seconds(60); time = time * 2) {
    Sampler sampler(env.files, env.clock, {});
    env.clock.sleep(time);
    samples = sampler.stop();
    cpu = find(samples, "cpu");
  }
  ASSERT_NE(cpu, nullptr);
  for (const double share : cpu->values) {
    EXPECT_GE(share, 0);
    EXPECT_LE(share, 1);
  }
}

}  // namespace
}  // namespace orrery::profile
