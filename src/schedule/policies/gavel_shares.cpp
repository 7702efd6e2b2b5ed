#include "schedule/policies/gavel_shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "schedule/lp/interior.h"
#include "schedule/lp/simplex.h"

namespace orrery::schedule {

namespace {

constexpr double kRatioPrecision = 1e-4;  // of finish-time fairness
constexpr double kKept = 1e-9;            // how much of an optimum may be lost by using what is left

// The fastest a job runs alone.
double best_speed(const ShareJob& job) {
  return *std::max_element(job.speed.begin(), job.speed.end());
}

// The rows and columns that all policies share. Speeds are of a job's best speed alone.
class ShareProgram {
 public:
  explicit ShareProgram(const ShareProblem& problem) : problem_(problem), types_(problem.gpus.size()) {
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) program_.add_row(-kLpInfinity, 1);
    for (const double gpus : problem.gpus) program_.add_row(-kLpInfinity, gpus);
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
      const int row = program_.add_row(0, kLpInfinity);
      if (j == 0) speed_row_ = row;
    }
    columns_.assign(units(), std::vector<int>(types_, -1));
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
      const double best = best_speed(problem.jobs[j]);
      for (std::size_t k = 0; k < types_; ++k) {
        if (problem.jobs[j].speed[k] <= 0 || problem.gpus[k] <= 0) continue;
        add(j, k, problem.jobs[j].gpus, {{job_row(j), 1}, {row_of_speed(j), problem.jobs[j].speed[k] / best}});
      }
    }
    for (std::size_t p = 0; p < problem.pairs.size(); ++p) add_pair(p);
  }

  LinearProgram& program() { return program_; }
  int row_of_speed(std::size_t job) const { return speed_row_ + static_cast<int>(job); }

  // A variable t of which every job must get `part[j]` times its best speed; the returned column is to be maximised.
  int add_common(const std::vector<double>& part) {
    std::vector<LpEntry> entries;
    for (std::size_t j = 0; j < part.size(); ++j) entries.push_back({row_of_speed(j), -part[j]});
    common_ = program_.add_column(-1, 0, kLpInfinity, std::move(entries));
    return common_;
  }

  void set_common(const std::vector<double>& part) {
    LpColumn& column = program_.columns[static_cast<std::size_t>(common_)];
    for (std::size_t j = 0; j < part.size(); ++j) column.entries[j].value = -part[j];
  }

  // The best value of the common variable; the point is kept for shares().
  double solve_common() {
    solution_ = solve(program_, {.start = solution_.places});
    ORRERY_CHECK(solution_.status == LpStatus::kOptimal);
    return -solution_.objective;
  }

  // Which of the best points to take.
  void choose_point() {
    if (problem_.central) {
      take_centre();
    } else {
      use_rest();
    }
  }

  // Without a centre that can be computed, the point stays.
  void take_centre() {
    const LpSolution centre = solve_interior(program_);
    if (centre.status == LpStatus::kOptimal) solution_ = centre;
  }

  // Keeps the common variable at its best value and uses what that leaves free.
  void use_rest() {
    LpColumn& common = program_.columns[static_cast<std::size_t>(common_)];
    common.bounds.lower = std::max(0.0, -solution_.objective * (1 - kKept));
    common.cost = 0;
    for (std::size_t j = 0; j < problem_.jobs.size(); ++j) reward(j, 1);
    const LpSolution filled = solve(program_, {.start = solution_.places});
    // Rounding can leave no point beyond the one that is there.
    if (filled.status == LpStatus::kOptimal) solution_ = filled;
  }

  // Adds `worth` per unit of the job's speed, of its best one, to what is maximised.
  void reward(std::size_t job, double worth) {
    for (std::size_t u = 0; u < units(); ++u) {
      for (std::size_t k = 0; k < types_; ++k) reward_column(u, k, job, worth);
    }
  }

  void reward_column(std::size_t unit, std::size_t type, std::size_t job, double worth) {
    const int column = columns_[unit][type];
    if (column < 0) return;
    LpColumn& c = program_.columns[static_cast<std::size_t>(column)];
    for (const LpEntry& entry : c.entries) {
      if (entry.row == row_of_speed(job)) c.cost -= worth * entry.value;
    }
  }

  bool solve_now() {
    solution_ = solve(program_);
    return solution_.status == LpStatus::kOptimal;
  }

  Shares shares() const {
    Shares result(units(), std::vector<double>(types_, 0));
    for (std::size_t u = 0; u < units(); ++u) {
      for (std::size_t k = 0; k < types_; ++k) {
        if (columns_[u][k] < 0) continue;
        result[u][k] = std::clamp(solution_.columns[static_cast<std::size_t>(columns_[u][k])], 0.0, 1.0);
      }
    }
    return result;
  }

 private:
  std::size_t units() const { return problem_.jobs.size() + problem_.pairs.size(); }
  static int job_row(std::size_t job) { return static_cast<int>(job); }
  int type_row(std::size_t type) const { return static_cast<int>(problem_.jobs.size() + type); }

  void add(std::size_t unit, std::size_t type, int gpus, std::vector<LpEntry> entries) {
    entries.push_back({type_row(type), static_cast<double>(gpus)});
    columns_[unit][type] = program_.add_column(0, 0, kLpInfinity, std::move(entries));
  }

  void add_pair(std::size_t p) {
    const SharePair& pair = problem_.pairs[p];
    const auto first = static_cast<std::size_t>(pair.first), second = static_cast<std::size_t>(pair.second);
    const ShareJob &a = problem_.jobs[first], &b = problem_.jobs[second];
    ORRERY_CHECK(a.gpus == b.gpus);
    for (std::size_t k = 0; k < types_; ++k) {
      if (pair.first_speed[k] <= 0 || pair.second_speed[k] <= 0 || problem_.gpus[k] <= 0) continue;
      add(problem_.jobs.size() + p, k, a.gpus,
          {{job_row(first), 1},
           {job_row(second), 1},
           {row_of_speed(first), pair.first_speed[k] / best_speed(a)},
           {row_of_speed(second), pair.second_speed[k] / best_speed(b)}});
    }
  }

  const ShareProblem& problem_;
  std::size_t types_;
  LinearProgram program_;
  std::vector<std::vector<int>> columns_;  // by unit and type; -1: it does not run there
  int speed_row_ = 0;
  int common_ = -1;
  LpSolution solution_;
};

// On one type x = min(1, t weight / GPUs), with the t that uses all GPUs: water-filling, beginning with the jobs that
// need least.
Shares filled_up(const ShareProblem& problem) {
  std::vector<std::size_t> order(problem.jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto full_at = [&](std::size_t j) { return problem.jobs[j].gpus / problem.jobs[j].weight; };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return full_at(a) < full_at(b); });
  double left = problem.gpus.front(), rest = 0;  // rest: sum of weights
  for (const ShareJob& job : problem.jobs) rest += job.weight;
  Shares shares(problem.jobs.size(), std::vector<double>(1, 0));
  for (const std::size_t j : order) {
    const ShareJob& job = problem.jobs[j];
    const double level = left / rest;  // GPUs for each unit of weight of those left
    const double gpus = std::min(static_cast<double>(job.gpus), level * job.weight);
    shares[j][0] = gpus / job.gpus;
    left -= gpus;
    rest -= job.weight;
  }
  return shares;
}

// On one type x = t part at least, with the largest t that fits; what is left goes to the jobs with the fewest GPUs,
// each of which is worth as much as one with many.
Shares in_proportion(const ShareProblem& problem, const std::vector<double>& part) {
  double wanted = 0;
  for (std::size_t j = 0; j < part.size(); ++j) wanted += problem.jobs[j].gpus * part[j];
  const double most = *std::max_element(part.begin(), part.end());
  const double common = std::min(1 / most, problem.gpus.front() / wanted);
  std::vector<std::size_t> order(part.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return problem.jobs[a].gpus < problem.jobs[b].gpus; });
  double left = std::max(0.0, problem.gpus.front() - common * wanted);
  Shares shares(part.size(), std::vector<double>(1, 0));
  for (const std::size_t j : order) {
    const double due = std::min(1.0, common * part[j]);
    const double more = std::min(1 - due, left / problem.jobs[j].gpus);
    shares[j][0] = due + more;
    left -= more * problem.jobs[j].gpus;
  }
  return shares;
}

}  // namespace

Shares max_min_shares(const ShareProblem& problem) {
  if (problem.jobs.empty()) return {};
  if (problem.gpus.size() == 1 && problem.pairs.empty() && !problem.central) return filled_up(problem);
  double all_gpus = 0;
  for (const double gpus : problem.gpus) all_gpus += gpus;
  std::vector<double> part;
  for (const ShareJob& job : problem.jobs) {
    double spread = 0;  // its speed with its time on the types like the GPUs are
    for (std::size_t k = 0; k < problem.gpus.size(); ++k) spread += job.speed[k] * problem.gpus[k] / all_gpus;
    part.push_back(job.weight * spread / (job.gpus * best_speed(job)));
  }
  ShareProgram program(problem);
  program.add_common(part);
  program.solve_common();
  program.choose_point();
  return program.shares();
}

Shares makespan_shares(const ShareProblem& problem) {
  if (problem.jobs.empty()) return {};
  double longest_s = 0;
  for (const ShareJob& job : problem.jobs) longest_s = std::max(longest_s, job.left / best_speed(job));
  std::vector<double> part;
  for (const ShareJob& job : problem.jobs) part.push_back(job.left / best_speed(job) / std::max(longest_s, 1e-9));
  const bool is_easy = problem.gpus.size() == 1 && problem.pairs.empty() && !problem.central && longest_s > 0;
  if (is_easy) return in_proportion(problem, part);
  ShareProgram program(problem);
  program.add_common(part);
  program.solve_common();
  program.choose_point();
  return program.shares();
}

Shares finish_time_shares(const ShareProblem& problem) {
  if (problem.jobs.empty()) return {};
  const std::vector<double> equal = speeds_with(problem, isolated_shares(problem));
  const std::size_t count = problem.jobs.size();
  std::vector<double> alone_s(count), isolated_s(count), part(count);
  double low = 0;
  for (std::size_t j = 0; j < count; ++j) {
    const ShareJob& job = problem.jobs[j];
    alone_s[j] = job.left / best_speed(job);
    isolated_s[j] = job.isolated_s + job.left / equal[j];
    low = std::max(low, (job.age_s + alone_s[j]) / isolated_s[j]);
  }
  // The part of its best speed that each job needs for the ratio; above `low` at most 1.
  const auto set_parts = [&](double ratio) {
    for (std::size_t j = 0; j < count; ++j) {
      part[j] = alone_s[j] / std::max(ratio * isolated_s[j] - problem.jobs[j].age_s, alone_s[j]);
    }
  };
  ShareProgram program(problem);
  set_parts(low);
  program.add_common(part);
  const auto is_possible = [&](double ratio) {
    set_parts(ratio);
    program.set_common(part);
    return program.solve_common() >= 1 - kKept;
  };
  if (!is_possible(low)) {
    double high = 2 * low;
    while (!is_possible(high)) {
      low = high;
      high *= 2;
    }
    while (high - low > kRatioPrecision * high) {
      const double middle = (low + high) / 2;
      (is_possible(middle) ? high : low) = middle;
    }
    is_possible(high);
  }
  if (!problem.central) {
    program.use_rest();
    return program.shares();
  }
  ShareProgram inside(problem);
  for (std::size_t j = 0; j < count; ++j) {
    inside.program().rows[static_cast<std::size_t>(inside.row_of_speed(j))].lower = part[j] * (1 - kRatioPrecision);
  }
  ORRERY_CHECK(inside.solve_now());
  inside.take_centre();
  return inside.shares();
}

Shares throughput_shares(const ShareProblem& problem) {
  if (problem.jobs.empty()) return {};
  ShareProgram program(problem);
  // As costs of columns, because the price is one of the type.
  double most = 0;
  for (const ShareJob& job : problem.jobs) most = std::max(most, best_speed(job));
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    const double worth = best_speed(problem.jobs[j]) / most;
    for (std::size_t u = 0; u < problem.jobs.size() + problem.pairs.size(); ++u) {
      for (std::size_t k = 0; k < problem.gpus.size(); ++k) {
        program.reward_column(u, k, j, problem.price.empty() ? worth : worth / problem.price[k]);
      }
    }
  }
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    const ShareJob& job = problem.jobs[j];
    if (std::isinf(job.deadline_in_s)) continue;
    const double needed = job.left / best_speed(job) / std::max(job.deadline_in_s, 1e-9);
    program.program().rows[static_cast<std::size_t>(program.row_of_speed(j))].lower = std::min(needed, 2.0);
  }
  if (!program.solve_now()) {
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
      program.program().rows[static_cast<std::size_t>(program.row_of_speed(j))].lower = 0;
    }
    ORRERY_CHECK(program.solve_now());
  }
  if (problem.central) program.take_centre();
  return program.shares();
}

Shares isolated_shares(const ShareProblem& problem) {
  Shares shares(problem.jobs.size() + problem.pairs.size(), std::vector<double>(problem.gpus.size(), 0));
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    double sum = 0;
    for (std::size_t k = 0; k < problem.gpus.size(); ++k) {
      shares[j][k] = problem.gpus[k] / static_cast<double>(problem.jobs.size()) / problem.jobs[j].gpus;
      sum += shares[j][k];
    }
    for (double& share : shares[j]) share /= std::max(1.0, sum);
  }
  return shares;
}

std::vector<double> speeds_with(const ShareProblem& problem, const Shares& shares) {
  std::vector<double> speeds(problem.jobs.size(), 0);
  for (std::size_t k = 0; k < problem.gpus.size(); ++k) {
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) speeds[j] += problem.jobs[j].speed[k] * shares[j][k];
    for (std::size_t p = 0; p < problem.pairs.size(); ++p) {
      const SharePair& pair = problem.pairs[p];
      const double share = shares[problem.jobs.size() + p][k];
      speeds[static_cast<std::size_t>(pair.first)] += pair.first_speed[k] * share;
      speeds[static_cast<std::size_t>(pair.second)] += pair.second_speed[k] * share;
    }
  }
  return speeds;
}

}  // namespace orrery::schedule
