// The same expectations of real and simulated processes.

#include "env/processes.h"

#include <gtest/gtest.h>
#include <limits>

#include "env/real_clock.h"
#include "env/real_processes.h"
#include "env/sim_processes.h"

namespace orrery::env {
namespace {

constexpr Seconds kLong{120};
constexpr Seconds kForever{std::numeric_limits<double>::infinity()};

SimRun simulated_shell(const ProcessSpec& spec) {
  const std::string& script = spec.argv.at(2);
  if (script == "echo out; echo err >&2; exit 3") return {Seconds(0.01), 3, "out\n", "err\n"};
  if (script == "printf %s \"$COLOUR\"") return {Seconds(0.01), 0, spec.environment.at("COLOUR"), ""};
  if (script == "pwd") return {Seconds(0.01), 0, spec.working_directory + "\n", ""};
  if (script == "sleep 0.2") return {Seconds(0.2), 0, "", ""};
  if (script == "yes | head -c 1000000") return {Seconds(0.01), 0, std::string(1'000'000, 'y'), ""};
  return {kForever, 0, "", ""};
}

class ProcessesTest : public testing::TestWithParam<bool> {
 protected:
  ProcessesTest() {
    if (GetParam()) {
      clock_ = std::make_unique<RealClock>();
      processes_ = std::make_unique<RealProcesses>();
      return;
    }
    auto clock = std::make_unique<SimClock>();
    auto processes = std::make_unique<SimProcesses>(*clock);
    processes->add_program("sh", simulated_shell);
    clock_ = std::move(clock);
    processes_ = std::move(processes);
  }

  std::unique_ptr<Process> shell(const std::string& script, ProcessSpec spec = {}) {
    spec.argv = {"sh", "-c", script};
    spec.output = Output::kCapture;
    auto process = processes_->spawn(spec);
    EXPECT_TRUE(process) << process.error().to_string();
    return std::move(*process);
  }

  std::unique_ptr<Clock> clock_;
  std::unique_ptr<Processes> processes_;
};

INSTANTIATE_TEST_SUITE_P(Worlds, ProcessesTest, testing::Bool(),
                         [](const auto& world) { return world.param ? "real" : "simulated"; });

TEST_P(ProcessesTest, ReportsExitCodeAndOutput) {
  const auto process = shell("echo out; echo err >&2; exit 3");
  const auto exit = process->wait(kLong);
  ASSERT_TRUE(exit && exit->has_value());
  EXPECT_EQ(**exit, (ProcessExit{3, 0}));
  EXPECT_EQ(process->standard_output(), "out\n");
  EXPECT_EQ(process->standard_error(), "err\n");
  EXPECT_TRUE(process->kill(Signal::kKill)) << "signalling an ended process is not an error";
  EXPECT_EQ(**process->wait(kLong), (ProcessExit{3, 0})) << "the end can be asked for again";
}

TEST_P(ProcessesTest, PassesEnvironmentAndWorkingDirectory) {
  const auto colour = shell("printf %s \"$COLOUR\"", {.environment = {{"COLOUR", "blue"}}});
  ASSERT_TRUE((*colour->wait(kLong))->ok());
  EXPECT_EQ(colour->standard_output(), "blue");
  const auto directory = shell("pwd", {.working_directory = "/"});
  ASSERT_TRUE((*directory->wait(kLong))->ok());
  EXPECT_EQ(directory->standard_output(), "/\n");
}

TEST_P(ProcessesTest, AMissingProgramIsNotFound) {
  const auto process = processes_->spawn({.argv = {"no-such-program-here"}});
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().code(), ErrorCode::kNotFound);
  EXPECT_NE(process.error().message().find("cannot start \"no-such-program-here\""), std::string::npos);
}

TEST_P(ProcessesTest, WaitingStopsAtItsTimeout) {
  const auto process = shell("exec sleep 1000");
  const Seconds start = clock_->monotonic();
  EXPECT_FALSE((*process->wait(Seconds(0))).has_value());
  EXPECT_FALSE((*process->wait(Seconds(0.02))).has_value());
  EXPECT_GE(clock_->monotonic() - start, Seconds(0.0199));
}

TEST_P(ProcessesTest, AKilledChildReportsItsSignal) {
  for (const Signal signal : {Signal::kKill, Signal::kTerminate}) {
    const auto process = shell("exec sleep 1000");
    ASSERT_TRUE(process->kill(signal));
    const auto exit = process->wait(kLong);
    ASSERT_TRUE(exit && exit->has_value());
    EXPECT_EQ(**exit, (ProcessExit{0, static_cast<int>(signal)}));
    EXPECT_FALSE((*exit)->ok());
  }
}

TEST(ProcessExitTest, ReadsAsASentence) {
  EXPECT_EQ(to_string(ProcessExit{3, 0}), "exit code 3");
  EXPECT_EQ(to_string(ProcessExit{0, 9}), "killed by signal 9");
}

TEST_P(ProcessesTest, AStoppedChildGoesOnWhenContinuedAndDiesWhenKilled) {
  const auto process = shell("sleep 0.2");
  ASSERT_TRUE(process->kill(Signal::kStop));
  ASSERT_TRUE(process->kill(Signal::kContinue));
  EXPECT_TRUE((*process->wait(kLong))->ok());

  const auto frozen = shell("exec sleep 1000");
  ASSERT_TRUE(frozen->kill(Signal::kStop));
  ASSERT_TRUE(frozen->kill(Signal::kKill));
  EXPECT_EQ((*frozen->wait(kLong))->signal, static_cast<int>(Signal::kKill));
}

TEST_P(ProcessesTest, CapturedOutputIsCutAtItsLimitWithoutBlockingTheChild) {
  const auto process = shell("yes | head -c 1000000", {.output_max = Bytes(1000)});
  ASSERT_TRUE((*process->wait(kLong)).has_value());
  EXPECT_EQ(process->standard_output().size(), 1000u);
}

TEST(RealProcessesTest, DestroyingTheHandleEndsTheChild) {
  RealProcesses processes;
  std::int64_t id = 0;
  {
    const auto process = *processes.spawn({.argv = {"sleep", "1000"}});
    id = process->id();
  }
  const auto check =
      *processes.spawn({.argv = {"sh", "-c", "kill -0 " + std::to_string(id)}, .output = Output::kDiscard});
  EXPECT_FALSE((*check->wait(kLong))->ok());
}

TEST(RealProcessesTest, AGroupDiesWithItsChildren) {
  RealProcesses processes;
  const auto process = *processes.spawn(
      {.argv = {"sh", "-c", "sleep 1000 & echo started; wait"}, .output = Output::kCapture, .own_group = true});
  while (process->standard_output().empty()) ASSERT_FALSE((*process->wait(Seconds(0.01))).has_value());
  ASSERT_TRUE(process->kill(Signal::kKill));
  EXPECT_EQ((*process->wait(kLong))->signal, static_cast<int>(Signal::kKill));
}

TEST(SimProcessesTest, TheClockDrivesTheEndAndStoppedTimeDoesNotCount) {
  SimClock clock;
  SimProcesses processes(clock);
  processes.add_program("train", [](const ProcessSpec&) { return SimRun{Seconds(100), 0, "", ""}; });
  const auto process = *processes.spawn({.argv = {"train"}});
  clock.advance(Seconds(40));
  ASSERT_TRUE(process->kill(Signal::kStop));
  clock.advance(Seconds(1000));
  ASSERT_TRUE(process->kill(Signal::kContinue));
  EXPECT_TRUE((*process->wait(kForever))->ok());
  EXPECT_EQ(clock.monotonic(), Seconds(1100));
}

TEST(SimProcessesTest, AStoppedProgramSeesTheSignalWhenItContinues) {
  SimClock clock;
  SimProcesses processes(clock);
  processes.add_program("train", [](const ProcessSpec&) { return SimRun{.duration = Seconds(100)}; });
  const auto process = *processes.spawn({.argv = {"train"}});
  ASSERT_TRUE(process->kill(Signal::kStop));
  ASSERT_TRUE(process->kill(Signal::kTerminate));
  EXPECT_FALSE((*process->wait(hours(1))).has_value());
  ASSERT_TRUE(process->kill(Signal::kContinue));
  EXPECT_EQ((*process->wait(Seconds(0)))->signal, static_cast<int>(Signal::kTerminate));
}

TEST(SimProcessesTest, AStubbornProgramNeedsSigkill) {
  SimClock clock;
  SimProcesses processes(clock);
  processes.add_program("stubborn",
                        [](const ProcessSpec&) { return SimRun{.duration = kForever, .ignores_terminate = true}; });
  const auto process = *processes.spawn({.argv = {"stubborn"}});
  ASSERT_TRUE(process->kill(Signal::kTerminate));
  EXPECT_FALSE((*process->wait(hours(1))).has_value());
  ASSERT_TRUE(process->kill(Signal::kKill));
  EXPECT_EQ((*process->wait(Seconds(0)))->signal, 9);
}

TEST(ProgramPath, CanBeStartedByAnother) {
  const auto path = program_path();
  ASSERT_TRUE(path.has_value());
  EXPECT_TRUE(path->ends_with("env_test")) << *path;
  EXPECT_EQ(path->find("/proc/"), std::string::npos);
}

TEST(RealProcesses, MarkedOnesAndTheirDescendantsAreKilledAndNoOthers) {
  RealProcesses processes;
  const std::string script = "setsid sleep 300 & sleep 300 & exec sleep 300";
  const auto start = [&](const std::string& mark) {
    auto process = processes.spawn({.argv = {"sh", "-c", script}, .environment = {{"ORRERY_TEST_MARK", mark}}});
    EXPECT_TRUE(process);
    return std::move(*process);
  };
  const auto other = start("other"), marked = start("one");
  RealClock().sleep(Seconds(0.3));  // until all have been started
  EXPECT_EQ(processes.kill_marked("ORRERY_TEST_MARK", "one"), 3);
  EXPECT_EQ((*marked->wait(kLong))->signal, 9);
  EXPECT_EQ(processes.kill_marked("ORRERY_TEST_MARK", "one"), 0);
  EXPECT_FALSE(*other->wait(Seconds(0)));
  EXPECT_EQ(processes.kill_marked("ORRERY_TEST_MARK", "other"), 3);
}

}  // namespace
}  // namespace orrery::env
