#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>

#include "elastic/job/note.h"
#include "elastic/policy/adascale.h"
#include "elastic/policy/gns_batch.h"
#include "elastic/policy/gns_workers.h"
#include "elastic/policy/goodput.h"
#include "elastic/policy/interference_policy.h"
#include "elastic/policy/schedule.h"
#include "elastic/policy/shipped.h"
#include "elastic/policy/straggler.h"
#include "elastic/policy/strategy_by_size.h"
#include "elastic/policy/uneven.h"

namespace orrery::elastic {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Proposal with(const std::string& name, double value) {
  return {{{name, value}}, {}};
}

// A step at which policies decide, with this noise scale.
Observation noisy(double noise_scale, double batch, double workers = 1) {
  return {.step = 100,
          .workers = workers,
          .batch = batch,
          .first_batch = 64,
          .gradient_square = 2,
          .noise = 2 * noise_scale};
}

TEST(Merge, TakesWhatAllThatProposeAgreeOn) {
  const NamedProposal proposals[] = {{"rank 0", with(kBatchValue, 128)},
                                     {"rank 1", {}},
                                     {"rank 2", {{{kBatchValue, 128}, {kWorkersValue, 3}}, "synchronous"}}};
  const Agreement agreement = merge(proposals);
  EXPECT_TRUE(agreement.refused.empty());
  EXPECT_EQ(agreement.agreed, (Proposal{{{kBatchValue, 128}, {kWorkersValue, 3}}, "synchronous"}));
  EXPECT_TRUE(merge({}).agreed.empty());
}

TEST(Merge, RefusesWhatRanksDisagreeOnAndNothingElse) {
  const NamedProposal proposals[] = {{"rank 0", {{{kBatchValue, 128}, {kWorkersValue, 3}}, {}}},
                                     {"rank 1", {{{kBatchValue, 256}, {kWorkersValue, 3}}, {}}}};
  const Agreement agreement = merge(proposals);
  EXPECT_EQ(agreement.agreed, with(kWorkersValue, 3));
  ASSERT_EQ(agreement.refused.size(), 1U);
  EXPECT_EQ(agreement.refused[0], "batch: rank 0 says 128, rank 1 says 256");
}

TEST(Merge, RefusesNonsenseWithTheReason) {
  const auto reason = [](const Proposal& proposal) {
    const NamedProposal named{"p", proposal};
    const Agreement agreement = merge(std::span(&named, 1));
    EXPECT_TRUE(agreement.agreed.empty());
    return agreement.refused.empty() ? "" : agreement.refused[0];
  };
  EXPECT_EQ(reason(with(kWorkersValue, 0)), "p: workers must be a whole number from 1 to 1024, not 0");
  EXPECT_EQ(reason(with(kBatchValue, -8)), "p: batch must be a whole number from 1 to 1000000000000, not -8");
  EXPECT_EQ(reason(with(kBatchValue, 8.5)), "p: batch must be a whole number from 1 to 1000000000000, not 8.5");
  EXPECT_EQ(reason(with(kLearningRateScale, kNan)), "p: learning_rate_scale is not finite");
  EXPECT_EQ(reason(with(kLearningRateScale, 0)),
            "p: learning_rate_scale must be a number from 1e-06 to 1000000, not 0");
  EXPECT_EQ(reason(with("warmup", std::numeric_limits<double>::infinity())), "p: warmup is not finite");
  EXPECT_EQ(reason(with("stop", 1)), "p: to end the job is no matter of policies");
  EXPECT_EQ(reason(with("", 1)), "p: \"\" is no name of 1 to 31 characters");
  EXPECT_EQ(reason({{}, "telepathy"}), "p: unknown strategy \"telepathy\"; there is \"synchronous\"");
}

class Throwing : public Policy {
 public:
  std::string name() const override { return "throwing"; }
  Proposal after_step(const Observation&) override { throw std::runtime_error("out of ideas"); }
};

class Fixed : public Policy {
 public:
  Fixed(std::string name, Proposal proposal) : name_(std::move(name)), proposal_(std::move(proposal)) {}
  std::string name() const override { return name_; }
  Proposal after_epoch(const Observation&) override { return proposal_; }
  Proposal after_step(const Observation&) override { return proposal_; }

 private:
  std::string name_;
  Proposal proposal_;
};

TEST(PolicySet, OneThatThrowsIsReportedOnceAndDoesNotHinderOthers) {
  std::vector<std::unique_ptr<Policy>> policies;
  policies.push_back(std::make_unique<Throwing>());
  policies.push_back(std::make_unique<Fixed>("fixed", with(kBatchValue, 32)));
  PolicySet set(std::move(policies));
  Agreement agreement = set.ask(Moment::kAfterStep, {});
  EXPECT_EQ(agreement.agreed, with(kBatchValue, 32));
  ASSERT_EQ(agreement.refused.size(), 1U);
  EXPECT_EQ(agreement.refused[0], "policy throwing has thrown: out of ideas; it is not asked again");
  agreement = set.ask(Moment::kAfterStep, {});
  EXPECT_EQ(agreement.agreed, with(kBatchValue, 32));
  EXPECT_TRUE(agreement.refused.empty());
}

TEST(PolicySet, AsksAtTheMomentAndRefusesContradictions) {
  std::vector<std::unique_ptr<Policy>> policies;
  policies.push_back(std::make_unique<Fixed>("a", with(kBatchValue, 32)));
  policies.push_back(std::make_unique<Fixed>("b", with(kBatchValue, 64)));
  PolicySet set(std::move(policies));
  EXPECT_TRUE(set.ask(Moment::kBeforeStep, {}).agreed.empty());
  const Agreement agreement = set.ask(Moment::kAfterEpoch, {});
  EXPECT_TRUE(agreement.agreed.empty());
  EXPECT_EQ(agreement.refused, std::vector<std::string>{"batch: a says 32, b says 64"});
}

TEST(Uneven, PartsFollowSpeedWhileOneLagsBehind) {
  Uneven policy({.slow = 1.5, .even = 1.2, .every = 10});
  Observation seen;
  seen.step = 10;
  EXPECT_TRUE(policy.after_step(seen).empty());
  seen.straggler_index = 1.6;
  EXPECT_EQ(policy.after_step(seen), (Proposal{{{kUnevenParameter, 1}}, {}}));
  seen.is_uneven = true;
  EXPECT_TRUE(policy.after_step(seen).empty());
  seen.straggler_index = 1.3;
  EXPECT_TRUE(policy.after_step(seen).empty());
  seen.straggler_index = 1.1;
  EXPECT_EQ(policy.after_step(seen), (Proposal{{{kUnevenParameter, 0}}, {}}));
  seen.strategy = kPairStrategy;
  EXPECT_TRUE(policy.after_step(seen).empty()) << "there every worker takes what it can";
}

TEST(InterferencePolicy, FirstLooksForOtherWaysThenSendsLess) {
  InterferencePolicy policy({.disturbed = 1.5, .backoff = 200, .every = 10});
  Observation seen;
  seen.step = 100;
  seen.strategies = {kSynchronousStrategy, kLocalStrategy};
  EXPECT_TRUE(policy.after_step(seen).empty()) << "nothing is known";
  seen.interference = 1.4;
  EXPECT_TRUE(policy.after_step(seen).empty());
  seen.interference = 3;
  seen.slowdown = 1.05;
  EXPECT_TRUE(policy.after_step(seen).empty()) << "exchanges are a small part of steps";
  seen.slowdown = 2;
  EXPECT_EQ(policy.after_step(seen), (Proposal{{{kTopologyParameter, 1}}, {}}));
  seen.step = 101;
  EXPECT_TRUE(policy.after_step(seen).empty()) << "only now and then";
  seen.step = 130;
  seen.topology = 1;
  seen.topology_age = 25;
  seen.slowdown = 1.2;
  EXPECT_TRUE(policy.after_step(seen).empty()) << "a way around that costs a little is good enough";
  seen.slowdown = 1.3;
  EXPECT_EQ(policy.after_step(seen), (Proposal{{}, kLocalStrategy}));
  seen.strategy = kLocalStrategy;
  EXPECT_TRUE(policy.after_step(seen).empty());
  seen.strategies = {kSynchronousStrategy};
  seen.strategy = kSynchronousStrategy;
  EXPECT_TRUE(policy.after_step(seen).empty()) << "the program cannot";
  seen.topology_age = 1000;
  EXPECT_EQ(policy.after_step(seen), (Proposal{{{kTopologyParameter, 2}}, {}})) << "a later disturbance is another one";
}

TEST(InterferencePolicy, NowAndThenTriesWhetherTheNetworkIsFreeAgain) {
  InterferencePolicy policy({.disturbed = 1.5, .backoff = 200, .every = 10, .retry = 50});
  Observation seen;
  seen.step = 101;
  seen.strategies = {kSynchronousStrategy, kLocalStrategy};
  seen.strategy = kLocalStrategy;
  seen.interference = 3;  // of the last synchronous step
  seen.topology = 1;
  seen.topology_age = 49;
  EXPECT_TRUE(policy.after_step(seen).empty());
  seen.topology_age = 50;
  EXPECT_EQ(policy.after_step(seen), (Proposal{{{kTopologyParameter, 2}}, kSynchronousStrategy}));
  seen.topology = 0;
  EXPECT_TRUE(policy.after_step(seen).empty()) << "models were averaged for another reason";
}

TEST(GnsBatch, DoublesWhileTheNoiseScaleIsAboveTwiceTheBatch) {
  GnsBatch policy({.batch_max = 512});
  EXPECT_EQ(policy.after_step(noisy(129, 64)), with(kBatchValue, 128));
  EXPECT_TRUE(policy.after_step(noisy(127, 64)).empty());
  EXPECT_EQ(policy.after_step(noisy(5000, 300)), with(kBatchValue, 512));
  EXPECT_TRUE(policy.after_step(noisy(5000, 512)).empty());
  Observation between = noisy(5000, 64), unknown = noisy(5000, 64);
  between.step = 101;
  EXPECT_TRUE(policy.after_step(between).empty());
  unknown.gradient_square = -1;
  EXPECT_TRUE(policy.after_step(unknown).empty());
}

// The noise scale of the trial in docs: 37 at step 50 rising to about 1000. The batch follows from 64 to 512.
TEST(GnsBatch, FollowsARisingNoiseScale) {
  GnsBatch policy({.batch_max = 4096});
  double batch = 64;
  for (std::uint64_t step = 1; step <= 2000; ++step) {
    Observation observation =
        noisy(37 + 963.0 * static_cast<double>(std::min<std::uint64_t>(step, 1200)) / 1200, batch);
    observation.step = step;
    const Proposal proposal = policy.after_step(observation);
    if (!proposal.empty()) batch = proposal.values.at(kBatchValue);
  }
  EXPECT_EQ(batch, 512);
}

TEST(GnsWorkers, AddsOneAtATimeAndTheBatchFollows) {
  GnsWorkers policy({.per_worker = 16, .workers_max = 3});
  EXPECT_EQ(policy.after_step(noisy(100, 16, 1)), with(kWorkersValue, 2));
  // The second worker has joined: 32 samples from now on, and a third worker is wanted.
  EXPECT_EQ(policy.after_step(noisy(100, 16, 2)), (Proposal{{{kBatchValue, 32}, {kWorkersValue, 3}}, {}}));
  EXPECT_TRUE(policy.after_step(noisy(100, 48, 3)).empty());
  EXPECT_TRUE(policy.after_step(noisy(30, 32, 2)).empty());
}

// σ² = 6, μ² = 2, s = 4: (6 + 2) / (1.5 + 2) = 16 / 7.
TEST(AdaScale, GainByHand) {
  EXPECT_DOUBLE_EQ(adascale_gain(6, 2, 4), 16.0 / 7);
  EXPECT_DOUBLE_EQ(adascale_gain(6, 2, 1), 1);
  EXPECT_NEAR(adascale_gain(1e9, 1, 8), 8, 1e-6);  // noise only: in proportion to the batch
  EXPECT_NEAR(adascale_gain(1e-9, 1, 8), 1, 1e-6);
}

TEST(AdaScale, ProposesWhatIsWorthAChange) {
  AdaScale policy({});
  Observation observation = noisy(192, 256);  // σ² = 2 · 192 / 64 = 6, μ² = 2, s = 4
  EXPECT_EQ(policy.after_step(observation), with(kLearningRateScale, 16.0 / 7));
  observation.learning_rate_scale = 2.2;
  EXPECT_TRUE(policy.after_step(observation).empty());
}

TEST(Schedule, HasPhases) {
  Schedule policy({{2, 100}, {4, 200}, {1, 50}});
  const auto workers = [&](std::uint64_t step, double now) {
    const Proposal proposal = policy.after_step({.step = step, .workers = now});
    return proposal.empty() ? 0 : proposal.values.at(kWorkersValue);
  };
  EXPECT_EQ(workers(0, 1), 2);
  EXPECT_EQ(workers(10, 2), 0);
  EXPECT_EQ(workers(99, 1), 0);
  EXPECT_EQ(workers(100, 2), 4);
  EXPECT_EQ(workers(290, 3), 4);  // one worker has died
  EXPECT_EQ(workers(300, 4), 1);
  EXPECT_EQ(workers(100'000, 4), 1);
}

TEST(Schedule, ByTheTime) {
  Schedule policy({{2, 100}, {4, 200}}, Schedule::By::kSecond);
  const auto workers = [&](double elapsed_s, std::uint64_t step) {
    const Proposal proposal = policy.after_step({.step = step, .workers = 1, .elapsed_s = elapsed_s});
    return proposal.empty() ? 0 : proposal.values.at(kWorkersValue);
  };
  EXPECT_EQ(workers(99.9, 10), 2);
  EXPECT_EQ(workers(100.1, 20), 4);
  EXPECT_EQ(workers(100.1, 21), 0);
  EXPECT_EQ(workers(1e6, 30), 4);
}

Observation with_straggler(const char* strategy, double index) {
  return {.step = 10, .strategy = strategy, .straggler_index = index};
}

TEST(Straggler, ChangesTheStrategyWithDistanceBetweenItsLimits) {
  Straggler policy({.slow = 1.5, .even = 1.2});
  EXPECT_EQ(policy.after_step(with_straggler("synchronous", 1.6)), (Proposal{{}, "pair"}));
  EXPECT_TRUE(policy.after_step(with_straggler("synchronous", 1.4)).empty());
  EXPECT_TRUE(policy.after_step(with_straggler("pair", 1.4)).empty());
  EXPECT_EQ(policy.after_step(with_straggler("pair", 1.1)), (Proposal{{}, "synchronous"}));
  EXPECT_TRUE(policy.after_step({.step = 10}).empty());  // not known
}

TEST(StrategyBySize, LocalStepsForManyWorkers) {
  StrategyBySize policy(4);
  EXPECT_TRUE(policy.after_step({.workers = 4}).empty());
  EXPECT_EQ(policy.after_step({.workers = 5}), (Proposal{{}, "local"}));
  EXPECT_EQ(policy.after_step({.workers = 4, .strategy = "local"}), (Proposal{{}, "synchronous"}));
}

TEST(PolicySet, StrategiesAreRefusedUnlessTheProgramOffersThem) {
  std::vector<std::unique_ptr<Policy>> policies;
  policies.push_back(std::make_unique<Fixed>("a", Proposal{{}, "pair"}));
  PolicySet set(std::move(policies));
  EXPECT_EQ(set.ask(Moment::kAfterStep, {}).refused,
            std::vector<std::string>{"a: unknown strategy \"pair\"; there is \"synchronous\""});
  EXPECT_EQ(set.ask(Moment::kAfterStep, {.strategies = {"synchronous", "pair"}}).agreed, (Proposal{{}, "pair"}));
}

TEST(Merge, RefusesStrategiesThatContradictEachOther) {
  const NamedProposal proposals[] = {{"a", {{}, "pair"}}, {"b", {{}, "synchronous"}}};
  const std::string offered[] = {"synchronous", "pair"};
  const Agreement agreement = merge(proposals, offered);
  EXPECT_TRUE(agreement.agreed.empty());
  EXPECT_EQ(agreement.refused, std::vector<std::string>{"strategy: a says pair, b says synchronous"});
}

// T = 0.01 + 0.001 B / n + 0.002 n.
double true_step_s(double workers, double batch) {
  return 0.01 + 0.001 * batch / workers + 0.002 * workers;
}

TEST(StepTimeFit, FindsTheTermsWhenSizesVary) {
  StepTimeFit fit;
  EXPECT_FALSE(fit.time_s(1, 64));
  for (int i = 0; i < 100; ++i) {
    for (const double workers : {1, 2, 3}) {
      for (const double batch : {64, 128, 256}) fit.add(workers, batch, true_step_s(workers, batch));
    }
  }
  EXPECT_NEAR(*fit.time_s(4, 512), true_step_s(4, 512), 0.01 * true_step_s(4, 512));
  EXPECT_NEAR(*fit.time_s(8, 64), true_step_s(8, 64), 0.05 * true_step_s(8, 64));
}

TEST(StepTimeFit, TakesAllTimeForComputingUntilSizesVary) {
  StepTimeFit fit;
  for (int i = 0; i < 100; ++i) fit.add(2, 64, 0.1);
  EXPECT_NEAR(*fit.time_s(2, 64), 0.1, 1e-3);
  EXPECT_NEAR(*fit.time_s(4, 64), 0.05, 2e-3);
  fit.add(0, 64, 0.1), fit.add(1, -1, 0.1), fit.add(1, 64, 0), fit.add(1, 64, std::nan(""));  // left out
  EXPECT_NEAR(*fit.time_s(2, 64), 0.1, 1e-3);
}

// At n = 1, B = 64 and φ = 1000: 64 / 0.076 = 842 samples/s. Two workers: 64 / 0.046; twice the batch with them:
// 128 / 0.078 · 1064 / 1128 = 1548, the best of the nine.
TEST(Goodput, GrowsWhereItBringsMostAndStopsWhereItDoesNot) {
  Observation observation = noisy(1000, 64, 1);
  observation.step = 50;
  for (const double workers : {1, 2, 3}) {
    for (const double batch : {64, 128}) observation.step_time.add(workers, batch, true_step_s(workers, batch));
  }
  Goodput policy({.workers_max = 4, .batch_max = 256});
  EXPECT_EQ(policy.after_step(observation), (Proposal{{{kBatchValue, 128}, {kWorkersValue, 2}}, {}}));
  Goodput alone({.workers_max = 1, .batch_max = 64});
  EXPECT_TRUE(alone.after_step(observation).empty());
  observation.step = 51;
  EXPECT_TRUE(policy.after_step(observation).empty());
  // A training without noise gains nothing from larger batches.
  Observation idle = noisy(1, 64, 4);
  idle.step = 50;
  idle.step_time = observation.step_time;
  EXPECT_TRUE(policy.after_step(idle).values.count(kBatchValue) == 0);
}

TEST(Shipped, ByName) {
  EXPECT_EQ((*make_policy("goodput:4:512"))->name(), "goodput");
  EXPECT_EQ((*make_policy("straggler:2"))->name(), "straggler");
  EXPECT_EQ((*make_policy("strategy-by-size:8"))->name(), "strategy-by-size");
  EXPECT_EQ((*make_policy("timetable:2:100,3:50"))->name(), "timetable");
  for (const char* const text : {"goodput:0", "goodput:1:2:3", "straggler:1", "straggler:x", "strategy-by-size"}) {
    EXPECT_FALSE(make_policy(text)) << text;
  }
  EXPECT_EQ((*make_policy("gns"))->name(), "gns");
  EXPECT_EQ((*make_policy("gns-workers:16:4"))->name(), "gns-workers");
  EXPECT_EQ((*make_policy("adascale"))->name(), "adascale");
  EXPECT_EQ(*parse_phases("2:100,4:200"), (std::vector<Schedule::Phase>{{2, 100}, {4, 200}}));
  const auto policy = make_policy("schedule:2:100");
  ASSERT_TRUE(policy);
  EXPECT_EQ((*policy)->before_train({}), with(kWorkersValue, 2));
}

TEST(Shipped, MistakesAreNamed) {
  const auto error = [](const std::string& text) { return make_policy(text).error().to_string(); };
  EXPECT_EQ(error("gsn"),
            "policy \"gsn\": there is gns, gns-workers, adascale, schedule, timetable, goodput, straggler, "
            "strategy-by-size, interference, uneven; did you mean \"gns\"?");
  EXPECT_EQ(error("gns:-1"), "policy \"gns:-1\": batch must be a whole number from 1 to 1000000000000, not -1");
  EXPECT_EQ(error("gns:big"), "policy \"gns:big\": \"big\" is no number");
  for (const char* const text :
       {"schedule", "schedule:", "schedule:2", "schedule:2:0", "schedule:2:1:1", "schedule:a:1"}) {
    EXPECT_FALSE(make_policy(text)) << text;
  }
  EXPECT_EQ(error("schedule:0:10"), "policy \"schedule:0:10\": workers must be a whole number from 1 to 1024, not 0");
  EXPECT_FALSE(make_policy("adascale:7"));
  EXPECT_FALSE(make_policy("gns-workers"));
  EXPECT_FALSE(make_policy(""));
}

}  // namespace
}  // namespace orrery::elastic
