#include <algorithm>
#include <gtest/gtest.h>

#include "base/random.h"
#include "schedule/cluster_ledger.h"
#include "schedule/placement/placer.h"
#include "schedule/policies.h"
#include "schedule/policies/gandiva.h"
#include "schedule/policies/gittins_index.h"
#include "schedule/size_heaps.h"

namespace orrery::schedule {
namespace {

ClusterLedger two_machines() {
  return ClusterLedger({{.gpus = 4}, {.gpus = 4}});
}

TEST(ClusterLedger, BooksWorkByRateAndTime) {
  ClusterLedger ledger = two_machines();
  const JobIndex job = ledger.add({.work_ns = 100, .gpus = 2});
  ledger.admit(job);
  ledger.start(job, {{MachineIndex(0), 2}}, 0.5, 10);
  ledger.advance_to(30);
  EXPECT_EQ(ledger.executed_ns(job), 30);
  EXPECT_EQ(ledger.done_ns(job), 10);  // half speed, and nothing before 10
  ledger.suspend(job);
  ledger.advance_to(50);
  EXPECT_EQ(ledger.left_ns(job), 90);
  EXPECT_EQ(ledger.free_gpus(), 8);
  EXPECT_TRUE(ledger.check_invariants().has_value());
}

TEST(ClusterLedger, RefusesGpusThatAreTaken) {
  ClusterLedger ledger = two_machines();
  const JobIndex first = ledger.add({.gpus = 3}), second = ledger.add({.gpus = 2});
  ledger.admit(first);
  ledger.admit(second);
  ledger.start(first, {{MachineIndex(0), 3}}, 1, 0);
  EXPECT_FALSE(ledger.check_take({.job = second, .allocation = {{MachineIndex(0), 2}}}).has_value());
  EXPECT_TRUE(ledger.check_take({.job = second, .allocation = {{MachineIndex(1), 2}}}).has_value());
  EXPECT_FALSE(ledger.check_release({.action = Action::kSuspend, .job = second}).has_value());
  EXPECT_FALSE(ledger.check_release({.action = Action::kStart, .job = first}).has_value());
}

TEST(ClusterLedger, AGuestKeepsTheGpusOfItsHost) {
  ClusterLedger ledger = two_machines();
  const JobIndex host = ledger.add({.gpus = 4}), guest = ledger.add({.gpus = 4});
  ledger.admit(host);
  ledger.admit(guest);
  ledger.start(host, {{MachineIndex(0), 4}}, 1, 0);
  ledger.share(guest, host, false, 1, 0);
  EXPECT_EQ(ledger.free_gpus(), 4);
  ledger.end(host);
  EXPECT_EQ(ledger.free_gpus(), 4);
  EXPECT_TRUE(ledger.check_invariants().has_value());
  ledger.end(guest);
  EXPECT_EQ(ledger.free_gpus(), 8);
  EXPECT_TRUE(ledger.check_invariants().has_value());
}

TEST(ClusterLedger, AGroupHasTheGpusOfOneAndAtMostFourJobs) {
  ClusterLedger ledger = two_machines();
  std::vector<JobIndex> jobs;
  for (int j = 0; j < 5; ++j) {
    jobs.push_back(ledger.add({.gpus = 4}));
    ledger.admit(jobs.back());
  }
  const auto interleave = [&](JobIndex job) {
    return Decision{.action = Action::kInterleave, .job = job, .other = jobs[0]};
  };
  ledger.start(jobs[0], {{MachineIndex(0), 4}}, 1, 0);
  for (std::size_t j = 1; j < 4; ++j) {
    ASSERT_TRUE(ledger.check_take(interleave(jobs[j])).has_value());
    ledger.share(jobs[j], jobs[0], true, 1, 0);
    ASSERT_TRUE(ledger.check_invariants().has_value());
  }
  EXPECT_EQ(ledger.free_gpus(), 4);
  EXPECT_EQ(ledger.group_of(jobs[2]).size(), 4u);
  EXPECT_FALSE(ledger.check_take(interleave(jobs[4])).has_value());
  EXPECT_FALSE(ledger.check_take({.action = Action::kPack, .job = jobs[4], .other = jobs[1]}).has_value());
  // The first job leaves, then the others: the GPUs are free when the last has left.
  for (const std::size_t leaves : {0U, 2U, 3U}) {
    ledger.suspend(jobs[leaves]);
    EXPECT_EQ(ledger.free_gpus(), 4);
    ASSERT_TRUE(ledger.check_invariants().has_value());
  }
  EXPECT_EQ(ledger.group_of(jobs[1]), std::vector<JobIndex>{jobs[1]});
  ledger.end(jobs[1]);
  EXPECT_EQ(ledger.free_gpus(), 8);
  EXPECT_TRUE(ledger.check_invariants().has_value());
}

TEST(ClusterLedger, AMachineThatIsDownHasNoGpus) {
  ClusterLedger ledger = two_machines();
  ledger.set_machine_up(MachineIndex(0), false);
  EXPECT_EQ(ledger.gpus(), 4);
  EXPECT_EQ(FreeGpus(ledger).on(MachineIndex(0)), 0);
  ledger.set_machine_up(MachineIndex(0), true);
  EXPECT_EQ(ledger.free_gpus(), 8);
}

Allocation placed(std::string_view placer, std::vector<int> free, int gpus) {
  Machines machines;
  for (std::size_t m = 0; m < free.size(); ++m) machines.push_back({.gpus = 8, .rack = static_cast<int>(m / 2)});
  ClusterLedger ledger(machines);
  for (std::size_t m = 0; m < free.size(); ++m) {
    if (free[m] == 8) continue;
    const JobIndex job = ledger.add({.gpus = 8 - free[m]});
    ledger.admit(job);
    ledger.start(job, {{MachineIndex(m), 8 - free[m]}}, 1, 0);
  }
  auto made = make_placer(placer);
  return (*made)->place(ledger, FreeGpus(ledger), JobIndex(0), gpus).value_or(Allocation{});
}

TEST(Placers, TakeWhatTheirNamesSay) {
  EXPECT_EQ(placed("most-free", {2, 5, 3, 5}, 7), (Allocation{{MachineIndex(1), 5}, {MachineIndex(3), 2}}));
  EXPECT_EQ(placed("consolidated", {2, 5, 3, 5}, 3), (Allocation{{MachineIndex(2), 3}}));
  EXPECT_EQ(placed("consolidated", {2, 5, 3, 5}, 7), (Allocation{{MachineIndex(1), 5}, {MachineIndex(0), 2}}));
  EXPECT_EQ(placed("best-fit", {2, 5, 3, 5}, 7), Allocation{});
  EXPECT_EQ(placed("best-fit", {8, 5, 3, 5}, 11), (Allocation{{MachineIndex(0), 8}, {MachineIndex(2), 3}}));
  // Machines 0 and 1 are one rack, 2 and 3 the other; eight GPUs fit only into the second.
  EXPECT_EQ(placed("rack", {2, 5, 3, 5}, 8), (Allocation{{MachineIndex(3), 5}, {MachineIndex(2), 3}}));
}

TEST(ClusterLedger, WithheldGpusAreNotThePolicys) {
  ClusterLedger ledger = two_machines();
  const JobIndex job = ledger.add({.gpus = 3});
  ledger.admit(job);
  ledger.withhold({MachineIndex(0), 3});
  EXPECT_EQ(ledger.gpus(), 5);
  EXPECT_EQ(ledger.free_gpus(), 5);
  ledger.start_withheld(job, {{MachineIndex(0), 3}}, 1, 0);
  EXPECT_EQ(ledger.held_gpus(), 3);
  EXPECT_TRUE(ledger.check_invariants().has_value());
  EXPECT_FALSE(ledger.check_release({.action = Action::kSuspend, .job = job}).has_value());
  ledger.end(job);
  EXPECT_EQ(ledger.gpus(), 8);
  EXPECT_EQ(ledger.free_gpus(), 8);
  EXPECT_TRUE(ledger.check_invariants().has_value());
}

TEST(ClusterLedger, FreeGpusOfMachinesPartlyInUseAreStranded) {
  ClusterLedger ledger = two_machines();
  const JobIndex job = ledger.add({.gpus = 5});
  ledger.admit(job);
  EXPECT_EQ(ledger.stranded_gpus(), 0);
  ledger.start(job, {{MachineIndex(0), 4}, {MachineIndex(1), 1}}, 1, 0);
  EXPECT_EQ(ledger.stranded_gpus(), 3);
  EXPECT_TRUE(ledger.check_invariants().has_value());
  ledger.suspend(job);
  EXPECT_EQ(ledger.stranded_gpus(), 0);
}

TEST(ClusterLedger, AMinimumRunTimeProtectsFromSuspension) {
  ClusterLedger ledger = two_machines();
  ledger.set_min_run(100);
  const JobIndex job = ledger.add({.gpus = 1});
  ledger.admit(job);
  ledger.start(job, {{MachineIndex(0), 1}}, 1, 0);
  ledger.advance_to(99);
  EXPECT_TRUE(ledger.is_protected(job));
  EXPECT_FALSE(ledger.check_release({.action = Action::kSuspend, .job = job}).has_value());
  ledger.advance_to(100);
  EXPECT_TRUE(ledger.check_release({.action = Action::kSuspend, .job = job}).has_value());
}

TEST(ClusterLedger, TypesAJobRunsOnComeByItsSpeed) {
  ClusterLedger ledger({{.gpus = 1, .device = 0}, {.gpus = 1, .device = 1}, {.gpus = 1, .device = 2}});
  ledger.set_speeds({{1, 1, 1}, {0.2, 1, 0}});
  const JobIndex anywhere = ledger.add({.gpus = 1}), picky = ledger.add({.gpus = 1, .speed_class = 1});
  EXPECT_EQ(ledger.types_of(anywhere), (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(ledger.types_of(picky), (std::vector<std::int32_t>{1, 0}));
  ledger.admit(picky);
  EXPECT_FALSE(ledger.check_take({.job = picky, .allocation = {{MachineIndex(2), 1}}}).has_value());
  EXPECT_DOUBLE_EQ(ledger.type_speed(picky, {{MachineIndex(0), 1}, {MachineIndex(1), 1}}), 0.2);
  auto placer = make_fastest_type_placer(make_consolidated_placer());
  EXPECT_EQ(placer->place(ledger, FreeGpus(ledger), picky, 1), (Allocation{{MachineIndex(1), 1}}));
  EXPECT_FALSE(placer->place(ledger, FreeGpus(ledger), picky, 2).has_value());
}

TEST(SizeHeaps, AJobCanBeTakenOutWhereverItStands) {
  SizeHeaps heaps;
  for (const int job : {5, 3, 9, 1, 7}) heaps.push({2}, {.value = job, .job = JobIndex(job)});
  heaps.remove({2}, JobIndex(1));
  heaps.remove({2}, JobIndex(7));
  heaps.remove({2}, JobIndex(100));
  heaps.remove({4}, JobIndex(3));
  EXPECT_EQ(heaps.size(), 3u);
  for (const int job : {3, 5, 9}) {
    EXPECT_EQ(heaps.top({2}).job, JobIndex(job));
    heaps.pop(*heaps.first(2));
  }
}

TEST(GittinsIndex, FollowsItsFormula) {
  // D = 10, 20, 40, quantum 15. Below the first value a = 9: i = 0, k = #(D <= 24) = 2; P = 2/3 = 0.66667,
  // E = (10 + 20 + 15) / 3 = 15, rank = 44444.6667.
  const std::vector<double> sample = {20, 10, 40};
  const auto index = GittinsIndex::make(sample, 15);
  ASSERT_TRUE(index.has_value());
  EXPECT_DOUBLE_EQ(index->rank(0), 44444.6667);
  EXPECT_DOUBLE_EQ(index->rank(41), 0);
  EXPECT_FALSE(GittinsIndex::make(std::vector<double>{1}, 15).has_value());
}

TEST(Gandiva, PacksWhenItBeatsTakingTurns) {
  EXPECT_TRUE(packing_pays(0.8, 0.3));
  EXPECT_FALSE(packing_pays(0.5, 0.5));
}

TEST(Policies, AreFoundByName) {
  PolicyInputs inputs;
  EXPECT_FALSE(make_policy("gavel-packed", inputs).has_value());
  inputs.packed_share = [](const ClusterView&, JobIndex, JobIndex) { return 0.6; };
  for (const PolicyRecord& policy : all_policies()) {
    // Elastic policies need a scaling model; here is none.
    EXPECT_EQ(make_policy(policy.name, inputs).has_value(), !needs_elastic_jobs(policy.name)) << policy.name;
  }
  const auto wrong = make_policy("srft", inputs);
  ASSERT_FALSE(wrong.has_value());
  EXPECT_NE(wrong.error().message().find("srtf"), std::string::npos);
  inputs.placement = "best-fit";
  EXPECT_FALSE(make_policy("srtf", inputs).has_value());
  EXPECT_TRUE(make_policy("fifo", inputs).has_value());
}

TEST(Reasons, ReadLikeSentences) {
  EXPECT_EQ(to_string(Reason{Why::kQueue, 1}), "in queue 1 of attained service");
  EXPECT_EQ(to_string(Reason{Why::kFewerServers, 3, 1}), "together on 1 servers instead of 3");
}

// A copy that follows the changes of a large cluster equals a new one, and finds what a search of all finds.
TEST(FreeGpus, FollowsALargeCluster) {
  Random random(5);
  Machines machines;
  for (int m = 0; m < 900; ++m) machines.push_back({.gpus = static_cast<std::int32_t>(1 + random.below(80))});
  ClusterLedger ledger(machines);
  std::vector<JobIndex> running;
  FreeGpus followed;
  for (int step = 0; step < 4000; ++step) {
    const MachineIndex m(random.below(machines.size()));
    if (!running.empty() && random.uniform() < 0.45) {
      const std::size_t which = random.below(running.size());
      ledger.end(running[which]);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
    } else if (const int free = ledger.machines()[m].free; free > 0) {
      const int gpus = static_cast<int>(1 + random.below(static_cast<std::uint64_t>(free)));
      const JobIndex job = ledger.add({.gpus = gpus});
      ledger.admit(job);
      ledger.start(job, {{m, gpus}}, 1, 0);
      running.push_back(job);
    }
    if (step % 3 != 0) continue;
    followed.assign(ledger);
    const FreeGpus copied(ledger);
    ASSERT_EQ(followed.by_machine(), copied.by_machine()) << step;
    ASSERT_EQ(followed.total(), copied.total());
    const int wanted = static_cast<int>(1 + random.below(80));
    MachineIndex best;
    for (const MachineIndex other : machines.indices()) {
      const bool fits = copied.on(other) >= wanted;
      if (fits && (!best.valid() || copied.on(other) < copied.on(best))) best = other;
    }
    ASSERT_EQ(followed.tightest(wanted), best) << step << ", " << wanted;
    // The next assign() forgets what was taken from the copy only.
    if (best.valid()) followed.take({{best, wanted}});
  }
}

}  // namespace
}  // namespace orrery::schedule
