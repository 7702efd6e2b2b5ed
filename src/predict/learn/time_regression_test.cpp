#include "predict/learn/time_regression.h"

#include <cmath>
#include <gtest/gtest.h>

#include "base/random.h"

namespace orrery::predict {
namespace {

// time = 3 · prior · size^¼, and twice that for odd kinds.
TimeLessons lessons_of(std::size_t rows, double size_max, std::uint64_t seed) {
  TimeLessons lessons({"log_size"}, {"log_size", "kind"});
  Random random(seed);
  for (std::size_t i = 0; i < rows; ++i) {
    const double size = random.uniform(1, size_max), prior = random.uniform(1e-6, 1e-3);
    const auto kind = static_cast<float>(random.below(4));
    const auto log_size = static_cast<float>(std::log(size));
    lessons.sizes.add(std::vector<float>{log_size});
    lessons.features.add(std::vector<float>{log_size, kind});
    lessons.priors.push_back(prior);
    lessons.times.push_back(3 * prior * std::pow(size, 0.25) * (static_cast<int>(kind) % 2 == 1 ? 2 : 1));
    lessons.weights.push_back(1);
  }
  return lessons;
}

double mean_error(const TimeRegression& model, const TimeLessons& lessons) {
  double sum = 0;
  for (std::size_t i = 0; i < lessons.times.size(); ++i) {
    const double time = std::exp(model.log_time(lessons.priors[i], lessons.sizes.row(i), lessons.features.row(i)));
    sum += std::abs(time / lessons.times[i] - 1);
  }
  return sum / static_cast<double>(lessons.times.size());
}

TEST(TimeRegression, LearnsLawAndSteps) {
  const TimeRegression model = TimeRegression::fit(lessons_of(4000, 100, 1), {}).value();
  EXPECT_LT(mean_error(model, lessons_of(500, 100, 2)), 0.03);
}

TEST(TimeRegression, CarriesTheLawToSizesNeverSeen) {
  const TimeRegression model = TimeRegression::fit(lessons_of(4000, 100, 1), {}).value();
  EXPECT_LT(mean_error(model, lessons_of(500, 10'000, 3)), 0.25);
}

TEST(TimeRegression, OfFewRowsIsAFactorAndOfNoneThePrior) {
  const TimeRegression few = TimeRegression::fit(lessons_of(5, 2, 1), {}).value();
  EXPECT_TRUE(few.is_known());
  EXPECT_LT(mean_error(few, lessons_of(100, 2, 2)), 0.6);
  const TimeRegression none = TimeRegression::fit(lessons_of(0, 2, 1), {}).value();
  EXPECT_FALSE(none.is_known());
  EXPECT_DOUBLE_EQ(none.log_time(0.5, std::vector<float>{1}, std::vector<float>{1, 0}), std::log(0.5));
}

TEST(TimeRegression, SurvivesBeingWritten) {
  const TimeLessons lessons = lessons_of(500, 100, 1);
  const TimeRegression model = TimeRegression::fit(lessons, {}).value();
  ByteWriter out;
  model.write(out);
  ByteReader in(out.bytes());
  const TimeRegression again = TimeRegression::read(in).value();
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(mean_error(again, lessons), mean_error(model, lessons));
  for (std::size_t cut = 0; cut < out.bytes().size(); cut += 97) {
    ByteReader short_in(std::string_view(out.bytes()).substr(0, cut));
    EXPECT_FALSE(TimeRegression::read(short_in).has_value()) << cut;
  }
}

}  // namespace
}  // namespace orrery::predict
