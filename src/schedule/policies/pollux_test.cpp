#include "schedule/policies/pollux.h"

#include <gtest/gtest.h>

#include "schedule/cluster_ledger.h"

namespace orrery::schedule {
namespace {

// Goodput on k GPUs is k^power.
class PowerModel : public GoodputModel {
 public:
  explicit PowerModel(IndexedVector<JobIndex, double> powers) : powers_(std::move(powers)) {}

  double goodput(JobIndex job, int gpus) const override { return std::pow(gpus, powers_[job]); }
  int goodput_gpus_max(JobIndex) const override { return 64; }
  double step_s(JobIndex, int) const override { return 1; }
  double steps_left(JobIndex) const override { return 1; }
  int gpus_max(JobIndex) const override { return 64; }

 private:
  IndexedVector<JobIndex, double> powers_;
};

class PolluxTest : public ::testing::Test {
 protected:
  PolluxTest() : ledger_({{.gpus = 4}, {.gpus = 4}}) {}

  // Adds a job, calls the policy, and carries out its decisions.
  std::vector<Decision> ask(Policy& policy, std::vector<JobIndex> arrived, std::vector<JobIndex> ended = {}) {
    for (const JobIndex job : arrived) ledger_.admit(job);
    std::vector<Decision> decisions;
    policy.decide(ledger_, {.arrived = arrived, .ended = ended}, decisions);
    for (const Decision& decision : decisions) {
      if (releases(decision.action)) ledger_.suspend(decision.job);
    }
    for (const Decision& decision : decisions) {
      if (!takes(decision.action)) continue;
      EXPECT_TRUE(ledger_.check_take(decision).has_value());
      ledger_.start(decision.job, decision.allocation, 1, ledger_.now());
    }
    EXPECT_TRUE(ledger_.check_invariants().has_value());
    return decisions;
  }
  int gpus(JobIndex job) const { return gpus_in(ledger_.progress(job).allocation); }

  ClusterLedger ledger_;
};

// One job scales perfectly, the other not at all: one GPU is enough for it. Beyond one machine sizes are whole
// machines, so 4 of the 7 GPUs that are left are of use.
TEST_F(PolluxTest, GpusGoWhereTheySpeedUp) {
  const PowerModel model({1.0, 0.0});
  const auto policy = make_pollux({}, model, make_consolidated_placer());
  const JobIndex scales = ledger_.add({}), other = ledger_.add({});
  ask(*policy, {scales, other});
  EXPECT_EQ(gpus(scales), 4);
  EXPECT_EQ(gpus(other), 1);
  ledger_.advance_to(from_seconds(36000));
  ledger_.end(other);
  ask(*policy, {}, {other});
  EXPECT_EQ(gpus(scales), 8);
}

// The sum of 1 / speedup is least with equal parts for equal jobs; no job is left without GPUs.
TEST_F(PolluxTest, EqualJobsShare) {
  const PowerModel model({0.8, 0.8, 0.8, 0.8});
  const auto policy = make_pollux({}, model, make_consolidated_placer());
  std::vector<JobIndex> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(ledger_.add({}));
  ask(*policy, jobs);
  for (const JobIndex job : jobs) EXPECT_EQ(gpus(job), 2);
  EXPECT_TRUE(ask(*policy, {}).empty());
}

// A young job is not restarted for a small gain, an old one is.
TEST_F(PolluxTest, RestartsMustPay) {
  const PowerModel model({0.25, 0.0});
  for (const double age_s : {60.0, 36000.0}) {
    ledger_ = ClusterLedger(Machines{{.gpus = 4}});
    const auto policy = make_pollux({}, model, make_consolidated_placer());
    const JobIndex job = ledger_.add({.submit_ns = 0}), other = ledger_.add({.submit_ns = 0});
    ask(*policy, {job, other});
    EXPECT_EQ(gpus(job), 3);
    ledger_.advance_to(from_seconds(age_s));
    ledger_.end(other);
    // From 3 to 4 GPUs is 7.5 % faster; after a minute a restart would cost a third.
    ask(*policy, {}, {other});
    EXPECT_EQ(gpus(job), age_s > 1000 ? 4 : 3);
  }
}

}  // namespace
}  // namespace orrery::schedule
