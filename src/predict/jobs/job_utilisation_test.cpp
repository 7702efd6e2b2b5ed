#include <cmath>
#include <gtest/gtest.h>

#include "predict/jobs/job_utilisation_model.h"

namespace orrery::predict {
namespace {

using profile::MeasuredJob;
using profile::Resource;

constexpr std::size_t kJobs = 60;

double step_seconds(const workload::TrainingRun& run) {
  return 1e-8 * static_cast<double>(run.graph.parameter_count() * run.graph.batch());
}

// Jobs whose exchange takes 1.3 times, and whose computing 1.1 times the estimate; the memory has one level.
std::vector<MeasuredJob> invented_jobs(const std::vector<JobFacts>& facts) {
  std::vector<MeasuredJob> jobs;
  for (const JobFacts& one : facts) {
    const JobMetrics prior = one.prior();
    MeasuredJob job{.job = one.job};
    for (std::size_t r = 0; r < profile::kResources; ++r) {
      const double slower = r == static_cast<std::size_t>(Resource::kProcessor) ? 1.1 : 1.3;
      job.use[r] = {Seconds(prior[r][0] * slower), Seconds(prior[r][1] * slower), prior[r][2] / slower};
    }
    job.use[0].burst = job.use[0].idle = Seconds(0);
    jobs.push_back(job);
  }
  return jobs;
}

class JobUtilisationTest : public testing::Test {
 protected:
  void SetUp() override {
    for (std::uint64_t number = 0; number < kJobs; ++number) {
      const auto job = profile::draw_job(1, number);
      ASSERT_TRUE(job);
      const auto run = run_of(*job);
      ASSERT_TRUE(run);
      facts_.push_back(facts_of(*job, *run, step_seconds(*run)));
    }
    jobs_ = invented_jobs(facts_);
  }

  Result<JobUtilisation> fit_on_first(std::size_t count) const {
    std::vector<const JobFacts*> facts;
    std::vector<const MeasuredJob*> jobs;
    for (std::size_t i = 0; i < count; ++i) {
      facts.push_back(&facts_[i]);
      jobs.push_back(&jobs_[i]);
    }
    return JobUtilisation::fit(facts, jobs, 1);
  }

  std::vector<JobFacts> facts_;
  std::vector<MeasuredJob> jobs_;
};

TEST_F(JobUtilisationTest, LearnsHowFarThePhysicalEstimateIsOff) {
  const auto use = fit_on_first(kJobs - 10);
  ASSERT_TRUE(use);
  for (std::size_t i = kJobs - 10; i < kJobs; ++i) {
    const JobMetrics measured = metrics_of(jobs_[i]), predicted = use->predict(facts_[i]);
    for (std::size_t r = 0; r < profile::kResources; ++r) {
      for (std::size_t f = 0; f < kMetricsEach; ++f) {
        if (measured[r][f] > 0) {
          EXPECT_NEAR(predicted[r][f] / measured[r][f], 1, 0.05) << r << " " << f;
        } else {
          EXPECT_EQ(predicted[r][f], 0);
        }
      }
    }
  }
}

TEST_F(JobUtilisationTest, WithFewJobsOnlyTheFactorIsLearned) {
  const auto use = fit_on_first(5);
  ASSERT_TRUE(use);
  const auto cpu = static_cast<std::size_t>(Resource::kProcessor);
  EXPECT_NEAR(use->predict(facts_[9])[cpu][0] / facts_[9].prior()[cpu][0], 1.1, 1e-9);
}

TEST_F(JobUtilisationTest, AModelComesBackFromItsFile) {
  const auto use = fit_on_first(kJobs);
  ASSERT_TRUE(use);
  const std::string bytes = to_bytes({.machine = "a machine", .library = "a library", .jobs = kJobs, .use = *use});
  EXPECT_TRUE(is_job_utilisation(bytes));
  const auto read = parse_job_utilisation(bytes);
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->machine, "a machine");
  EXPECT_EQ(read->jobs, kJobs);
  for (const JobFacts& facts : facts_) EXPECT_EQ(read->use.predict(facts), use->predict(facts));
  for (std::size_t length = 0; length < bytes.size(); length += 97) {
    EXPECT_FALSE(parse_job_utilisation(std::string_view(bytes).substr(0, length))) << length;
  }
}

TEST(JobFacts, BytesOfABurstAreThoseOfTheGradients) {
  for (std::uint64_t number = 0; number < 20; ++number) {
    const auto job = profile::draw_job(3, number);
    ASSERT_TRUE(job);
    const auto run = run_of(*job);
    ASSERT_TRUE(run);
    const JobFacts facts = facts_of(*job, *run, step_seconds(*run));
    const auto transmit = facts.prior()[static_cast<std::size_t>(Resource::kTransmit)];
    // In a ring of two each sends half of the gradients twice.
    EXPECT_NEAR(transmit[0] * transmit[2], facts.gradients, 1e-6 * facts.gradients);
    EXPECT_LE(transmit[2], job->rate.value() * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace orrery::predict
