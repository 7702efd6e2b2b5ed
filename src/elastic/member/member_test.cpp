#include "elastic/member/member.h"

#include <algorithm>
#include <deque>
#include <gtest/gtest.h>

namespace orrery::elastic {
namespace {

View view_of(int members, int hosts) {
  View view;
  view.epoch = 1;
  view.progress.cursor = {.samples = 100};
  for (int i = 0; i < members; ++i) {
    view.members.push_back({static_cast<MemberId>(i + 1), static_cast<std::uint32_t>(i % hosts), 0});
  }
  return view;
}

// Members that talk through one queue, in order.
struct Job {
  std::map<MemberId, Member> members;
  std::set<MemberId> dead, deaf;
  std::deque<Message> queue;
  std::map<MemberId, std::vector<Event>> events;

  explicit Job(const View& view) {
    for (const MemberRecord& record : view.members) members.emplace(record.id, Member(record.id, view));
  }
  void gather() {
    for (auto& [id, member] : members) {
      for (Message& message : member.take_messages()) {
        if (!dead.contains(id) && !deaf.contains(id)) queue.push_back(std::move(message));
      }
      for (Event& event : member.take_events()) events[id].push_back(event);
    }
  }
  bool deliver_one() {
    gather();
    if (queue.empty()) return false;
    const Message message = queue.front();
    queue.pop_front();
    const auto to = members.find(message.to);
    if (to != members.end() && !dead.contains(message.to) && !deaf.contains(message.to)) to->second.receive(message);
    gather();
    return true;
  }
  void settle() {
    for (int ticks = 0; ticks < 6; ++ticks) {
      while (deliver_one()) {
      }
      for (auto& [id, member] : members) {
        if (!dead.contains(id)) member.tick();
      }
    }
    while (deliver_one()) {
    }
  }
  void kill(MemberId id) {
    dead.insert(id);
    gather();
    for (auto& [other, member] : members) {
      if (!dead.contains(other)) member.miss(id, true);
    }
  }
  Member& operator[](MemberId id) { return members.at(id); }
  std::vector<MemberId> live() const {
    std::vector<MemberId> ids;
    for (const auto& [id, member] : members) {
      if (!dead.contains(id)) ids.push_back(id);
    }
    return ids;
  }
};

std::vector<MemberId> ids_of(const View& view) {
  std::vector<MemberId> ids;
  for (const MemberRecord& member : view.members) ids.push_back(member.id);
  return ids;
}

TEST(Member, AStepCommitsWithEveryonesVoteAndNotBefore) {
  Job job(view_of(3, 1));
  job[1].vote();
  job[2].vote();
  job.settle();
  EXPECT_EQ(job[1].progress().step, 0u);
  EXPECT_FALSE(job[1].may_vote());
  job[3].vote();
  job.settle();
  for (const MemberId id : {1, 2, 3}) {
    EXPECT_EQ(job[id].progress().step, 1u);
    EXPECT_EQ(job[id].progress().cursor.offset, 1u);
    EXPECT_TRUE(job[id].may_vote());
  }
}

TEST(Member, ADeathGivesAViewWithoutIt) {
  Job job(view_of(3, 1));
  job.kill(1);
  job.settle();
  for (const MemberId id : {2, 3}) {
    EXPECT_EQ(job[id].view().epoch, 2u);
    EXPECT_EQ(ids_of(job[id].view()), (std::vector<MemberId>{2, 3}));
    EXPECT_EQ(job[id].state(), MemberState::kActive);
  }
}

TEST(Member, OnOneHostTheLastSurvivorGoesOn) {
  Job job(view_of(2, 1));
  job.kill(1);
  job.settle();
  EXPECT_EQ(job[2].view().epoch, 2u);
  job[2].vote();
  EXPECT_EQ(job[2].progress().step, 1u);
}

TEST(Member, AStepThatOneCommittedIsCommittedByAllSurvivors) {
  Job job(view_of(3, 1));
  for (const MemberId id : {1, 2, 3}) job[id].vote();
  job.gather();
  // Only member 3 hears the votes; then member 1 dies.
  std::erase_if(job.queue, [](const Message& message) { return message.to != 3; });
  while (job.deliver_one()) {
  }
  ASSERT_EQ(job[3].progress().step, 1u);
  ASSERT_EQ(job[2].progress().step, 0u);
  job.kill(1);
  job.settle();
  for (const MemberId id : {2, 3}) {
    EXPECT_EQ(job[id].progress().step, 1u);
    EXPECT_EQ(job[id].view().progress.step, 1u);
  }
}

TEST(Member, AStepThatNobodyCommittedIsDroppedByAll) {
  Job job(view_of(3, 1));
  job[2].vote();
  job[3].vote();
  job.kill(1);
  job.settle();
  for (const MemberId id : {2, 3}) {
    EXPECT_EQ(job[id].progress().step, 0u);
    EXPECT_TRUE(job[id].may_vote());
  }
}

// Member 1 leads a change that takes in a joiner, and dies after k messages, for every k. Then member 2 has to end what
// was begun, and sometimes dies too.
TEST(Member, TheLeaderMayDieAnywhereInAChange) {
  for (int second_cut = -1; second_cut < 30; second_cut += 3) {
    for (int cut = 0; cut < 40; ++cut) {
      Job job(view_of(4, 1));
      job.members.emplace(9, Member(MemberRecord{9, 0, 5}, {1, 2, 3, 4}));
      for (int i = 0; i < cut; ++i) job.deliver_one();
      job.kill(1);
      if (second_cut >= 0) {
        for (int i = 0; i < second_cut; ++i) job.deliver_one();
        job.kill(2);
      }
      job.settle();
      const View& view = job[3].view();
      EXPECT_EQ(job[4].view(), view) << "cut " << cut << ", " << second_cut;
      EXPECT_TRUE(view.has(9)) << "cut " << cut << ", " << second_cut;
      EXPECT_FALSE(view.has(1));
      EXPECT_EQ(job[9].view(), view);
      EXPECT_EQ(view.has(2), second_cut < 0);
    }
  }
}

TEST(Member, TheSmallerSideStopsAndIsExpelledWhenItHears) {
  Job job(view_of(5, 5));
  job.deaf = {4, 5};
  for (const MemberId far : {4, 5}) {
    for (const MemberId near : {1, 2, 3}) {
      job[near].miss(far, false);
      job[far].miss(near, false);
    }
  }
  job.settle();
  EXPECT_EQ(ids_of(job[1].view()), (std::vector<MemberId>{1, 2, 3}));
  EXPECT_EQ(job[4].state(), MemberState::kStopped);
  EXPECT_FALSE(job[4].may_vote());
  job.deaf.clear();
  job.settle();
  EXPECT_EQ(job[4].state(), MemberState::kEnded);
  EXPECT_EQ(job[5].state(), MemberState::kEnded);
  EXPECT_EQ(job[1].state(), MemberState::kActive);
}

TEST(Member, OfTwoHalvesTheOneWithTheFirstMemberGoesOn) {
  Job job(view_of(4, 4));
  job.deaf = {2, 4};  // they hear nobody, so they cannot even form a half of their own here
  for (const MemberId far : {2, 4}) {
    for (const MemberId near : {1, 3}) {
      job[near].miss(far, false);
      job[far].miss(near, false);
    }
  }
  job.settle();
  EXPECT_EQ(ids_of(job[1].view()), (std::vector<MemberId>{1, 3}));
  job.deaf = {1, 3};
  job.settle();
  EXPECT_EQ(job[2].view().epoch, 1u);
  EXPECT_EQ(job[2].state(), MemberState::kStopped);
}

TEST(Member, OfTwoInOneSeatTheLaterOneJoins) {
  Job job(view_of(2, 1));
  const Ask early{{3, 1, Join{{3, 0, 7}}}};
  // The first has asked, died, and left its seat to the second before anyone noticed.
  job[1].hold_requests();
  job[1].receive({3, 1, early});
  job.members.emplace(4, Member(MemberRecord{4, 0, 7}, {1}));
  job.settle();
  job[1].release_requests();
  job.settle();
  EXPECT_EQ(ids_of(job[1].view()), (std::vector<MemberId>{1, 2, 4}));
  // Its wish comes once more, late: nobody loses a seat to the dead, and the view stays.
  const std::uint64_t epoch = job[1].view().epoch;
  job[1].receive({3, 1, early});
  job.settle();
  EXPECT_EQ(job[1].view().epoch, epoch);
}

TEST(Member, JoinLeaveAndParametersComeWithTheNextView) {
  Job job(view_of(2, 1));
  job[2].set_parameter("batch", 64);
  job.settle();
  EXPECT_EQ(batch_of(job[1].view()), 64u);
  job.members.emplace(3, Member(MemberRecord{3, 0, 7}, {2}));
  job.settle();
  EXPECT_EQ(ids_of(job[1].view()), (std::vector<MemberId>{1, 2, 3}));
  EXPECT_FALSE(job[3].may_vote()) << "it has no model yet";
  job[3].state_received();
  EXPECT_TRUE(job[3].may_vote());
  job[1].leave();
  job.settle();
  EXPECT_EQ(job[1].state(), MemberState::kActive) << "nobody leaves before it is sure that who joined has the model";
  for (const MemberId id : {1, 2, 3}) job[id].vote();
  job.settle();
  EXPECT_EQ(ids_of(job[3].view()), (std::vector<MemberId>{2, 3}));
  EXPECT_EQ(job[1].state(), MemberState::kEnded);
  const auto& last = job.events[1].back();
  ASSERT_TRUE(std::holds_alternative<Ended>(last));
  EXPECT_TRUE(std::get<Ended>(last).by_own_wish);
  EXPECT_EQ(job[2].view(), job[3].view());
}

TEST(Member, WhatSeveralWishTakesOneView) {
  for (int delivered = 0; delivered < 12; ++delivered) {
    Job job(view_of(3, 3));
    job[1].set_parameter("batch", 64);
    // The others wish it while the view is changing already.
    for (int i = 0; i < delivered; ++i) job.deliver_one();
    for (const MemberId id : {2, 3}) job[id].set_parameter("batch", 64);
    job.settle();
    EXPECT_EQ(batch_of(job[1].view()), 64u);
    EXPECT_EQ(job[1].view().epoch, 2u) << delivered;
    // What was fulfilled is forgotten: a later wish is not undone by it.
    job[2].set_parameter("batch", 32);
    job.settle();
    EXPECT_EQ(batch_of(job[1].view()), 32u);
    EXPECT_EQ(job[1].view().epoch, 3u) << delivered;
  }
}

// Member 3 alone commits a step, decides something after it, and is lost when others have heard of the decision only.
TEST(Member, WhatWasDecidedAfterALostStepIsLostToo) {
  Job job(view_of(3, 3));
  for (const MemberId id : {1, 2, 3}) job[id].vote();
  job.gather();
  std::erase_if(job.queue, [](const Message& message) { return message.to != 3; });
  while (job.deliver_one()) {
  }
  ASSERT_EQ(job[3].progress().step, 1u);
  for (const MemberId id : {1, 2}) job[id].hold_requests();
  job[3].set_parameter("batch", 64);
  while (job.deliver_one()) {
  }
  ASSERT_TRUE(job[1].has_request());
  job.dead.insert(3);
  for (const MemberId id : {1, 2}) job[id].miss(3, false);
  job.settle();
  for (const MemberId id : {1, 2}) {
    EXPECT_EQ(job[id].view().epoch, 2u);
    EXPECT_EQ(job[id].view().progress.step, 0u);
    EXPECT_EQ(batch_of(job[id].view()), 1u) << "the step is repeated with the batch it had";
  }
}

TEST(Member, AViewInWhichAllStopIsTheLast) {
  Job job(view_of(3, 1));
  job[2].set_parameter(kStopParameter, 1);
  job.settle();
  ASSERT_TRUE(job[1].view().is_last());
  // They have come to their end, and are gone.
  job.kill(1);
  job.kill(2);
  job.settle();
  EXPECT_EQ(job[3].view().members.size(), 3u);
  EXPECT_EQ(job[3].state(), MemberState::kActive);
}

TEST(Member, WithoutTheModelNobodyGoesOn) {
  Job job(view_of(1, 1));
  job.members.emplace(2, Member(MemberRecord{2, 0, 1}, {1}));
  job.settle();
  ASSERT_EQ(job[2].view().epoch, 2u);
  job.kill(1);  // before it has sent the model
  job.settle();
  EXPECT_EQ(job[2].view().epoch, 2u);
  EXPECT_FALSE(job[2].may_vote());
}

TEST(Member, TwoWhoBothLeadAgree) {
  Job job(view_of(5, 5));
  // Each misses a different one, so 1 and 2 both think they lead.
  job[2].miss(1, false);
  job[1].miss(5, false);
  for (int i = 0; i < 30; ++i) job.deliver_one();
  job[2].find_again(1);
  job[1].find_again(5);
  job.settle();
  for (const MemberId id : job.live()) {
    if (job[id].state() == MemberState::kEnded) continue;
    EXPECT_EQ(job[id].view(), job[1].view());
    EXPECT_EQ(job[id].state(), MemberState::kActive);
  }
  EXPECT_GT(job[1].view().epoch, 1u);
}

}  // namespace
}  // namespace orrery::elastic
