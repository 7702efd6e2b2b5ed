#include "schedule/job_table.h"

#include <gtest/gtest.h>
#include <string>

#include "base/random.h"

namespace orrery::schedule {
namespace {

std::vector<JobIndex> known(const JobTable<std::string>& table) {
  std::vector<JobIndex> jobs;
  table.for_each([&](JobIndex job) { jobs.push_back(job); });
  return jobs;
}

TEST(JobTable, ForgottenJobsReadAsBlank) {
  JobTable<std::string> table("gone");
  table.push_back("a");
  table.push_back("b");
  table.forget(JobIndex(0));
  EXPECT_EQ(std::as_const(table)[JobIndex(0)], "gone");
  EXPECT_EQ(table[JobIndex(1)], "b");
  EXPECT_EQ(known(table), std::vector{JobIndex(1)});
  EXPECT_EQ(table.end(), JobIndex(2));  // numbers are not used again
}

// The same as a map, with jobs that come in order and leave in any.
TEST(JobTable, KeepsWhatAMapKeeps) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    JobTable<std::string> table;
    std::map<JobIndex, std::string> truth;
    const double stays = random.uniform(0, 0.1);
    for (int i = 0; i < 20'000; ++i) {
      table.push_back(std::to_string(i));
      truth.emplace(JobIndex(i), std::to_string(i));
      while (random.uniform() < 0.6 && truth.size() > 3) {
        // Mostly old jobs; some of them stay for very long.
        auto victim = truth.begin();
        std::advance(victim, static_cast<std::ptrdiff_t>(random.below(std::min<std::size_t>(truth.size(), 50))));
        if (random.uniform() < stays) break;
        table.forget(victim->first);
        truth.erase(victim);
      }
      if (i % 997 != 0) continue;
      std::vector<JobIndex> jobs;
      for (const auto& [job, text] : truth) {
        jobs.push_back(job);
        ASSERT_EQ(std::as_const(table)[job], text);
      }
      ASSERT_EQ(known(table), jobs) << "seed " << seed;
    }
  }
}

// A million jobs of which ten live for ever take the memory of some hundreds.
TEST(JobTable, MemoryIsThatOfLiveJobs) {
  constexpr int kLive = 100;
  JobTable<int> table;
  for (int i = 0; i < 1'000'000; ++i) {
    table.push_back(i);
    const int old = i - kLive;
    if (old >= 0 && old % 100'000 != 0) table.forget(JobIndex(old));
    ASSERT_LE(table.stored(), 2000U);
  }
  EXPECT_EQ(table[JobIndex(300'000)], 300'000);
}

TEST(JobTable, AnEmptyOneBeginsWhereItIsTold) {
  JobTable<int> table(-1);
  table.cover(JobIndex(1'000'000), JobIndex(1'000'010));
  EXPECT_EQ(table.stored(), 10U);
  table[JobIndex(5)] = 7;  // a job that is older than that and lives
  EXPECT_EQ(table[JobIndex(5)], 7);
  EXPECT_EQ(table[JobIndex(1'000'003)], -1);
  EXPECT_EQ(table.stored(), 11U);
}

}  // namespace
}  // namespace orrery::schedule
