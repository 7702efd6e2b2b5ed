#include "lab/experiments/completion_bound.h"

#include <algorithm>
#include <cmath>

namespace orrery::lab {

namespace {

constexpr int kPriceSteps = 14;
constexpr int kTailPoints = 400;

double fastest_s(const BoundJob& job) {
  return job.work / job.speedup->at(job.speedup->most());
}

// Submissions, some multiples of the shortest run times after them, and then ever further apart.
std::vector<double> points_of_time(const std::vector<BoundJob>& jobs) {
  std::vector<double> points;
  for (const BoundJob& job : jobs) {
    for (const double times : {0.0, 0.5, 1.0, 2.0, 4.0}) points.push_back(job.submit_s + times * fastest_s(job));
  }
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  const double first = points.front();
  for (int i = 0; i < kTailPoints; ++i) points.push_back(points.back() + std::max(1.0, 0.01 * (points.back() - first)));
  return points;
}

// The number of GPUs with the largest worth x speed - price x GPUs.
int wanted(const schedule::Speedup& speedup, double worth, double price) {
  int low = 0, high = speedup.most();
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (worth * speedup.gain(middle) > price) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

class Bound {
 public:
  Bound(const std::vector<BoundJob>& jobs, int gpus) : jobs_(jobs), gpus_(gpus), points_(points_of_time(jobs)) {
    for (const BoundJob& job : jobs) values_.push_back(1.5 * fastest_s(job) / job.work);
    done_.resize(jobs.size());
  }

  double best_of(int rounds) {
    double best = 0;
    for (int round = 0; round < rounds; ++round) {
      best = std::max(best, dual());
      const double step = 0.25 / std::sqrt(1 + 0.3 * round);
      for (std::size_t j = 0; j < jobs_.size(); ++j)
        values_[j] *= std::exp(step * std::clamp(1 - done_[j] / jobs_[j].work, -1.0, 1.0));
    }
    return best;
  }

 private:
  struct There {
    std::size_t job = 0;
    double worth = 0;
  };

  double dual() {
    double sum = 0;
    for (std::size_t j = 0; j < jobs_.size(); ++j) sum += values_[j] * jobs_[j].work;
    std::fill(done_.begin(), done_.end(), 0);
    there_.clear();
    std::size_t next = 0;
    for (std::size_t i = 0; i < points_.size() && (next < jobs_.size() || !there_.empty()); ++i) {
      const double now = points_[i];
      for (; next < jobs_.size() && jobs_[next].submit_s <= now; ++next) there_.push_back({next, 0});
      std::erase_if(there_, [&](There& one) {
        const BoundJob& job = jobs_[one.job];
        one.worth = values_[one.job] - (now - job.submit_s) / job.work;
        return one.worth <= 0;
      });
      // Whoever is still there after the last point would be for ever: until its worth is gone.
      const double until = i + 1 < points_.size() ? points_[i + 1] : now + longest_s();
      sum -= (until - now) * cost_rate(until - now);
    }
    return sum;
  }

  double longest_s() const {
    double longest = 0;
    for (const There& one : there_) longest = std::max(longest, one.worth * jobs_[one.job].work);
    return longest;
  }

  int demand(double price) const {
    int sum = 0;
    for (const There& one : there_) sum += wanted(*jobs_[one.job].speedup, one.worth, price);
    return sum;
  }

  double price_now() const {
    double high = 0;
    for (const There& one : there_) high = std::max(high, one.worth * jobs_[one.job].speedup->at(1));
    double low = 1e-6 * high;
    if (demand(low) <= gpus_) return 0;
    for (int step = 0; step < kPriceSteps; ++step) {
      const double middle = std::sqrt(low * high);
      (demand(middle) > gpus_ ? low : high) = middle;
    }
    return high;
  }

  // p GPUs + the sum of what jobs have above the price; and what they do until then.
  double cost_rate(double seconds) {
    const double price = price_now();
    double rate = price * gpus_;
    for (const There& one : there_) {
      const schedule::Speedup& speedup = *jobs_[one.job].speedup;
      const int gpus = wanted(speedup, one.worth, price);
      rate += one.worth * speedup.at(gpus) - price * gpus;
      done_[one.job] += seconds * speedup.at(gpus);
    }
    return rate;
  }

  const std::vector<BoundJob>& jobs_;
  int gpus_;
  std::vector<double> points_, values_, done_;
  std::vector<There> there_;
};

}  // namespace

double least_mean_completion_s(const std::vector<BoundJob>& jobs, int gpus, int rounds) {
  double alone_s = 0;
  for (const BoundJob& job : jobs) alone_s += fastest_s(job);
  const double by_dual_s = Bound(jobs, gpus).best_of(rounds) + alone_s / 2;
  return std::max(alone_s, by_dual_s) / static_cast<double>(jobs.size());
}

}  // namespace orrery::lab
