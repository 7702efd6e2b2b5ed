#pragma once
// Gavel (OSDI'20), first half: which share of its time a job, or a pair of jobs that share GPUs, should have on each
// type of GPU.
//
// Assumes: speeds on every type are known, also of pairs; time on a type can be divided at will.
// A unit is a job or a pair; x[unit][type] is its share. Speed of job j: v_j = sum over its units and types of
// speed x share. For all policies: shares of the units of a job add up to at most 1, GPUs x share of the units on a
// type to at most the GPUs there are. Pairs are of jobs with as many GPUs, and count them once.
//   max-min      max min over j of GPUs_j v_j / (weight_j x its speed if its time were spread over types like GPUs are)
//   finish-time  min max over j of (age_j + left_j / v_j) / (the same sum if all jobs had equal shares): bisection on
//                the ratio r; one linear program each: v_j >= t left_j / (r isolated_j - age_j), max t
//   makespan     max t with v_j >= t left_j: all jobs end by 1 / t; on one type without pairs in closed form
//   throughput   max sum of v_j / price of the type, with v_j >= left_j / (time to the deadline) for jobs that have
//                a deadline; without these rows if no such point exists
//   isolated     an equal share: GPUs of the type / jobs / GPUs of the job, at most 1 in sum
// Of the points that are best all policies take one that is best for the sum of v_j / (its speed alone), so that what
// the objective leaves free is used. Source: Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies" (OSDI
// 2020), sections 3 and 4.

#include <limits>
#include <vector>

#include "schedule/lp/linear_program.h"

namespace orrery::schedule {

struct ShareJob {
  std::vector<double> speed{};  // alone, by type: work per second; 0: it does not run there
  int gpus = 1;
  double weight = 1;      // of max-min: one with 2 gets twice as much as one with 1
  double age_s = 0;       // since it was submitted
  double left = 0;        // work
  double isolated_s = 0;  // what its work so far would have taken with equal shares
  double deadline_in_s = std::numeric_limits<double>::infinity();
};

struct SharePair {
  int first = 0, second = 0;                          // jobs with as many GPUs
  std::vector<double> first_speed{}, second_speed{};  // by type; 0: they do not fit there together
};

struct ShareProblem {
  std::vector<double> gpus{};   // by type
  std::vector<double> price{};  // by type, of throughput; empty: all the same
  std::vector<ShareJob> jobs{};
  std::vector<SharePair> pairs{};
  bool central = false;
};

// By unit, then by type: first the jobs, then the pairs.
using Shares = std::vector<std::vector<double>>;

Shares max_min_shares(const ShareProblem& problem);
Shares finish_time_shares(const ShareProblem& problem);
Shares makespan_shares(const ShareProblem& problem);
Shares throughput_shares(const ShareProblem& problem);
Shares isolated_shares(const ShareProblem& problem);

// The speed of each job with these shares.
std::vector<double> speeds_with(const ShareProblem& problem, const Shares& shares);

}  // namespace orrery::schedule
