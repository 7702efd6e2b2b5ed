#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <set>

#include "env/sim_env.h"
#include "profile/distributed/network.h"
#include "profile/jobs/build_jobs.h"

namespace orrery::profile {
namespace {

TEST(Jobs, AreTheSameForASeedAndANumber) {
  for (const std::uint64_t number : {0U, 3U, 17U}) {
    const auto first = draw_job(1, number), again = draw_job(1, number), other = draw_job(2, number);
    ASSERT_TRUE(first && again && other);
    EXPECT_EQ(first->key(), again->key());
    EXPECT_EQ(first->steps, again->steps);
    EXPECT_NE(first->key(), other->key());
  }
}

TEST(Jobs, ExchangeForBetweenATwentiethAndASecond) {
  std::set<std::string> families;
  int rings = 0, async = 0;
  for (std::uint64_t number = 0; number < 40; ++number) {
    const auto job = draw_job(1, number);
    ASSERT_TRUE(job);
    const auto run = run_of(*job);
    ASSERT_TRUE(run);
    const Seconds exchange = exchange_time(*job, Bytes(4.0 * static_cast<double>(run->graph.parameter_count())));
    EXPECT_GE(exchange, Seconds(0.05));
    EXPECT_LE(exchange, Seconds(1));
    EXPECT_GE(job->steps, 6);
    families.insert(job->family);
    rings += job->form == DistributedForm::kAllReduce ? 1 : 0;
    async += job->is_async ? 1 : 0;
  }
  EXPECT_GE(families.size(), 10U);
  EXPECT_GT(rings, 0);
  EXPECT_GT(async, 0);
}

TEST(Jobs, TheBusiestLinkDecidesAnExchange) {
  Job job{.family = "lenet", .model = "lenet", .servers = 1, .workers = 2, .rate = BytesPerSecond(10e6)};
  EXPECT_DOUBLE_EQ(exchange_time(job, Bytes(5e6)).value(), 2.0);  // the server's, of both workers, in and out
  job.servers = 2;
  EXPECT_DOUBLE_EQ(exchange_time(job, Bytes(5e6)).value(), 1.0);
  job.form = DistributedForm::kAllReduce;
  EXPECT_DOUBLE_EQ(exchange_time(job, Bytes(5e6)).value(), 0.5);
}

// A worker that computes for 0.4 s, sends for 0.3 s and receives for 0.3 s, sampled every 10 ms.
LaunchReport scripted_report(int steps) {
  LaunchedProcess worker{"worker 0"};
  worker.worker.emplace();
  const std::string network = fmt::format(" {}", kNetworkInterface);
  const std::string names[] = {"cpu", "memory", "network transmit" + network, "network receive" + network};
  for (const std::string& name : names) worker.series[name] = {name, "", {}, {}};
  for (int step = 0; step < steps; ++step) {
    const double start = step;
    worker.worker->steps.push_back({Seconds(start), Seconds(start + 0.4), Seconds(start + 1), 0.5});
    for (int i = 0; i < 100; ++i) {
      const double values[] = {i < 40 ? 1.0 : 0.05, 3e8, i >= 40 && i < 70 ? 5e7 : 0.0, i >= 70 ? 4e7 : 0.0};
      for (std::size_t s = 0; s < std::size(names); ++s) {
        worker.series[names[s]].times.push_back(Seconds(start + i * 0.01));
        worker.series[names[s]].values.push_back(values[s]);
      }
    }
  }
  return {{worker}, {}};
}

TEST(Jobs, WhatAWorkerUsedIsReadFromItsSeries) {
  const auto job = measured_job({.family = "lenet", .model = "lenet"}, scripted_report(8), 1);
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_NEAR(job->compute.value(), 0.4, 1e-9);
  EXPECT_NEAR(job->step.value(), 1, 1e-9);
  EXPECT_NEAR(job->of(Resource::kProcessor).burst.value(), 0.4, 0.011);
  EXPECT_NEAR(job->of(Resource::kProcessor).idle.value(), 0.6, 0.011);
  EXPECT_NEAR(job->of(Resource::kProcessor).amount, 1, 0.02);
  EXPECT_NEAR(job->of(Resource::kTransmit).burst.value(), 0.3, 0.011);
  EXPECT_NEAR(job->of(Resource::kTransmit).amount, 5e7, 2e6);
  EXPECT_NEAR(job->of(Resource::kReceive).amount, 4e7, 2e6);
  EXPECT_EQ(job->of(Resource::kMemory).burst, Seconds(0));
  EXPECT_DOUBLE_EQ(job->of(Resource::kMemory).amount, 3e8);
}

TEST(Jobs, ASlowCoreIsTakenOffTheComputingOnly) {
  const auto quiet = measured_job({}, scripted_report(8), 1), slow = measured_job({}, scripted_report(8), 2);
  ASSERT_TRUE(quiet && slow);
  EXPECT_NEAR(slow->compute.value(), 0.2, 1e-9);
  EXPECT_NEAR(slow->step.value(), 0.8, 1e-9);
  EXPECT_NEAR((quiet->of(Resource::kProcessor).burst - slow->of(Resource::kProcessor).burst).value(), 0.2, 1e-9);
  EXPECT_NEAR((quiet->of(Resource::kTransmit).idle - slow->of(Resource::kTransmit).idle).value(), 0.2, 1e-9);
  EXPECT_EQ(quiet->of(Resource::kTransmit).burst, slow->of(Resource::kTransmit).burst);
}

TEST(Jobs, AJobWithoutANetworkOfItsOwnIsRefused) {
  LaunchReport report = scripted_report(8);
  std::erase_if(report.processes[0].series, [](const auto& one) { return one.first.starts_with("network"); });
  const auto job = measured_job({}, report, 1);
  ASSERT_FALSE(job);
  EXPECT_NE(job.error().message().find("was not sampled"), std::string::npos);
}

class JobsFile : public testing::Test {
 protected:
  Result<JobsReport> build(std::size_t count, Others others = Others::kWaitedFor) {
    const JobBench bench{"script", [&](const Job&) -> Result<LaunchReport> {
                           ++runs_;
                           return scripted_report(8);
                         }};
    return build_jobs(sim_.env(), "jobs.dataset", {.count = count, .others = others}, bench, {});
  }
  env::SimEnv sim_;
  int runs_ = 0;
};

TEST_F(JobsFile, GoesOnWhereItStopped) {
  ASSERT_TRUE(build(3));
  const auto more = build(5);
  ASSERT_TRUE(more);
  EXPECT_EQ(more->jobs, 5U);
  EXPECT_EQ(more->now, 2U);
  EXPECT_EQ(runs_, 5);
  const auto set = read_jobs(sim_.env().files, "jobs.dataset");
  ASSERT_TRUE(set);
  EXPECT_EQ(set->jobs.size(), 5U);
  EXPECT_FALSE(sim_.env().files.exists("jobs.dataset.log"));
}

TEST_F(JobsFile, OtherProcessesAreWaitedForUnlessTheyAreIgnored) {
  ASSERT_TRUE(sim_.files.make_directory("/proc"));
  std::function<void()> tell = [&] {  // another process uses one of two cores
    const int ticks = static_cast<int>(std::lround(100 * sim_.clock.monotonic().value()));
    ASSERT_TRUE(sim_.files.write_atomically(
        "/proc/stat",
        fmt::format("cpu  {0} 0 0 {0} 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\n", ticks)));
    sim_.clock.at(sim_.clock.monotonic() + Seconds(0.05), tell);
  };
  tell();
  const auto ignored = build(2, Others::kIgnored);
  ASSERT_TRUE(ignored);
  EXPECT_EQ(ignored->disturbed, 2U);
  EXPECT_LT(sim_.clock.monotonic(), Seconds(60));
  const auto waited = build(3);
  ASSERT_TRUE(waited);
  EXPECT_EQ(waited->disturbed, 1U);
  EXPECT_GT(sim_.clock.monotonic(), Seconds(600)) << "then it measures nevertheless";
}

TEST_F(JobsFile, ALineThatWasBeingWrittenIsMeasuredAgain) {
  ASSERT_TRUE(build(3));
  auto lines = read_jobs(sim_.env().files, "jobs.dataset");
  ASSERT_TRUE(lines);
  std::string log = header_line(lines->header);
  for (const MeasuredJob& job : lines->jobs) log += job_line(job);
  ASSERT_TRUE(sim_.env().files.write_atomically("jobs.dataset.log", log.substr(0, log.size() - 20)));
  const auto again = build(3);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->now, 1U);
}

RC_GTEST_PROP(JobsFileText, AnyTextGivesJobsOrAReason, (std::string text)) {
  const std::string header = header_line({"machine", "library", 1, {Seconds(1), Seconds(1), Seconds(1)}});
  for (const std::string& one : {text, header + text + "\n"}) {
    if (const auto set = parse_jobs(one, true); !set) RC_ASSERT(!set.error().message().empty());
  }
}

TEST(JobsFileText, ComesBack) {
  auto job = measured_job({.family = "f", .model = "m", .rate = BytesPerSecond(5e7)}, scripted_report(8), 1.25);
  ASSERT_TRUE(job);
  const std::string header = header_line({"machine", "library", 7, {Seconds(1), Seconds(2), Seconds(3)}});
  const auto set = parse_jobs(header + job_line(*job), false);
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_EQ(set->header.seed, 7U);
  EXPECT_EQ(job_line(set->jobs.at(0)), job_line(*job));
}

TEST(JobsFileText, NamesTheLineAndTheField) {
  auto job = measured_job({.rate = BytesPerSecond(5e7)}, scripted_report(8), 1);
  ASSERT_TRUE(job);
  std::string line = job_line(*job);
  const std::size_t at = line.find("\"cpu\":[");
  line.insert(at + 7, "-");
  const auto set = parse_jobs(header_line({"m", "l", 1, {Seconds(1), Seconds(1), Seconds(1)}}) + line, false);
  ASSERT_FALSE(set);
  EXPECT_NE(set.error().to_string().find("line 2"), std::string::npos) << set.error().to_string();
  EXPECT_NE(set.error().to_string().find("cpu"), std::string::npos);
}

}  // namespace
}  // namespace orrery::profile
