#include "schedule/work_values.h"

#include <cmath>
#include <rapidcheck/gtest.h>

#include "schedule/lp/simplex.h"

namespace orrery::schedule {
namespace {

Speedup amdahl(double serial, int most) {
  std::vector<double> speeds;
  for (int k = 1; k <= most; ++k) speeds.push_back(1 / ((1 - serial) / k + serial));
  return Speedup(speeds);
}

TEST(Speedup, IsMadeConcaveAndEndsWhereItDoesNotGrow) {
  // A second GPU does nothing alone, a third one triples the speed: three thirds of 3. The fourth slows down.
  const Speedup speedup({1, 1, 3, 2});
  EXPECT_EQ(speedup.most(), 3);
  for (int k = 0; k <= 3; ++k) EXPECT_DOUBLE_EQ(speedup.at(k), k);
}

// One GPU: a second of the last job delays one, of the one before it two.
TEST(WorkValues, OnOneGpuWorkIsWorthTheJobsItDelays) {
  const Speedup speedup({1});
  const std::vector<ValuedJob> jobs(3, {&speedup});
  EXPECT_EQ(work_values(jobs, 1), (std::vector<double>{3, 2, 1}));
}

TEST(WorkValues, WithGpusForAllNoJobDelaysOthers) {
  const Speedup speedup({1, 2, 2.5});
  const std::vector<ValuedJob> jobs(3, {&speedup});
  for (const double value : work_values(jobs, 9)) EXPECT_DOUBLE_EQ(value, 1 / 2.5);
}

// heSRPT in closed form: where speed is k^p, the i-th longest of m has the share (i/m)^q - ((i-1)/m)^q of the GPUs,
// with q = 1 / (1 - p).
TEST(WorkValues, PowerLawsGiveTheSharesInClosedForm) {
  constexpr int kGpus = 4000, kJobs = 4;
  constexpr double kPower = 0.5, kQ = 1 / (1 - kPower);
  std::vector<double> speeds;
  for (int k = 1; k <= kGpus; ++k) speeds.push_back(std::pow(k, kPower));
  const Speedup speedup(speeds);
  const std::vector<ValuedJob> jobs(kJobs, {&speedup});
  const std::vector<double> values = work_values(jobs, kGpus);
  // The largest sum of values x speeds gives shares in proportion to v^(1 / (1 - p)).
  double sum = 0;
  for (const double value : values) sum += std::pow(value, kQ);
  for (int i = 1; i <= kJobs; ++i) {
    const double share = std::pow(values[static_cast<std::size_t>(kJobs - i)], kQ) / sum;
    EXPECT_NEAR(share, std::pow(i / 4.0, kQ) - std::pow((i - 1) / 4.0, kQ), 2e-3) << i;
  }
}

// The best plan as a linear program: phases end with a job, in the order given; z(i, j, k) is the time of phase i for
// which job j has its k-th GPU. Its objective is the sum of completion times.
double least_sum(const std::vector<Speedup>& jobs, const std::vector<double>& work, int gpus) {
  LinearProgram program;
  const int n = static_cast<int>(jobs.size());
  std::vector<int> works, capacities;
  for (const double amount : work) works.push_back(program.add_row(amount, amount));
  for (int i = 0; i < n; ++i) capacities.push_back(program.add_row(-kLpInfinity, 0));
  for (int i = 0; i < n; ++i) {
    const auto phase = static_cast<std::size_t>(i);
    std::vector<LpEntry> length = {{capacities[phase], -static_cast<double>(gpus)}};
    for (int j = i; j < n; ++j) {
      const auto job = static_cast<std::size_t>(j);
      for (int k = 1; k <= jobs[job].most(); ++k) {
        const int within = program.add_row(-kLpInfinity, 0);
        length.push_back({within, -1});
        program.add_column(0, 0, kLpInfinity, {{capacities[phase], 1}, {within, 1}, {works[job], jobs[job].gain(k)}});
      }
    }
    program.add_column(n - i, 0, kLpInfinity, length);
  }
  const LpSolution solution = solve(program);
  return solution.status == LpStatus::kOptimal ? solution.objective : -1;
}

// Where every job is at least twice as long as the one before, all phases have a length, and by duality the least sum
// of completion times is the sum of values x work.
RC_GTEST_PROP(WorkValues, AddUpToTheLeastSumOfCompletionTimes, ()) {
  const int n = *rc::gen::inRange(1, 5), gpus = *rc::gen::inRange(1, 7);
  const Speedup speedup = amdahl(*rc::gen::inRange(1, 50) / 100.0, *rc::gen::inRange(1, 7));
  std::vector<double> work;
  for (int j = 0; j < n; ++j) work.push_back((work.empty() ? 1 : 2 * work.back()) + *rc::gen::inRange(0, 5));
  const std::vector<Speedup> jobs(static_cast<std::size_t>(n), speedup);
  const std::vector<ValuedJob> valued(static_cast<std::size_t>(n), {&speedup});
  const std::vector<double> values = work_values(valued, gpus);
  double sum = 0;
  for (std::size_t j = 0; j < work.size(); ++j) sum += values[j] * work[j];
  const double least = least_sum(jobs, work, gpus);
  RC_ASSERT(std::abs(sum - least) < 1e-6 * least);
}

}  // namespace
}  // namespace orrery::schedule
