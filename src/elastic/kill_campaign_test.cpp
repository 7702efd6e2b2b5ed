// Many short jobs of real processes, each with kills at random moments: on one host, and on hosts of their own. For
// more: ORRERY_KILLS=1000 elastic_test --gtest_filter='KillCampaign.*'

#include <algorithm>
#include <cstdlib>

#include "elastic/test_training.h"
#include "env/real_clock.h"

namespace orrery::elastic {
namespace {

std::uint64_t variable(const char* name, std::uint64_t otherwise) {
  const char* const wanted = std::getenv(name);
  return wanted == nullptr ? otherwise : std::strtoull(wanted, nullptr, 10);
}

// From a kill to the next step that a survivor commits.
struct Recoveries {
  std::vector<double> seconds{};

  void print(const char* what) {
    if (seconds.empty()) return;
    std::sort(seconds.begin(), seconds.end());
    std::printf("  %s: %zu kills; next step after %.1f ms in the median, %.1f ms in 99 of 100, %.1f ms at most\n", what,
                seconds.size(), 1e3 * seconds[seconds.size() / 2], 1e3 * seconds[seconds.size() * 99 / 100],
                1e3 * seconds.back());
  }
};

double seconds_now() {
  return env::RealClock().monotonic().value();
}

// Kills `victims` at the same moment, and waits until one of the others continues.
void kill(Job& job, std::map<int, ChildRank>& live, const std::vector<int>& victims, Recoveries& recoveries) {
  for (const int slot : victims) live.at(slot).kill(SIGKILL);
  const double begin = seconds_now();
  for (const int slot : victims) {
    EXPECT_EQ(live.at(slot).wait(), -SIGKILL);
    live.erase(slot);
  }
  // A commit that only dead workers knew may be repeated, so progress counts from where the survivors are.
  const int witness = live.begin()->first;
  const std::uint64_t before = job.score->steps[witness];
  while (job.score->steps[witness] <= before && seconds_now() < begin + 120) ::usleep(50);
  ASSERT_GT(job.score->steps[witness], before);
  recoveries.seconds.push_back(seconds_now() - begin);
}

void run_one(std::uint64_t seed, bool on_several_hosts, Recoveries& recoveries) {
  Random random(seed);
  const int workers = on_several_hosts ? 3 + static_cast<int>(random.below(2)) : 2 + static_cast<int>(random.below(3));
  Job job(workers, 8, on_several_hosts ? workers : 1);
  std::map<int, ChildRank> live;
  for (int slot = 0; slot < workers; ++slot) live.emplace(slot, job.found(slot));
  for (int slot = 0; slot < workers; ++slot) job.wait_for_step(slot, 1);
  // On several hosts a majority must be left.
  const int kills_max = on_several_hosts ? (workers - 1) / 2 : workers - 1;
  const int kills = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(kills_max)));
  std::vector<int> slots;
  for (int slot = 0; slot < workers; ++slot) slots.push_back(slot);
  for (std::size_t i = slots.size(); i > 1; --i) std::swap(slots[i - 1], slots[random.below(i)]);
  slots.resize(static_cast<std::size_t>(kills));
  ::usleep(static_cast<useconds_t>(random.below(20'000)));
  if (kills > 1 && random.below(2) == 0) {
    kill(job, live, slots, recoveries);
  } else {
    for (const int slot : slots) {
      kill(job, live, {slot}, recoveries);
      ::usleep(static_cast<useconds_t>(random.below(3'000)));
    }
  }
  job.expect_the_right_models(5);
  for (auto& [slot, child] : live) EXPECT_EQ(child.wait(), 0) << "slot " << slot;
  job.check_models();
}

void campaign(bool on_several_hosts, const char* what) {
  Recoveries recoveries;
  const std::uint64_t first = variable("ORRERY_FIRST_SEED", 1), end = first + variable("ORRERY_KILLS", 8);
  for (std::uint64_t seed = first; seed < end; ++seed) {
    run_one(seed, on_several_hosts, recoveries);
    ASSERT_FALSE(testing::Test::HasFailure()) << what << ", seed " << seed;
  }
  recoveries.print(what);
}

TEST(KillCampaign, OneHost) {
  campaign(false, "one host");
}

TEST(KillCampaign, SeveralHosts) {
  campaign(true, "several hosts");
}

}  // namespace
}  // namespace orrery::elastic
