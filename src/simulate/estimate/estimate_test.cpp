#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "simulate/estimate/duration_history.h"
#include "simulate/estimate/start_replay.h"
#include "simulate/generate.h"

namespace orrery::simulate {
namespace {

JobFacts job_of(std::int32_t tenant, std::int32_t gpus) {
  JobFacts facts;
  facts.tenant = tenant;
  facts.gpus = gpus;
  return facts;
}

TEST(DurationHistory, TakesTheClosestKindThatIsKnownWellEnough) {
  DurationHistory history;
  for (int i = 0; i < 20; ++i) history.add(job_of(1, 8), 100 + i);
  for (int i = 0; i < 30; ++i) history.add(job_of(2, 8), 1000 + i);
  EXPECT_NEAR(history.alike(job_of(1, 8))->mean_s, 109.5, 1e-9);
  EXPECT_EQ(history.alike(job_of(1, 8))->all.front(), 100);
  EXPECT_NEAR(history.alike(job_of(3, 8))->mean_s, (20 * 109.5 + 30 * 1014.5) / 50, 1e-9);  // as many GPUs
  history.add(job_of(4, 1), 7);
  EXPECT_EQ(history.alike(job_of(4, 1))->all.front(), 7);  // all: one is too few
  EXPECT_EQ(history.alike(job_of(4, 1))->all.back(), 1029);
}

TEST(DurationHistory, ForgetsWhatIsLongAgo) {
  DurationHistory history;
  for (std::size_t i = 0; i < 2 * DurationHistory::kKept; ++i) history.add(job_of(0, 1), static_cast<double>(i + 1));
  const auto alike = history.alike(job_of(0, 1));
  EXPECT_GT(alike->all.front(), DurationHistory::kKept);
  ASSERT_EQ(alike->periods.size(), DurationHistory::kPeriods);
  EXPECT_LT(alike->periods.front().back(), alike->periods.back().front());  // the order of submission, then of ends
}

// Ended after 1, 2 and 4 s, one still running after 3 s. Survival: 3/4 after 1 s, 1/2 after 2 s, and 0 after 4 s, since
// no job is left beside the one that ended then.
TEST(LikelyTimes, CountsJobsThatStillRun) {
  const std::vector<double> times = likely_times({4, 1, 2}, {3}, {});
  EXPECT_EQ(std::count(times.begin(), times.end(), 1), 50);
  EXPECT_EQ(std::count(times.begin(), times.end(), 2), 50);
  EXPECT_EQ(std::count(times.begin(), times.end(), 4), 100);
}

// Half of four has ended after 1 and 2 s, two still run after 10 s: 20 s are survived by half of the half.
TEST(LikelyTimes, GoesOnBeyondTheLongest) {
  const std::vector<double> times = likely_times({1, 2}, {10, 10}, {});
  EXPECT_EQ(times[99], 2);
  EXPECT_NEAR(times[149], 20, 0.3);
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
}

// The same; elsewhere run times above 10 s were 30 and 50 s.
TEST(LikelyTimes, BeyondTheLongestIsAsElsewhere) {
  const double elsewhere[] = {5, 30, 50};
  const std::vector<double> times = likely_times({1, 2}, {10, 10}, elsewhere);
  EXPECT_EQ(times[99], 2);
  EXPECT_NEAR(times[149], 30, 0.5);
  EXPECT_LE(times.back(), 50);
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
}

// A job that runs for long belongs to those of its time.
TEST(DurationHistory, ARunningJobCountsAmongThoseOfItsTime) {
  DurationHistory history;
  for (int i = 0; i < 40; ++i) {
    JobFacts facts = job_of(0, 1);
    facts.submit_ns = i;
    history.add(facts, 10 + i);
  }
  JobFacts old = job_of(0, 1);
  old.submit_ns = 5;
  for (int i = 0; i < 20; ++i) history.add_running(old, 1e6);
  const auto alike = history.alike(job_of(0, 1));
  ASSERT_EQ(alike->periods.size(), 2u);
  EXPECT_GE(alike->periods.front().back(), 1e6);
  EXPECT_EQ(alike->periods.back().back(), 49);
}

// The same tenant and GPUs; those with four processors run longer.
TEST(DurationHistory, TellsJobsApartByWhatTheyAskFor) {
  DurationHistory history;
  JobFacts small = job_of(0, 1), large = job_of(0, 1);
  small.cpus = 1;
  large.cpus = 4;
  for (int i = 0; i < 20; ++i) history.add(small, 10);
  for (int i = 0; i < 20; ++i) history.add(large, 1000);
  EXPECT_EQ(history.alike(small)->all.back(), 10);
  EXPECT_EQ(history.alike(large)->all.front(), 1000);
  EXPECT_NEAR(history.mean_s(large), 505, 1e-9);  // of the tenant
}

TEST(LongerThan, DrawsFromThoseThatRanLonger) {
  const std::vector<double> sorted = {10, 20, 40, 80};
  EXPECT_NEAR(longer_than(sorted, 0, 0.5), 20, 1e-9);   // half of four
  EXPECT_NEAR(longer_than(sorted, 30, 0.5), 40, 1e-9);  // half of 40 and 80
  EXPECT_NEAR(longer_than(sorted, 30, 0), 30, 1e-9);
  EXPECT_NEAR(longer_than(sorted, 100, 0.5), 200, 1e-9);  // no job ran so long: as long again
  for (double u = 0; u < 1; u += 0.01) EXPECT_GE(longer_than(sorted, 15, u), 15);
}

JobTrace queue_of(std::initializer_list<int> gpus) {
  JobTrace job_trace;
  job_trace.tenants = {""};
  for (const int count : gpus) {
    TraceJob job;
    job.id = std::string(1, static_cast<char>('a' + job_trace.jobs.size()));
    job.facts.gpus = count;
    job_trace.jobs.push_back(job);
  }
  return job_trace;
}

RunSetup machines_of(int machines, int gpus) {
  RunSetup setup;
  for (int m = 0; m < machines; ++m) setup.machines.push_back({.gpus = gpus, .free = gpus});
  return setup;
}

// Two GPUs. a runs on both since 5 s and takes 10; b (2 GPUs, 10 s) and c (1 GPU) follow.
TEST(EstimateStarts, KnownRunTimesGiveTheExactAnswer) {
  const JobTrace job_trace = queue_of({2, 2, 1});
  std::vector<QueuedJob> jobs;
  for (const TraceJob& job : job_trace.jobs) jobs.push_back({job, 0, certain_run_time(10)});
  jobs[0].executed_s = 5;
  // A single possible duration is approached from its half; the largest share is the duration itself.
  const auto run = run_queue(jobs, job_trace, machines_of(1, 2), "fifo", 1 - 1e-12);
  ASSERT_TRUE(run);
  EXPECT_NEAR(schedule::to_seconds(run->jobs[JobIndex(0)].end_ns), 5, 1e-6);
  EXPECT_NEAR(schedule::to_seconds(run->jobs[JobIndex(1)].first_start_ns), 5, 1e-6);
  EXPECT_NEAR(schedule::to_seconds(run->jobs[JobIndex(2)].first_start_ns), 15, 1e-6);
}

// One GPU. b is shorter than what is left of a, and waits nevertheless.
TEST(EstimateStarts, ARunningJobKeepsItsGpus) {
  const JobTrace job_trace = queue_of({1, 1});
  const std::vector<QueuedJob> jobs = {{job_trace.jobs[JobIndex(0)], 5, certain_run_time(100)},
                                       {job_trace.jobs[JobIndex(1)], 0, certain_run_time(1)}};
  const auto run = run_queue(jobs, job_trace, machines_of(1, 1), "sjf", 1 - 1e-12);
  ASSERT_TRUE(run);
  EXPECT_NEAR(schedule::to_seconds(run->jobs[JobIndex(1)].first_start_ns), 95, 1e-3);
}

// One GPU; a has run for 1 s and takes 2 to 102 s, evenly in logarithms between neighbours 1 s apart. b starts when it
// ends.
TEST(EstimateStarts, IntervalsAreThoseOfTheRunTimes) {
  const JobTrace job_trace = queue_of({1, 1});
  std::vector<double> durations;
  for (int i = 2; i <= 102; ++i) durations.push_back(i);
  const auto times = std::make_shared<const RunTimes>(RunTimes{durations, {durations}, 52});
  std::vector<QueuedJob> jobs = {{job_trace.jobs[JobIndex(0)], 1, times},
                                 {job_trace.jobs[JobIndex(1)], 0, certain_run_time(10)}};
  const auto estimates = estimate_starts(jobs, job_trace, machines_of(1, 1), "fifo", {.draws = 2000, .threads = 2});
  ASSERT_TRUE(estimates);
  const StartEstimate& b = (*estimates)[1];
  EXPECT_NEAR(b.start_s.low, 10.5, 2);
  EXPECT_NEAR(b.start_s.middle, 50.5, 3);
  EXPECT_NEAR(b.start_s.high, 90.5, 3);
  EXPECT_NEAR(b.end_s.high, 90.5 + 10, 4);
  const auto again = estimate_starts(jobs, job_trace, machines_of(1, 1), "fifo", {.draws = 2000, .threads = 1});
  EXPECT_EQ((*again)[1].start_s.middle, b.start_s.middle);
}

TEST(EstimateStarts, AJobThatNeverFitsIsSaidToNeverStart) {
  const JobTrace job_trace = queue_of({1, 4});
  const std::vector<QueuedJob> jobs = {{job_trace.jobs[JobIndex(0)], 0, certain_run_time(10)},
                                       {job_trace.jobs[JobIndex(1)], 0, certain_run_time(10)}};
  const auto estimates = estimate_starts(jobs, job_trace, machines_of(1, 2), "fifo", {.draws = 3});
  ASSERT_TRUE(estimates);
  EXPECT_FALSE((*estimates)[0].never);
  EXPECT_TRUE((*estimates)[1].never);
  EXPECT_FALSE(estimate_starts(jobs, job_trace, machines_of(1, 2), "fivo", {.draws = 3}));
}

// Twenty cases whose truth is k tenths of a width above the middle: 80 % of 21/20 are inside at about 1.7 widths.
TEST(StretchOf, IsWhatFourOfFiveNeeded) {
  std::vector<StartCase> cases;
  EXPECT_EQ(stretch_of(cases, 0.8), 1);
  for (int k = 1; k <= 20; ++k) {
    StartCase one;
    one.mixed_s = {std::expm1(4), std::expm1(5), std::expm1(6)};
    one.waited_s = std::expm1(5 + 0.1 * k);
    cases.push_back(one);
  }
  EXPECT_NEAR(stretch_of(cases, 0.8), 1.7, 0.05);
  const Quantiles wide = stretched({std::expm1(4), std::expm1(5), std::expm1(6)}, 2);
  EXPECT_NEAR(wide.low, std::expm1(3), 1e-9);
  EXPECT_NEAR(wide.high, std::expm1(7), 1e-6);
}

TEST(ReplayStarts, BeatsMeansAndItsIntervalsHoldOnAMadeUpTrace) {
  JobTrace job_trace = generate({.jobs = 3000, .rate_per_h = 120, .seed = 3});
  const auto cases = replay_starts(job_trace, machines_of(28, 8), "fifo", 200, {.draws = 60, .threads = 2});
  ASSERT_TRUE(cases) << cases.error().to_string();
  const StartScore score = score_of(*cases);
  EXPECT_GE(score.cases, 50u);
  EXPECT_LT(score.error_s, 0.5 * score.by_mean_error_s);
  EXPECT_GT(score.inside, 0.6);
  EXPECT_FALSE(replay_starts(job_trace, machines_of(28, 8), "srtf", 10, {}));
}

}  // namespace
}  // namespace orrery::simulate
