#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <set>

#include "base/check.h"
#include "base/gzip.h"
#include "env/sim_env.h"
#include "profile/dataset/build.h"
#include "profile/scripted_executor.h"

namespace orrery::profile {
namespace {

// Every configuration takes 10 ms per step.
Workbench scripted(int* made = nullptr) {
  return {.make = [made](const workload::TrainingRun&, const ExecutorOptions&) -> Result<std::unique_ptr<Executor>> {
    if (made != nullptr) ++*made;
    return std::make_unique<ScriptedExecutor>(0.01, 0.01);
  }};
}

Result<BuildReport> build(env::SimEnv& env, std::size_t count, const Workbench& bench) {
  BuildOptions options;
  options.count = count;
  return build_dataset(env.env(), "cpu.dataset", options, bench, nullptr);
}

constexpr CoreReading kQuiet = {Seconds(1e-3), Seconds(2e-3), Seconds(3e-3)};
const std::string kHeader = header_line({"m", "l", 2, 7, kQuiet});

TEST(Configurations, ANumberAlwaysDrawsTheSame) {
  for (const std::uint64_t number : {0U, 3U, 17U, 400U}) {
    EXPECT_EQ(draw_configuration(5, number, {})->key(), draw_configuration(5, number, {})->key());
    EXPECT_NE(draw_configuration(5, number, {})->key(), draw_configuration(6, number, {})->key());
  }
}

// Slow: builds 240 models.
TEST(Configurations, AreVariedAffordableAndAQuarterRandomGraphs) {
  std::set<std::string> keys, families;
  int random_graphs = 0;
  for (std::uint64_t number = 0; number < 240; ++number) {
    const auto drawn = draw_configuration(1, number, {});
    ASSERT_TRUE(drawn) << drawn.error().to_string();
    keys.insert(drawn->key());
    families.insert(drawn->family);
    random_graphs += drawn->family == "randwire" ? 1 : 0;
    ASSERT_TRUE(run_of(*drawn)) << drawn->key();
  }
  EXPECT_GE(keys.size(), 236U);
  EXPECT_EQ(families.size(), dataset_families().size());
  EXPECT_GE(families.size(), 18U);
  EXPECT_EQ(random_graphs, 60);
}

TEST(DatasetFile, AnEntryComesBackAsItWas) {
  DatasetEntry entry;
  entry.configuration = {"mlp", "mlp:layers=2", 8, workload::Optimizer::kAdam};
  entry.visits = {Seconds(0.012345678), Seconds(0.0123)};
  entry.operators = {{workload::OperatorIndex(3), workload::Phase::kForward, Seconds(1e-6), Seconds(5e-9)},
                     {workload::OperatorIndex(1), workload::Phase::kBackward, Seconds(2.5e-3), Seconds(0)}};
  const auto back = parse_dataset(kHeader + entry_line(entry), false);
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(back->header.seed, 7U);
  EXPECT_EQ(back->header.quiet, kQuiet);
  ASSERT_EQ(back->entries.size(), 1U);
  EXPECT_EQ(back->entries[0].configuration.key(), entry.configuration.key());
  ASSERT_EQ(back->entries[0].visits.size(), 2U);
  EXPECT_DOUBLE_EQ(back->entries[0].visits[0].value(), 0.012345678);
  ASSERT_EQ(back->entries[0].operators.size(), 2U);
  EXPECT_EQ(back->entries[0].operators[1].index, workload::OperatorIndex(1));
  EXPECT_DOUBLE_EQ(back->entries[0].operators[1].execution.value(), 2.5e-3);
}

Profile profile_of(double iteration_s, double execution_s) {
  Profile profile;
  profile.iteration = Seconds(iteration_s);
  profile.trace.operators.resize(1);
  profile.trace.operators[0].index = workload::OperatorIndex(0);
  profile.trace.operators[0].execution = Seconds(execution_s);
  return profile;
}

TEST(DatasetFile, TheIterationIsTheMedianVisit) {
  DatasetEntry entry;
  for (const double time_s : {1.0, 1.1, 1.5}) ASSERT_TRUE(add_visit(entry, profile_of(time_s, time_s / 2)));
  EXPECT_DOUBLE_EQ(entry.iteration().value(), 1.1);
  EXPECT_DOUBLE_EQ(entry.operators[0].execution.value(), 0.6);  // a mean
  EXPECT_FALSE(add_visit(entry, Profile()));
}

TEST(DatasetFile, OneVisitOfThreeThatIsOffDoesNotMakeItNoisy) {
  const auto entry_of = [](std::vector<Seconds> visits) {
    DatasetEntry entry;
    entry.visits = std::move(visits);
    return entry;
  };
  EXPECT_NEAR(entry_of({Seconds(1), Seconds(1.5)}).spread(), 0.4, 1e-12);
  EXPECT_TRUE(entry_of({Seconds(1), Seconds(1.5)}).is_noisy());
  EXPECT_FALSE(entry_of({Seconds(1), Seconds(1.05), Seconds(1.5)}).is_noisy());
  EXPECT_TRUE(entry_of({Seconds(1), Seconds(1.2), Seconds(1.5)}).is_noisy());
}

TEST(DatasetFile, TheLastLineOfAConfigurationCounts) {
  DatasetEntry entry;
  entry.configuration = {"mlp", "mlp:layers=2", 8, workload::Optimizer::kAdam};
  std::string lines = kHeader;
  for (int visit = 0; visit < 3; ++visit) {
    ASSERT_TRUE(add_visit(entry, profile_of(1, 1)));
    lines += entry_line(entry);
  }
  const auto back = parse_dataset(lines, false);
  ASSERT_TRUE(back);
  ASSERT_EQ(back->entries.size(), 1U);
  EXPECT_EQ(back->entries[0].visits.size(), 3U);
}

TEST(DatasetFile, DamageIsNamedWithItsLine) {
  const std::string header = kHeader;
  EXPECT_EQ(parse_dataset("", false).error().message(), "the file is empty");
  EXPECT_EQ(parse_dataset("{}\n", false).error().message(),
            "line 1: not a data set: \"format\" is not \"orrery-dataset\"");
  EXPECT_EQ(parse_dataset(header + "{\"fam", false).error().message(), "line 2: the file is cut in this line");
  EXPECT_TRUE(parse_dataset(header + "{\"fam", true));
  EXPECT_FALSE(parse_dataset(header + "[1]\n", true));
}

RC_GTEST_PROP(DatasetFile, AnyBytesGiveADatasetOrAnError, (const std::string& bytes)) {
  static_cast<void>(parse_dataset(kHeader + bytes + "\n", *rc::gen::arbitrary<bool>()));
}

TEST(BuildDataset, WritesOneFileAndNoLog) {
  env::SimEnv env;
  const auto report = build(env, 5, scripted());
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->visits, 5U * 3);
  EXPECT_FALSE(env.env().files.exists("cpu.dataset.log"));
  const auto dataset = read_dataset(env.env().files, "cpu.dataset");
  ASSERT_TRUE(dataset);
  EXPECT_EQ(dataset->entries.size(), 5U);
  EXPECT_NEAR(dataset->entries[4].iteration().value(), 0.01, 1e-9);
  EXPECT_EQ(dataset->header.library, "script");
}

// Two cores, of which other processes keep one busy.
TEST(BuildDataset, TheTimeLimitHoldsOnABusyMachine) {
  env::SimEnv env;
  const std::function<void()> work = [&] {
    const int ticks = static_cast<int>(100 * env.clock.monotonic().value());
    ASSERT_TRUE(env.files.write_atomically(
        "/proc/stat",
        fmt::format("cpu  {0} 0 0 {0} 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\n", ticks)));
    env.clock.at(env.clock.monotonic() + Seconds(0.1), work);
  };
  ASSERT_TRUE(env.files.make_directory("/proc/self"));
  work();
  BuildOptions options;
  options.time_max = Seconds(5);
  const auto report = build_dataset(env.env(), "cpu.dataset", options, scripted(), nullptr);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->visits, 0U);
  EXPECT_LT(env.clock.monotonic(), Seconds(7));
}

TEST(BuildDataset, NothingIsMeasuredTwice) {
  env::SimEnv env;
  ASSERT_TRUE(build(env, 5, scripted()));
  int made = 0;
  const auto more = build(env, 8, scripted(&made));
  ASSERT_TRUE(more);
  EXPECT_EQ(more->entries, 8U);
  EXPECT_EQ(more->visits, 3U * 3);
  EXPECT_EQ(made, 1 + 3 * 3);  // one to name the library
}

// Every reading takes a tenth of a second.
class SteadySpeedProbe final : public SpeedProbe {
 public:
  SteadySpeedProbe(env::Clock& clock, double piece_s) : clock_(clock), piece_s_(piece_s) {}
  CoreReading read() override {
    clock_.sleep(Seconds(0.1));
    return {Seconds(piece_s_), Seconds(piece_s_), Seconds(piece_s_)};
  }

 private:
  env::Clock& clock_;
  double piece_s_;
};

TEST(BuildDataset, AContinuedBuildMeasuresAgainstTheSameQuietCore) {
  env::SimEnv env;
  const auto on_a_core = [&](double piece_s) {
    return Workbench{.make = scripted().make,
                     .speed_probe = std::make_shared<SteadySpeedProbe>(env.env().clock, piece_s)};
  };
  ASSERT_TRUE(build(env, 2, on_a_core(0.001)));
  ASSERT_TRUE(build(env, 3, on_a_core(0.002)));  // the core is half as fast now
  const auto dataset = read_dataset(env.env().files, "cpu.dataset");
  ASSERT_TRUE(dataset) << dataset.error().to_string();
  EXPECT_DOUBLE_EQ(dataset->header.quiet[0].value(), 0.001);
  EXPECT_NEAR(dataset->entries[0].iteration().value(), 0.01, 1e-9);
  EXPECT_NEAR(dataset->entries[2].iteration().value(), 0.005, 1e-9);
}

// Another process uses one of two cores, whenever somebody looks.
class BusyMachine {
 public:
  explicit BusyMachine(env::SimEnv& sim) : sim_(sim) { tell(); }

 private:
  void tell() {
    const int ticks = static_cast<int>(std::lround(100 * sim_.clock.monotonic().value()));
    const bool told = sim_.files
                          .write_atomically("/proc/stat", fmt::format("cpu  {0} 0 0 {0} 0 0 0 0 0 0\n"
                                                                      "cpu0 0 0 0 0 0 0 0 0 0 0\n"
                                                                      "cpu1 0 0 0 0 0 0 0 0 0 0\n",
                                                                      ticks))
                          .has_value();
    ORRERY_CHECK(told);
    sim_.clock.at(sim_.clock.monotonic() + Seconds(0.05), [this] { tell(); });
  }
  env::SimEnv& sim_;
};

TEST(BuildDataset, OtherProcessesAreWaitedForUnlessTheyAreIgnored) {
  const auto built = [](Others others) {
    env::SimEnv env;
    ORRERY_CHECK(env.files.make_directory("/proc").has_value());
    const BusyMachine busy(env);
    BuildOptions options;
    options.count = options.visits = 1;
    options.others = others;
    const Workbench bench{.make = scripted().make,
                          .speed_probe = std::make_shared<SteadySpeedProbe>(env.env().clock, 0.001)};
    const auto report = build_dataset(env.env(), "cpu.dataset", options, bench, nullptr);
    ORRERY_CHECK(report.has_value());
    EXPECT_EQ(report->visits, 1U);
    EXPECT_EQ(report->disturbed, 1U);
    return env.clock.monotonic();
  };
  // Three attempts, before each of which it waits for ten minutes.
  EXPECT_GT(built(Others::kWaitedFor), Seconds(1800));
  EXPECT_LT(built(Others::kIgnored), Seconds(60));
}

TEST(BuildDataset, AKilledBuildLosesOnlyTheConfigurationBeingMeasured) {
  env::SimEnv env;
  int made = 0;
  const auto dies = [&](const workload::TrainingRun& run,
                        const ExecutorOptions& options) -> Result<std::unique_ptr<Executor>> {
    if (++made == 5) throw std::runtime_error("killed");
    return scripted().make(run, options);
  };
  EXPECT_THROW(static_cast<void>(build(env, 6, {.make = dies})), std::runtime_error);
  env.files.crash();
  const auto rest = build(env, 6, scripted());
  ASSERT_TRUE(rest) << rest.error().to_string();
  EXPECT_EQ(rest->entries, 6U);
  EXPECT_EQ(rest->visits, 6U * 3 - 3);  // the library and three visits were made before the kill
}

TEST(BuildDataset, AFileOfAnotherMachineIsLeftAlone) {
  env::SimEnv env;
  const std::string lines = header_line({"another", "script", 1, 1, kQuiet});
  ASSERT_TRUE(env.env().files.write_atomically("cpu.dataset", gzip(lines)));
  const auto report = build(env, 1, scripted());
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().to_string().find("was measured on \"another\""), std::string::npos);
  EXPECT_EQ(*gunzip(*env.env().files.read("cpu.dataset", mebibytes(1)), mebibytes(1)), lines);
}

}  // namespace
}  // namespace orrery::profile
