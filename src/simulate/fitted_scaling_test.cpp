#include "simulate/fitted_scaling.h"

#include "simulate/generate.h"
#include "simulate/run_test.h"
#include "simulate/summary.h"

namespace orrery::simulate {
namespace {

TEST(FittedScaling, FiveNoisyTrialsGiveTheCurveWithinTenPercent) {
  JobTrace job_trace = job_trace_of({job_of(0, 1000, 2)});
  job_trace.jobs[JobIndex(0)].facts.gpus_max = 16;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    schedule::ClusterLedger ledger(schedule::Machines(1, {.gpus = 16}));
    ledger.add(JobFacts(job_trace.jobs[JobIndex(0)].facts));
    const CurveSpeed speed({.serial_share = 0.1});
    const CurveScaling known(ledger, speed);
    const FittedScaling fitted(ledger, speed, job_trace, {.trials = 5, .noise = 0.02, .seed = seed});
    double error = 0;
    for (int gpus = 1; gpus <= 16; ++gpus)
      error += std::abs(fitted.step_s(JobIndex(0), gpus) / known.step_s(JobIndex(0), gpus) - 1) / 16;
    EXPECT_LT(error, 0.1) << "seed " << seed;
  }
}

TEST(FittedScaling, WhatARunningJobShowsIsTakenAsItIs) {
  JobTrace job_trace = job_trace_of({job_of(0, 1000, 1)});
  job_trace.jobs[JobIndex(0)].facts.gpus_max = 8;
  schedule::ClusterLedger ledger(schedule::Machines(1, {.gpus = 8}));
  const JobIndex job = ledger.add(JobFacts(job_trace.jobs[JobIndex(0)].facts));
  ledger.admit(job);
  const CurveSpeed speed({.serial_share = 0});
  const FittedScaling fitted(ledger, speed, job_trace, {.trials = 2, .noise = 0});
  // Trials on 1 and 8 GPUs; then it runs on 4 and is only twice as fast as on one.
  EXPECT_NEAR(fitted.step_s(job, 8), 1.0 / 8, 1e-9);
  ledger.start(job, {{MachineIndex(0), 4}}, 2, 0);
  ledger.advance_to(schedule::kSecondNs);
  EXPECT_NEAR(fitted.step_s(job, 4), 0.5, 1e-9);
}

TEST(FittedScaling, WithServersTrialsGiveTheFormulaOfServersAndWorkers) {
  JobTrace job_trace = job_trace_of({job_of(0, 1000, 2)});
  job_trace.jobs[JobIndex(0)].facts.gpus_max = 8;
  schedule::ClusterLedger ledger(schedule::Machines(1, {.gpus = 8}));
  ledger.add(JobFacts(job_trace.jobs[JobIndex(0)].facts));
  const CurveSpeed speed({.serial_share = 0.2});
  const FittedScaling fitted(ledger, speed, job_trace, {.trials = 12, .noise = 0, .with_servers = true});
  const auto known = CurveScaling(ledger, speed).ps_speed(JobIndex(0)), learned = fitted.ps_speed(JobIndex(0));
  ASSERT_TRUE(known && learned);
  for (int servers = 1; servers <= 8; ++servers) {
    for (int workers = 1; workers <= 8; ++workers) {
      EXPECT_NEAR(learned->step_s(servers, workers), known->step_s(servers, workers), 1e-6);
    }
  }
}

TEST(FittedScaling, TheFirstJobOfAModelWaitsForItsTrials) {
  JobTrace job_trace = job_trace_of({job_of(0, 100, 1), job_of(1000, 100, 1), job_of(2000, 100, 1)});
  job_trace.jobs[JobIndex(0)].model = job_trace.jobs[JobIndex(1)].model = "resnet50";
  job_trace.jobs[JobIndex(2)].model = "vgg16";
  RunSetup setup = setup_of(1, 1);
  setup.elastic = 1;
  setup.round_s = 1;
  setup.scaling = ScalingKnowledge::kFitted;
  setup.trials = {.trials = 5, .trial_s = 10};
  for (const char* policy : {"optimus", "optimus-ps"}) {
    EXPECT_EQ(ends_s(run(job_trace, setup, policy)), (std::vector<TimeNs>{150, 1100, 2150})) << policy;
  }
  EXPECT_EQ(ends_s(run(job_trace, setup, "fifo")), (std::vector<TimeNs>{100, 1100, 2100}));
}

TEST(FittedScaling, OptimusIsNearlyAsGoodWithItAsWithTheTrueCurve) {
  const JobTrace job_trace = generate({.jobs = 60, .rate_per_h = 12, .mix = Mix::kOptimus, .seed = 3});
  RunSetup setup = setup_of(4, 8);
  const double known = summarise(job_trace, run(job_trace, setup, "optimus"), 32, 0).mean_s;
  setup.scaling = ScalingKnowledge::kFitted;
  const double fitted = summarise(job_trace, run(job_trace, setup, "optimus"), 32, 0).mean_s;
  EXPECT_LT(fitted, known * 1.15);
  EXPECT_NE(fitted, known);
}

}  // namespace
}  // namespace orrery::simulate
