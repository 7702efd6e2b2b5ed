#include "elastic/job/roster.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery::elastic {
namespace {

constexpr env::ProcessExit kWell{}, kKilled{0, 9};

RosterOptions options(int size, int size_max, int standby = 0, int replacements = 0) {
  return {.job = "test",
          .size = size,
          .size_min = 1,
          .size_max = size_max,
          .standby = standby,
          .replacements = replacements,
          .slots = 2 * size_max + standby};
}

// Does what a launcher does with actions: starts at once, and keeps the rest for the test to inspect.
struct Book {
  Roster roster;
  std::vector<WorkerId> started{}, ended{}, joining{}, leaving{}, stopping{};
  std::uint64_t generation = 1;

  explicit Book(const RosterOptions& how) : roster(how) { act(); }

  void act() {
    for (auto actions = roster.take_actions(); !actions.empty(); actions = roster.take_actions()) {
      for (const Action& action : actions) {
        if (const auto* start = std::get_if<StartProcess>(&action)) {
          started.push_back(start->worker.id);
          roster.started(start->worker.id, 1000 + static_cast<std::int64_t>(start->worker.id));
        }
        if (const auto* end = std::get_if<EndProcess>(&action)) ended.push_back(end->worker);
        if (const auto* tell = std::get_if<Tell>(&action)) {
          if (std::holds_alternative<JoinNow>(tell->note)) joining.push_back(tell->worker);
          if (std::holds_alternative<LeaveNow>(tell->note)) leaving.push_back(tell->worker);
          if (std::holds_alternative<StopNow>(tell->note)) stopping.push_back(tell->worker);
        }
      }
    }
  }
  // All of them report a new membership.
  void membership(const std::vector<WorkerId>& workers, double pause_s = 0.001) {
    generation += 1;
    for (const WorkerId worker : workers)
      roster.on(Report{worker, generation, 10 * generation, 0, workers, pause_s, false, true});
    act();
  }
  void ready(WorkerId worker) {
    roster.on(Ready{worker});
    act();
  }
  void end(WorkerId worker, const env::ProcessExit& exit) {
    roster.ended(worker, exit);
    act();
  }
};

using Ids = std::vector<WorkerId>;

Report fixed(WorkerId worker) {
  return {.worker = worker, .generation = 1, .step = 1, .workers = {1, 2}, .has_committed = true, .is_fixed = true};
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

TEST(Roster, ATrainingThatCannotBeJoinedIsNotStartedWithStandbyWorkersOrRestarts) {
  for (const RosterOptions& how : {options(2, 4, 1), options(2, 4, 0, 3)}) {
    Book book(how);
    book.roster.on(fixed(1));
    book.act();
    EXPECT_EQ(std::set(book.ended.begin(), book.ended.end()), std::set(book.started.begin(), book.started.end()));
    for (const WorkerId worker : book.started) book.end(worker, kKilled);
    EXPECT_TRUE(book.roster.is_over());
    EXPECT_EQ(book.roster.exit_code(), 2);
  }
}

TEST(Roster, InitialAndStandbyWorkersAreStarted) {
  Book book(options(2, 4, 1));
  EXPECT_EQ(book.started, (Ids{1, 2, 3}));
  ASSERT_EQ(book.roster.initial_workers().size(), 2u);
  EXPECT_EQ(book.roster.initial_workers()[1], (WorkerRecord{2, 0, 1}));
  book.ready(3);
  EXPECT_EQ(book.joining, Ids{});
}

TEST(Roster, GrowingTakesStandbyWorkersFirstAndFillsThemUp) {
  Book book(options(1, 4, 1));
  book.membership({1});
  book.ready(2);
  ASSERT_TRUE(book.roster.resize(3));
  book.act();
  EXPECT_EQ(book.joining, Ids{2});
  EXPECT_EQ(book.started, (Ids{1, 2, 3}));
  book.ready(3);
  EXPECT_EQ(book.joining, (Ids{2, 3}));
  book.membership({1, 2, 3});
  EXPECT_EQ(book.started, (Ids{1, 2, 3, 4}));
  book.ready(4);
  EXPECT_EQ(book.joining, (Ids{2, 3}));
}

TEST(Roster, AStandbyWorkerThatIsNotReadyYetIsAskedWhenItIs) {
  Book book(options(1, 2, 1));
  book.membership({1});
  ASSERT_TRUE(book.roster.resize(2));
  book.act();
  EXPECT_EQ(book.joining, Ids{});
  book.ready(2);
  EXPECT_EQ(book.joining, Ids{2});
  // It is asked again, because the workers it knew may be gone.
  book.ready(2);
  EXPECT_EQ(book.joining, (Ids{2, 2}));
}

TEST(Roster, ShrinkingAsksTheYoungestToLeave) {
  Book book(options(3, 3));
  book.membership({1, 2, 3});
  ASSERT_TRUE(book.roster.resize(1));
  book.act();
  EXPECT_EQ(book.leaving, (Ids{3, 2}));
  book.membership({1});
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
  book.membership({1, 2});
  book.end(2, kKilled);
  EXPECT_EQ(book.started, (Ids{1, 2, 3}));
  book.ready(3);
  book.membership({1, 3});
  book.end(3, kKilled);
  EXPECT_EQ(book.started, (Ids{1, 2, 3}));
  EXPECT_EQ(book.roster.status().size, 1u);
  book.membership({1});
  book.end(1, kWell);
  // A death that another worker survived does not count.
  EXPECT_EQ(book.roster.exit_code(), 0);
  EXPECT_EQ(book.roster.summary(),
            "test: ended well after step 40 with 1 workers; 3 processes in all, 2 died, 1 replaced");
}

TEST(Roster, ADeathAtTheEndCounts) {
  Book book(options(2, 2));
  book.membership({1, 2});
  book.end(1, kWell);
  book.end(2, {.code = 5});
  EXPECT_TRUE(book.roster.is_over());
  EXPECT_EQ(book.roster.exit_code(), 5);
}

TEST(Roster, AJobThatAllHaveLeftDidNotEndWell) {
  Book book(options(3, 3));
  book.membership({1, 2, 3});
  ASSERT_TRUE(book.roster.resize(1));
  // It was told to leave as well, and killed before it was gone; the workers that were asked to leave have ended in
  // order.
  book.roster.on(Report{1, 2, 20, 0, {1, 2, 3}, 0, true, true});
  book.membership({3});
  book.end(1, kKilled);
  book.end(2, kWell);
  book.end(3, kWell);
  // It came too late to get the model.
  ASSERT_EQ(book.ended, (std::vector<WorkerId>{4}));
  book.end(4, kKilled);
  EXPECT_TRUE(book.roster.is_over());
  EXPECT_EQ(book.roster.exit_code(), 137);

  Book left(options(1, 1));
  left.membership({1});
  left.roster.on(Report{1, 2, 20, 0, {1}, 0, true, true});  // told to leave
  left.act();
  left.end(1, kWell);
  EXPECT_EQ(left.roster.exit_code(), 1);
}

TEST(Roster, WithoutTheModelStandbyWorkersAreEnded) {
  Book book(options(1, 2, 2, 9));
  book.membership({1});
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
  book.membership({1, 2});
  book.roster.on(Report{2, 2, 20, 0, {1, 2}, 0, true});
  book.act();
  book.end(2, kWell);
  EXPECT_EQ(book.started, (Ids{1, 2}));
  book.membership({1});
  book.roster.on(Report{1, 3, 30, 0, {1}, 0, true});
  book.act();
  EXPECT_EQ(book.started, (Ids{1, 2, 3}));
}

TEST(Roster, StoppingIsAskedForAgainUntilAllHaveEnded) {
  Book book(options(2, 2, 1));
  book.membership({1, 2});
  book.roster.stop();
  book.act();
  EXPECT_EQ(book.stopping, (Ids{1, 2, 3}));
  EXPECT_EQ(book.ended, Ids{3});
  book.membership({1, 2});
  EXPECT_EQ(book.stopping, (Ids{1, 2, 3, 1, 2}));
  EXPECT_FALSE(book.roster.resize(1));
  book.end(3, kKilled);
  book.end(1, kWell);
  book.end(2, kWell);
  EXPECT_TRUE(book.roster.is_over());
  EXPECT_EQ(book.roster.exit_code(), 0);
  EXPECT_EQ(book.started.size(), 3u);
}

TEST(Roster, WrongRequestsAreRefusedWithWhatIsPossible) {
  Book book(options(2, 3, 1));
  book.membership({1, 2});
  EXPECT_EQ(book.roster.resize(4).error().message(),
            "job \"test\" can have 1 to 3 workers, not 4; `orrery run --elastic` sets the bounds");
  EXPECT_EQ(book.roster.stop(9).error().message(), "job \"test\" has no worker 9; it has 1, 2");
  EXPECT_EQ(book.roster.stop(3).error().message(), "process 3 is a standby, no worker");
  EXPECT_TRUE(book.roster.stop(2));
  EXPECT_EQ(book.roster.stop(1).error().message(),
            "job \"test\" needs at least 1 workers; stop the whole job, or resize it first");
}

TEST(Roster, ImpossibleJobsAreRefused) {
  EXPECT_TRUE(check(options(2, 4)));
  EXPECT_FALSE(check(options(5, 4)));
  EXPECT_FALSE(check(options(0, 4)));
  RosterOptions crowded = options(2, 4);
  crowded.slots = 3;
  EXPECT_FALSE(check(crowded));
}

// For any history of requests, deaths and reports: never two live processes in a slot, never more than wanted asked to
// stay, and when all have ended the job is over.
RC_GTEST_PROP(Roster, AnyHistoryKeepsTheBooksRight, ()) {
  Book book(options(2, 5, *rc::gen::inRange(0, 3), *rc::gen::inRange(0, 4)));
  const int events = *rc::gen::inRange(0, 60);
  for (int i = 0; i < events && !book.roster.is_over(); ++i) {
    const JobStatus status = book.roster.status();
    const auto pick = *rc::gen::inRange<std::size_t>(0, status.processes.size());
    const WorkerId worker = status.processes[pick].worker;
    switch (*rc::gen::inRange(0, 5)) {
      case 0:
        (void)book.roster.resize(*rc::gen::inRange<std::uint64_t>(0, 7));
        break;
      case 1:
        book.ready(worker);
        break;
      case 2:
        book.membership({worker});
        break;
      case 3:
        book.end(worker, *rc::gen::arbitrary<bool>() ? kWell : kKilled);
        break;
      default:
        (void)book.roster.stop(worker);
    }
    book.act();
    std::uint64_t staying = 0;
    for (const ProcessStatus& process : book.roster.status().processes) {
      staying += process.state == ProcessState::kWorker || process.state == ProcessState::kJoining ? 1 : 0;
    }
    RC_ASSERT(book.roster.status().is_stopping || staying <= book.roster.status().size);
  }
  for (int left = 1000; !book.roster.is_over() && left > 0; --left) {
    const JobStatus status = book.roster.status();
    book.end(status.processes.back().worker, kKilled);
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
  for (const WorkerRecord& initial_worker : book.roster.initial_workers()) hosts.push_back(initial_worker.host);
  EXPECT_EQ(hosts, (std::vector<std::uint32_t>{0, 1, 2, 0, 1}));
  EXPECT_EQ(book.roster.initial_workers()[3], (WorkerRecord{4, 0, 1, "10.0.0.0:7001"}));
}

TEST(Roster, ProcessesOfALostHostAreReplacedElsewhereAndNotTakenForDead) {
  Book book(on_hosts(3, 3, 4, 1));
  book.membership({1, 2, 3});
  book.roster.host_lost(2);
  for (const Action& action : book.roster.take_actions()) {
    const auto* const tell = std::get_if<Tell>(&action);
    EXPECT_FALSE(tell != nullptr && std::holds_alternative<Died>(tell->note));
    if (const auto* const start = std::get_if<StartProcess>(&action)) {
      EXPECT_NE(start->worker.host, 2u);
      book.started.push_back(start->worker.id);
    }
  }
  EXPECT_EQ(book.started.back(), 4u);
  // It reports again: there is one worker too many, and the youngest has to leave.
  book.roster.host_found(2);
  book.membership({1, 2, 3});
  EXPECT_EQ(book.ended, (std::vector<WorkerId>{4}));
}

TEST(Roster, WithoutReplacementsTheJobIsSmallerUntilTheHostIsBack) {
  Book book(on_hosts(2, 2, 2, 0));
  book.membership({1, 2});
  book.roster.host_lost(1);
  book.act();
  EXPECT_EQ(book.roster.status().size, 1u);
  EXPECT_FALSE(book.roster.is_over());
  book.roster.host_found(1);
  book.membership({1, 2});
  EXPECT_EQ(book.roster.status().size, 2u);
  // It is lost for good, and the job does not wait for it.
  book.roster.host_lost(1);
  book.end(1, kWell);
  EXPECT_TRUE(book.roster.is_over());
  EXPECT_EQ(book.roster.exit_code(), 0);
}

TEST(Roster, ALauncherThatReachesNoHostDecidesNothing) {
  Book book(on_hosts(2, 2, 2, 0));
  book.membership({1, 2});
  book.roster.host_lost(0);
  book.roster.host_lost(1);
  book.act();
  EXPECT_TRUE(book.stopping.empty());
  EXPECT_FALSE(book.roster.is_over());
  book.roster.host_found(0);
  book.roster.host_found(1);
  book.membership({1, 2});
  EXPECT_EQ(book.roster.status().size, 2u);
  EXPECT_TRUE(book.stopping.empty());
}

}  // namespace
}  // namespace orrery::elastic
