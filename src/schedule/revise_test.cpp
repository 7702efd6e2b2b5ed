// Jobs of which other work is known: policies that order by it follow, and what they decide is what a stable sort of all
// jobs by the work that is left would.

#include <algorithm>
#include <gtest/gtest.h>

#include "base/random.h"
#include "schedule/dispatcher.h"
#include "schedule/policies.h"

namespace orrery::schedule {
namespace {

struct Case {
  const char* policy;
  bool counts_gpus;
};

class Revised : public ::testing::TestWithParam<Case> {
 protected:
  // The jobs that run if all live ones are walked in the order of what is left.
  std::vector<JobIndex> expected(const Dispatcher& dispatcher) const {
    const ClusterView& view = dispatcher.view();
    std::vector<JobIndex> jobs = own_jobs(view);
    const auto size = [&](JobIndex job) {
      return view.left_ns(job) / 1000 * (GetParam().counts_gpus ? view.facts(job).gpus : 1);
    };
    std::stable_sort(jobs.begin(), jobs.end(), [&](JobIndex a, JobIndex b) { return size(a) < size(b); });
    std::vector<JobIndex> running;
    int free = view.gpus();
    for (const JobIndex job : jobs) {
      if (view.facts(job).gpus > free) continue;
      free -= view.facts(job).gpus;
      running.push_back(job);
    }
    std::sort(running.begin(), running.end());
    return running;
  }
};

TEST_P(Revised, WorkChangesThePlaceInTheOrder) {
  int revisions = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    Dispatcher dispatcher({{.gpus = 8}}, {.is_strict = true});
    ASSERT_TRUE(dispatcher.set_policy([](const ClusterView&) { return make_policy(GetParam().policy, {}); }));
    // Whole milliseconds with a nanosecond of their own: no two sizes are equal.
    const auto work = [&] {
      if (random.uniform() < 0.1) return kUnknownWork - static_cast<TimeNs>(random.below(1'000'000'000)) * 1'000'000;
      return static_cast<TimeNs>(1 + random.below(100'000'000)) * 1'000'000;
    };
    for (int event = 0; event < 60; ++event) {
      dispatcher.advance_to(dispatcher.view().now() + 1'000'000 * static_cast<TimeNs>(random.below(5000)));
      const std::vector<JobIndex> live = own_jobs(dispatcher.view());
      const double what = random.uniform();
      if (live.empty() || what < 0.4) {
        dispatcher.submit({.work_ns = work(), .gpus = 1 << random.below(4)});
      } else {
        const JobIndex job = live[random.below(live.size())];
        if (what < 0.5) {
          dispatcher.cancel(job);
        } else {
          JobFacts known = dispatcher.view().facts(job);
          known.work_ns = dispatcher.view().done_ns(job) + work();
          dispatcher.revise(job, known);
          ++revisions;
        }
      }
      ASSERT_TRUE(dispatcher.step());
      for (const Change& change : dispatcher.changes()) {
        if (change.kind == Change::Kind::kStarted) dispatcher.ledger().set_rate(change.job, 1);
      }
      dispatcher.clear_changes();
      std::vector<JobIndex> running;
      for (const JobIndex job : own_jobs(dispatcher.view())) {
        if (dispatcher.view().is_running(job)) running.push_back(job);
      }
      ASSERT_EQ(running, expected(dispatcher)) << "seed " << seed << ", event " << event;
    }
  }
  EXPECT_GT(revisions, 1000);
}

INSTANTIATE_TEST_SUITE_P(Policies, Revised, ::testing::Values(Case{"srtf", false}, Case{"srsf", true}),
                         [](const auto& param) { return std::string(param.param.policy); });

TEST(Dispatcher, TellsOfRevisionsOnceAndOnlyOfJobsThatThePolicyKnows) {
  Dispatcher dispatcher({{.gpus = 1}}, {.is_strict = true});
  ASSERT_TRUE(dispatcher.set_policy([](const ClusterView&) { return make_policy("sjf", {}); }));
  dispatcher.submit({.work_ns = 10 * kSecondNs});
  dispatcher.submit({.work_ns = 20 * kSecondNs});
  dispatcher.submit({.work_ns = 30 * kSecondNs});
  const JobIndex longest(2);
  dispatcher.revise(longest, {.work_ns = 40 * kSecondNs});  // it has not been told of the job
  ASSERT_TRUE(dispatcher.step());
  EXPECT_TRUE(dispatcher.view().is_running(JobIndex(0)));
  dispatcher.revise(longest, {.work_ns = 5 * kSecondNs});
  dispatcher.revise(longest, {.work_ns = 4 * kSecondNs});
  dispatcher.revise(JobIndex(0), {.work_ns = 1 * kSecondNs});
  dispatcher.end(JobIndex(0));
  ASSERT_TRUE(dispatcher.step());
  EXPECT_TRUE(dispatcher.view().is_running(longest));
  EXPECT_EQ(dispatcher.view().facts(longest).work_ns, 4 * kSecondNs);
}

}  // namespace
}  // namespace orrery::schedule
