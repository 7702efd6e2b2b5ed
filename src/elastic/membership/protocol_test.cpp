#include "elastic/membership/protocol.h"

#include <algorithm>
#include <deque>
#include <gtest/gtest.h>

namespace orrery::elastic {
namespace {

Membership membership_of(int workers, int hosts) {
  Membership membership;
  membership.generation = 1;
  membership.progress.cursor = {.samples = 100};
  for (int i = 0; i < workers; ++i) {
    membership.workers.push_back({static_cast<WorkerId>(i + 1), static_cast<std::uint32_t>(i % hosts), 0});
  }
  return membership;
}

// Workers that send each other messages through one queue, in order.
struct Job {
  std::map<WorkerId, MembershipProtocol> workers;
  std::set<WorkerId> dead, deaf;
  std::deque<Message> queue;
  std::map<WorkerId, std::vector<Event>> events;

  explicit Job(const Membership& membership) {
    for (const WorkerRecord& record : membership.workers)
      workers.emplace(record.id, MembershipProtocol(record.id, membership));
  }
  void gather() {
    for (auto& [id, worker] : workers) {
      for (Message& message : worker.take_messages()) {
        if (!dead.contains(id) && !deaf.contains(id)) queue.push_back(std::move(message));
      }
      for (Event& event : worker.take_events()) events[id].push_back(event);
    }
  }
  bool deliver_one() {
    gather();
    if (queue.empty()) return false;
    const Message message = queue.front();
    queue.pop_front();
    const auto to = workers.find(message.to);
    if (to != workers.end() && !dead.contains(message.to) && !deaf.contains(message.to)) to->second.receive(message);
    gather();
    return true;
  }
  void settle() {
    for (int ticks = 0; ticks < 6; ++ticks) {
      while (deliver_one()) {
      }
      for (auto& [id, worker] : workers) {
        if (!dead.contains(id)) worker.tick();
      }
    }
    while (deliver_one()) {
    }
  }
  void kill(WorkerId id) {
    dead.insert(id);
    gather();
    for (auto& [other, worker] : workers) {
      if (!dead.contains(other)) worker.miss(id, true);
    }
  }
  MembershipProtocol& operator[](WorkerId id) { return workers.at(id); }
  std::vector<WorkerId> live() const {
    std::vector<WorkerId> ids;
    for (const auto& [id, worker] : workers) {
      if (!dead.contains(id)) ids.push_back(id);
    }
    return ids;
  }
};

std::vector<WorkerId> ids_of(const Membership& membership) {
  std::vector<WorkerId> ids;
  for (const WorkerRecord& worker : membership.workers) ids.push_back(worker.id);
  return ids;
}

TEST(MembershipProtocol, AStepCommitsWithTheVotesOfAllAndNotBefore) {
  Job job(membership_of(3, 1));
  job[1].vote();
  job[2].vote();
  job.settle();
  EXPECT_EQ(job[1].progress().step, 0u);
  EXPECT_FALSE(job[1].may_vote());
  job[3].vote();
  job.settle();
  for (const WorkerId id : {1, 2, 3}) {
    EXPECT_EQ(job[id].progress().step, 1u);
    EXPECT_EQ(job[id].progress().cursor.offset, 1u);
    EXPECT_TRUE(job[id].may_vote());
  }
}

TEST(MembershipProtocol, ADeathGivesAMembershipWithoutIt) {
  Job job(membership_of(3, 1));
  job.kill(1);
  job.settle();
  for (const WorkerId id : {2, 3}) {
    EXPECT_EQ(job[id].membership().generation, 2u);
    EXPECT_EQ(ids_of(job[id].membership()), (std::vector<WorkerId>{2, 3}));
    EXPECT_EQ(job[id].state(), MembershipState::kActive);
  }
}

TEST(MembershipProtocol, OnOneHostTheLastSurvivorContinues) {
  Job job(membership_of(2, 1));
  job.kill(1);
  job.settle();
  EXPECT_EQ(job[2].membership().generation, 2u);
  job[2].vote();
  EXPECT_EQ(job[2].progress().step, 1u);
}

TEST(MembershipProtocol, AStepThatOneCommittedIsCommittedByAllSurvivors) {
  Job job(membership_of(3, 1));
  for (const WorkerId id : {1, 2, 3}) job[id].vote();
  job.gather();
  // Only worker 3 receives the votes; then worker 1 dies.
  std::erase_if(job.queue, [](const Message& message) { return message.to != 3; });
  while (job.deliver_one()) {
  }
  ASSERT_EQ(job[3].progress().step, 1u);
  ASSERT_EQ(job[2].progress().step, 0u);
  job.kill(1);
  job.settle();
  for (const WorkerId id : {2, 3}) {
    EXPECT_EQ(job[id].progress().step, 1u);
    EXPECT_EQ(job[id].membership().progress.step, 1u);
  }
}

TEST(MembershipProtocol, AStepThatNoWorkerCommittedIsDroppedByAll) {
  Job job(membership_of(3, 1));
  job[2].vote();
  job[3].vote();
  job.kill(1);
  job.settle();
  for (const WorkerId id : {2, 3}) {
    EXPECT_EQ(job[id].progress().step, 0u);
    EXPECT_TRUE(job[id].may_vote());
  }
}

// Worker 1 leads a change that takes in a joining worker, and dies after k messages, for every k. Then worker 2 has to
// finish the change, and sometimes dies too.
TEST(MembershipProtocol, TheLeaderMayDieAnywhereInAChange) {
  for (int second_cut = -1; second_cut < 30; second_cut += 3) {
    for (int cut = 0; cut < 40; ++cut) {
      Job job(membership_of(4, 1));
      job.workers.emplace(9, MembershipProtocol(WorkerRecord{9, 0, 5}, {1, 2, 3, 4}));
      for (int i = 0; i < cut; ++i) job.deliver_one();
      job.kill(1);
      if (second_cut >= 0) {
        for (int i = 0; i < second_cut; ++i) job.deliver_one();
        job.kill(2);
      }
      job.settle();
      const Membership& membership = job[3].membership();
      EXPECT_EQ(job[4].membership(), membership) << "cut " << cut << ", " << second_cut;
      EXPECT_TRUE(membership.has(9)) << "cut " << cut << ", " << second_cut;
      EXPECT_FALSE(membership.has(1));
      EXPECT_EQ(job[9].membership(), membership);
      EXPECT_EQ(membership.has(2), second_cut < 0);
    }
  }
}

TEST(MembershipProtocol, TheSmallerSideStopsAndIsExpelledWhenItReceivesTheMembership) {
  Job job(membership_of(5, 5));
  job.deaf = {4, 5};
  for (const WorkerId far : {4, 5}) {
    for (const WorkerId near : {1, 2, 3}) {
      job[near].miss(far, false);
      job[far].miss(near, false);
    }
  }
  job.settle();
  EXPECT_EQ(ids_of(job[1].membership()), (std::vector<WorkerId>{1, 2, 3}));
  EXPECT_EQ(job[4].state(), MembershipState::kStopped);
  EXPECT_FALSE(job[4].may_vote());
  job.deaf.clear();
  job.settle();
  EXPECT_EQ(job[4].state(), MembershipState::kEnded);
  EXPECT_EQ(job[5].state(), MembershipState::kEnded);
  EXPECT_EQ(job[1].state(), MembershipState::kActive);
}

TEST(MembershipProtocol, OfTwoHalvesTheOneWithTheFirstWorkerContinues) {
  Job job(membership_of(4, 4));
  job.deaf = {2, 4};  // they receive nothing, so they cannot even form a half of their own here
  for (const WorkerId far : {2, 4}) {
    for (const WorkerId near : {1, 3}) {
      job[near].miss(far, false);
      job[far].miss(near, false);
    }
  }
  job.settle();
  EXPECT_EQ(ids_of(job[1].membership()), (std::vector<WorkerId>{1, 3}));
  job.deaf = {1, 3};
  job.settle();
  EXPECT_EQ(job[2].membership().generation, 1u);
  EXPECT_EQ(job[2].state(), MembershipState::kStopped);
}

TEST(MembershipProtocol, OfTwoInOneSlotTheLaterOneJoins) {
  Job job(membership_of(2, 1));
  const Ask early{{3, 1, Join{{3, 0, 7}}}};
  // The first has asked, died, and left its slot lease to the second before any worker noticed.
  job[1].hold_requests();
  job[1].receive({3, 1, early});
  job.workers.emplace(4, MembershipProtocol(WorkerRecord{4, 0, 7}, {1}));
  job.settle();
  job[1].release_requests();
  job.settle();
  EXPECT_EQ(ids_of(job[1].membership()), (std::vector<WorkerId>{1, 2, 4}));
  // Its request arrives once more, late: no worker loses its slot lease to a dead one, and the membership stays.
  const std::uint64_t generation = job[1].membership().generation;
  job[1].receive({3, 1, early});
  job.settle();
  EXPECT_EQ(job[1].membership().generation, generation);
}

TEST(MembershipProtocol, JoinLeaveAndParametersComeWithTheNextMembership) {
  Job job(membership_of(2, 1));
  job[2].set_parameter("batch", 64);
  job.settle();
  EXPECT_EQ(batch_of(job[1].membership()), 64u);
  job.workers.emplace(3, MembershipProtocol(WorkerRecord{3, 0, 7}, {2}));
  job.settle();
  EXPECT_EQ(ids_of(job[1].membership()), (std::vector<WorkerId>{1, 2, 3}));
  EXPECT_FALSE(job[3].may_vote()) << "it has no model yet";
  job[3].state_received();
  EXPECT_TRUE(job[3].may_vote());
  job[1].leave();
  job.settle();
  EXPECT_EQ(job[1].state(), MembershipState::kActive)
      << "no worker leaves before the joining worker certainly has the model";
  for (const WorkerId id : {1, 2, 3}) job[id].vote();
  job.settle();
  EXPECT_EQ(ids_of(job[3].membership()), (std::vector<WorkerId>{2, 3}));
  EXPECT_EQ(job[1].state(), MembershipState::kEnded);
  const auto& last = job.events[1].back();
  ASSERT_TRUE(std::holds_alternative<Ended>(last));
  EXPECT_TRUE(std::get<Ended>(last).by_own_request);
  EXPECT_EQ(job[2].membership(), job[3].membership());
}

TEST(MembershipProtocol, WhatSeveralRequestTakesOneChange) {
  for (int delivered = 0; delivered < 12; ++delivered) {
    Job job(membership_of(3, 3));
    job[1].set_parameter("batch", 64);
    // The other workers request it while the membership is already changing.
    for (int i = 0; i < delivered; ++i) job.deliver_one();
    for (const WorkerId id : {2, 3}) job[id].set_parameter("batch", 64);
    job.settle();
    EXPECT_EQ(batch_of(job[1].membership()), 64u);
    EXPECT_EQ(job[1].membership().generation, 2u) << delivered;
    // A fulfilled request is forgotten: it does not undo a later one.
    job[2].set_parameter("batch", 32);
    job.settle();
    EXPECT_EQ(batch_of(job[1].membership()), 32u);
    EXPECT_EQ(job[1].membership().generation, 3u) << delivered;
  }
}

// Only worker 3 commits a step, requests a parameter after it, and is lost when the others have received the request
// only.
TEST(MembershipProtocol, WhatWasDecidedAfterALostStepIsLostToo) {
  Job job(membership_of(3, 3));
  for (const WorkerId id : {1, 2, 3}) job[id].vote();
  job.gather();
  std::erase_if(job.queue, [](const Message& message) { return message.to != 3; });
  while (job.deliver_one()) {
  }
  ASSERT_EQ(job[3].progress().step, 1u);
  for (const WorkerId id : {1, 2}) job[id].hold_requests();
  job[3].set_parameter("batch", 64);
  while (job.deliver_one()) {
  }
  ASSERT_TRUE(job[1].has_request());
  job.dead.insert(3);
  for (const WorkerId id : {1, 2}) job[id].miss(3, false);
  job.settle();
  for (const WorkerId id : {1, 2}) {
    EXPECT_EQ(job[id].membership().generation, 2u);
    EXPECT_EQ(job[id].membership().progress.step, 0u);
    EXPECT_EQ(batch_of(job[id].membership()), 1u) << "the step is repeated with the batch it had";
  }
}

TEST(MembershipProtocol, AMembershipInWhichAllStopIsTheLast) {
  Job job(membership_of(3, 1));
  job[2].set_parameter(kStopParameter, 1);
  job.settle();
  ASSERT_TRUE(job[1].membership().is_last());
  // They have reached their end and have exited.
  job.kill(1);
  job.kill(2);
  job.settle();
  EXPECT_EQ(job[3].membership().workers.size(), 3u);
  EXPECT_EQ(job[3].state(), MembershipState::kActive);
}

TEST(MembershipProtocol, WithoutTheModelNoWorkerContinues) {
  Job job(membership_of(1, 1));
  job.workers.emplace(2, MembershipProtocol(WorkerRecord{2, 0, 1}, {1}));
  job.settle();
  ASSERT_EQ(job[2].membership().generation, 2u);
  job.kill(1);  // before it has sent the model
  job.settle();
  EXPECT_EQ(job[2].membership().generation, 2u);
  EXPECT_FALSE(job[2].may_vote());
}

TEST(MembershipProtocol, TwoWorkersThatBothLeadAgree) {
  Job job(membership_of(5, 5));
  // Each misses a different worker, so 1 and 2 both think they lead.
  job[2].miss(1, false);
  job[1].miss(5, false);
  for (int i = 0; i < 30; ++i) job.deliver_one();
  job[2].find_again(1);
  job[1].find_again(5);
  job.settle();
  for (const WorkerId id : job.live()) {
    if (job[id].state() == MembershipState::kEnded) continue;
    EXPECT_EQ(job[id].membership(), job[1].membership());
    EXPECT_EQ(job[id].state(), MembershipState::kActive);
  }
  EXPECT_GT(job[1].membership().generation, 1u);
}

}  // namespace
}  // namespace orrery::elastic
