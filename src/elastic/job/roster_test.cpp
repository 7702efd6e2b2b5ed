#include "elastic/job/roster.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery::elastic {
namespace {

constexpr env::ProcessExit kWell{}, kKilled{0, 9};

RosterOptions options(int size, int size_max, int spares = 0, int replacements = 0) {
  return {.job = "test",
          .size = size,
          .size_min = 1,
          .size_max = size_max,
          .spares = spares,
          .replacements = replacements,
          .slots = 2 * size_max + spares};
}

// What a launcher does with actions: starts at once, and keeps the rest for the test to look at.
struct Book {
  Roster roster;
  std::vector<MemberId> started{}, ended{}, joining{}, leaving{}, stopping{};
  std::uint64_t epoch = 1;

  explicit Book(const RosterOptions& how) : roster(how) { act(); }

  void act() {
    for (auto actions = roster.take_actions(); !actions.empty(); actions = roster.take_actions()) {
      for (const Action& action : actions) {
        if (const auto* start = std::get_if<StartProcess>(&action)) {
          started.push_back(start->member.id);
          roster.started(start->member.id, 1000 + static_cast<std::int64_t>(start->member.id));
        }
        if (const auto* end = std::get_if<EndProcess>(&action)) ended.push_back(end->member);
        if (const auto* tell = std::get_if<Tell>(&action)) {
          if (std::holds_alternative<JoinNow>(tell->note)) joining.push_back(tell->member);
          if (std::holds_alternative<LeaveNow>(tell->note)) leaving.push_back(tell->member);
          if (std::holds_alternative<StopNow>(tell->note)) stopping.push_back(tell->member);
        }
      }
    }
  }
  // All of them are in a new view and say so.
  void view(const std::vector<MemberId>& members, double pause_s = 0.001) {
    epoch += 1;
    for (const MemberId member : members)
      roster.on(Report{member, epoch, 10 * epoch, 0, members, pause_s, false, true});
    act();
  }
  void ready(MemberId member) {
    roster.on(Ready{member});
    act();
  }
  void end(MemberId member, const env::ProcessExit& exit) {
    roster.ended(member, exit);
    act();
  }
};

using Ids = std::vector<MemberId>;

Report fixed(MemberId member) {
  return {.member = member, .epoch = 1, .step = 1, .members = {1, 2}, .has_committed = true, .is_fixed = true};
}

TEST(Roster, ATrainingThatCannotBeJoinedIsNotResized) {
  Book book(options(2, 4));
  book.roster.on(fixed(1));
  const Status refused = book.roster.resize(3);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("cannot be resized"), std::string::npos);
  EXPECT_FALSE(book.roster.resize(1));
  EXPECT_TRUE(book.roster.resize(2));
  book.act();
  EXPECT_EQ(book.started, (Ids{1, 2}));
  EXPECT_EQ(book.ended, Ids{});
}

TEST(Roster, ATrainingThatCannotBeJoinedIsNotStartedWithSparesOrReplacements) {
  for (const RosterOptions& how : {options(2, 4, 1), options(2, 4, 0, 3)}) {
    Book book(how);
    book.roster.on(fixed(1));
    book.act();
    EXPECT_EQ(std::set(book.ended.begin(), book.ended.end()), std::set(book.started.begin(), book.started.end()));
    for (const MemberId member : book.started) book.end(member, kKilled);
    EXPECT_TRUE(book.roster.is_over());
    EXPECT_EQ(book.roster.exit_code(), 2);
  }
}

TEST(Roster, FoundersAndSparesAreStarted) {
  Book book(options(2, 4, 1));
  EXPECT_EQ(book.started, (Ids{1, 2, 3}));
  ASSERT_EQ(book.roster.founders().size(), 2u);
  EXPECT_EQ(book.roster.founders()[1], (MemberRecord{2, 0, 1}));
  book.ready(3);
  EXPECT_EQ(book.joining, Ids{});
}

TEST(Roster, GrowingTakesSparesFirstAndFillsThemUp) {
  Book book(options(1, 4, 1));
  book.view({1});
  book.ready(2);
  ASSERT_TRUE(book.roster.resize(3));
  book.act();
  EXPECT_EQ(book.joining, Ids{2});
  EXPECT_EQ(book.started, (Ids{1, 2, 3}));
  book.ready(3);
  EXPECT_EQ(book.joining, (Ids{2, 3}));
  book.view({1, 2, 3});
  EXPECT_EQ(book.started, (Ids{1, 2, 3, 4}));
  book.ready(4);
  EXPECT_EQ(book.joining, (Ids{2, 3}));
}

TEST(Roster, ASpareThatIsNotReadyYetIsAskedWhenItIs) {
  Book book(options(1, 2, 1));
  book.view({1});
  ASSERT_TRUE(book.roster.resize(2));
  book.act();
  EXPECT_EQ(book.joining, Ids{});
  book.ready(2);
  EXPECT_EQ(book.joining, Ids{2});
  // Asked again, as whom it knew may be gone.
  book.ready(2);
  EXPECT_EQ(book.joining, (Ids{2, 2}));
}

TEST(Roster, ShrinkingAsksTheYoungestToLeave) {
  Book book(options(3, 3));
  book.view({1, 2, 3});
  ASSERT_TRUE(book.roster.resize(1));
  book.act();
  EXPECT_EQ(book.leaving, (Ids{3, 2}));
  book.view({1});
  book.end(3, kWell);
  book.end(2, kWell);
  EXPECT_FALSE(book.roster.is_over());
  EXPECT_EQ(book.started.size(), 3u);
  book.end(1, kWell);
  EXPECT_TRUE(book.roster.is_over());
  EXPECT_EQ(book.roster.exit_code(), 0);
}

TEST(Roster, TheDeadAreReplacedWhileReplacementsLast) {
  Book book(options(2, 2, 0, 1));
  book.view({1, 2});
  book.end(2, kKilled);
  EXPECT_EQ(book.started, (Ids{1, 2, 3}));
  book.ready(3);
  book.view({1, 3});
  book.end(3, kKilled);
  EXPECT_EQ(book.started, (Ids{1, 2, 3}));
  EXPECT_EQ(book.roster.status().size, 1u);
  book.view({1});
  book.end(1, kWell);
  // Whoever was survived does not count.
  EXPECT_EQ(book.roster.exit_code(), 0);
  EXPECT_EQ(book.roster.summary(),
            "test: ended well after step 40 with 1 members; 3 processes in all, 2 died, 1 replaced");
}

TEST(Roster, ADeathAtTheEndCounts) {
  Book book(options(2, 2));
  book.view({1, 2});
  book.end(1, kWell);
  book.end(2, {.code = 5});
  EXPECT_TRUE(book.roster.is_over());
  EXPECT_EQ(book.roster.exit_code(), 5);
}

TEST(Roster, AJobThatAllHaveLeftDidNotEndWell) {
  Book book(options(3, 3));
  book.view({1, 2, 3});
  ASSERT_TRUE(book.roster.resize(1));
  // Told to leave as well, and killed before it is gone; those who were asked to leave have ended in order.
  book.roster.on(Report{1, 2, 20, 0, {1, 2, 3}, 0, true, true});
  book.view({3});
  book.end(1, kKilled);
  book.end(2, kWell);
  book.end(3, kWell);
  // Came too late to get the model.
  ASSERT_EQ(book.ended, (std::vector<MemberId>{4}));
  book.end(4, kKilled);
  EXPECT_TRUE(book.roster.is_over());
  EXPECT_EQ(book.roster.exit_code(), 137);

  Book left(options(1, 1));
  left.view({1});
  left.roster.on(Report{1, 2, 20, 0, {1}, 0, true, true});  // told to leave
  left.act();
  left.end(1, kWell);
  EXPECT_EQ(left.roster.exit_code(), 1);
}

TEST(Roster, WithoutAnyoneWhoHasTheModelSparesAreEnded) {
  Book book(options(1, 2, 2, 9));
  book.view({1});
  book.ready(2);
  book.ready(3);
  book.end(1, kKilled);
  EXPECT_EQ(book.ended, (Ids{2, 3}));
  book.end(2, kKilled);
  book.end(3, kKilled);
  EXPECT_TRUE(book.roster.is_over());
  EXPECT_EQ(book.roster.exit_code(), 137);
}

TEST(Roster, OneThatLeavesByItselfIsNotReplacedUnlessTooFewAreLeft) {
  Book book(options(2, 2));
  book.view({1, 2});
  book.roster.on(Report{2, 2, 20, 0, {1, 2}, 0, true});
  book.act();
  book.end(2, kWell);
  EXPECT_EQ(book.started, (Ids{1, 2}));
  book.view({1});
  book.roster.on(Report{1, 3, 30, 0, {1}, 0, true});
  book.act();
  EXPECT_EQ(book.started, (Ids{1, 2, 3}));
}

TEST(Roster, DrainingIsAskedForAgainUntilAllHaveEnded) {
  Book book(options(2, 2, 1));
  book.view({1, 2});
  book.roster.drain();
  book.act();
  EXPECT_EQ(book.stopping, (Ids{1, 2, 3}));
  EXPECT_EQ(book.ended, Ids{3});
  book.view({1, 2});
  EXPECT_EQ(book.stopping, (Ids{1, 2, 3, 1, 2}));
  EXPECT_FALSE(book.roster.resize(1));
  book.end(3, kKilled);
  book.end(1, kWell);
  book.end(2, kWell);
  EXPECT_TRUE(book.roster.is_over());
  EXPECT_EQ(book.roster.exit_code(), 0);
  EXPECT_EQ(book.started.size(), 3u);
}

TEST(Roster, WrongWishesAreRefusedWithWhatIsPossible) {
  Book book(options(2, 3, 1));
  book.view({1, 2});
  EXPECT_EQ(book.roster.resize(4).error().message(),
            "job \"test\" can have 1 to 3 members, not 4; `orrery run --elastic` sets the bounds");
  EXPECT_EQ(book.roster.drain(9).error().message(), "job \"test\" has no member 9; it has 1, 2");
  EXPECT_EQ(book.roster.drain(3).error().message(), "process 3 is a spare, no member");
  EXPECT_TRUE(book.roster.drain(2));
  EXPECT_EQ(book.roster.drain(1).error().message(),
            "job \"test\" needs at least 1 members; drain the whole job, or resize it first");
}

TEST(Roster, ImpossibleJobsAreRefused) {
  EXPECT_TRUE(check(options(2, 4)));
  EXPECT_FALSE(check(options(5, 4)));
  EXPECT_FALSE(check(options(0, 4)));
  RosterOptions crowded = options(2, 4);
  crowded.slots = 3;
  EXPECT_FALSE(check(crowded));
}

// Any history of wishes, deaths and reports: never two living processes in a slot, never more than wanted asked to
// stay, and when all have ended it is over.
RC_GTEST_PROP(Roster, AnyHistoryKeepsTheBooksRight, ()) {
  Book book(options(2, 5, *rc::gen::inRange(0, 3), *rc::gen::inRange(0, 4)));
  const int events = *rc::gen::inRange(0, 60);
  for (int i = 0; i < events && !book.roster.is_over(); ++i) {
    const JobStatus status = book.roster.status();
    const auto pick = *rc::gen::inRange<std::size_t>(0, status.processes.size());
    const MemberId member = status.processes[pick].member;
    switch (*rc::gen::inRange(0, 5)) {
      case 0:
        (void)book.roster.resize(*rc::gen::inRange<std::uint64_t>(0, 7));
        break;
      case 1:
        book.ready(member);
        break;
      case 2:
        book.view({member});
        break;
      case 3:
        book.end(member, *rc::gen::arbitrary<bool>() ? kWell : kKilled);
        break;
      default:
        (void)book.roster.drain(member);
    }
    book.act();
    std::uint64_t staying = 0;
    for (const ProcessStatus& process : book.roster.status().processes) {
      staying += process.state == ProcessState::kMember || process.state == ProcessState::kJoining ? 1 : 0;
    }
    RC_ASSERT(book.roster.status().is_draining || staying <= book.roster.status().size);
  }
  for (int left = 1000; !book.roster.is_over() && left > 0; --left) {
    const JobStatus status = book.roster.status();
    book.end(status.processes.back().member, kKilled);
  }
  RC_ASSERT(book.roster.is_over());
}

RosterOptions on_hosts(int hosts, int size, int size_max, int replacements) {
  RosterOptions how = options(size, size_max, 0, replacements);
  for (int host = 0; host < hosts; ++host) {
    how.addresses.emplace_back();
    for (int slot = 0; slot < how.slots; ++slot) {
      how.addresses.back().push_back("10.0.0." + std::to_string(host) + ":" + std::to_string(7000 + slot));
    }
  }
  return how;
}

TEST(Roster, StartsProcessesWhereTheFewestAre) {
  Book book(on_hosts(3, 5, 8, 0));
  std::vector<std::uint32_t> hosts;
  for (const MemberRecord& founder : book.roster.founders()) hosts.push_back(founder.host);
  EXPECT_EQ(hosts, (std::vector<std::uint32_t>{0, 1, 2, 0, 1}));
  EXPECT_EQ(book.roster.founders()[3], (MemberRecord{4, 0, 1, "10.0.0.0:7001"}));
}

TEST(Roster, ProcessesOfALostHostAreReplacedElsewhereAndNotTakenForDead) {
  Book book(on_hosts(3, 3, 4, 1));
  book.view({1, 2, 3});
  book.roster.host_lost(2);
  for (const Action& action : book.roster.take_actions()) {
    const auto* const tell = std::get_if<Tell>(&action);
    EXPECT_FALSE(tell != nullptr && std::holds_alternative<Died>(tell->note));
    if (const auto* const start = std::get_if<StartProcess>(&action)) {
      EXPECT_NE(start->member.host, 2u);
      book.started.push_back(start->member.id);
    }
  }
  EXPECT_EQ(book.started.back(), 4u);
  // It is heard of again: there is one too many, and the youngest has to go.
  book.roster.host_found(2);
  book.view({1, 2, 3});
  EXPECT_EQ(book.ended, (std::vector<MemberId>{4}));
}

TEST(Roster, WithoutReplacementsTheJobIsSmallerUntilTheHostIsBack) {
  Book book(on_hosts(2, 2, 2, 0));
  book.view({1, 2});
  book.roster.host_lost(1);
  book.act();
  EXPECT_EQ(book.roster.status().size, 1u);
  EXPECT_FALSE(book.roster.is_over());
  book.roster.host_found(1);
  book.view({1, 2});
  EXPECT_EQ(book.roster.status().size, 2u);
  // Lost for good: nobody waits for it.
  book.roster.host_lost(1);
  book.end(1, kWell);
  EXPECT_TRUE(book.roster.is_over());
  EXPECT_EQ(book.roster.exit_code(), 0);
}

TEST(Roster, ALauncherThatReachesNoHostDecidesNothing) {
  Book book(on_hosts(2, 2, 2, 0));
  book.view({1, 2});
  book.roster.host_lost(0);
  book.roster.host_lost(1);
  book.act();
  EXPECT_TRUE(book.stopping.empty());
  EXPECT_FALSE(book.roster.is_over());
  book.roster.host_found(0);
  book.roster.host_found(1);
  book.view({1, 2});
  EXPECT_EQ(book.roster.status().size, 2u);
  EXPECT_TRUE(book.stopping.empty());
}

}  // namespace
}  // namespace orrery::elastic
