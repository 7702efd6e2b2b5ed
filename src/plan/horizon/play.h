#pragma once
// Simulated horizons: tasks come at random and take longer or shorter than predicted.
//
// One scenario
//   1. Tasks of every forecast come as a Poisson process; every task has one z from N(0, 1), and takes the time its
//      prediction has at z (likely.h), in whatever mode it runs.
//   2. At every border of periods at which something is new (a task has come, has ended, or has not ended when it was
//      expected to) everything that has not started is scheduled anew (search.h) by the times that are counted with;
//      running tasks stay. Tasks of forecasts are known from their submission on, others from the start.
//      In large problems only modes that are not beaten in both time and mean price (modes.h) are considered.
//   3. Tasks that are to start now do. Machines are rented for the period, as many as the parts on them need.
//
// Budgets are not kept, but counted. The bound of a scenario is that of a planner that knows what comes and how long it
// takes; no policy is cheaper. The same seed gives the same scenarios.

#include <cstdint>

#include "plan/horizon/problem.h"

namespace orrery::plan::horizon {

inline constexpr std::size_t kArrivalsMax = 500;  // of one scenario; later ones are left out, and counted

struct Forecast {
  Task task;  // submit_s 0: due_s is after submission
  double per_h = 0;
  double from_s = 0, until_s = 0;
};

struct PlayOptions {
  int scenarios = 40;
  std::uint64_t seed = 1;
  int rounds = 150;        // of each search
  int bound_rounds = 150;  // fewer for large scenarios; 0: no bound
};

// Mean, and the interval that holds 80 % of the scenarios.
struct Spread {
  double mean = 0, low = 0, high = 0;
};

struct Outlook {
  Spread total_usd, machines_usd, tardiness_usd;
  double bound_usd = 0;                // mean over scenarios
  std::vector<double> met;             // by task: share of scenarios in which it ended when it was due, or earlier
  std::vector<double> forecast_met;    // by forecast: share of its tasks
  std::vector<double> forecast_tasks;  // by forecast: mean number
  std::vector<std::vector<Spread>> machines;  // by period and VM type
  std::vector<double> budgets_kept;           // by budget: share of scenarios
  std::size_t unfinished = 0;                 // tasks that had not ended when the problem's periods had
  std::size_t left_out = 0;                   // above kArrivalsMax
};

// The problem has as many periods as may be needed to end late tasks; budgets and tariffs are for all of them.
// Precondition: no task must keep its due date (Task::missed_usd is the cost of missing it).
Outlook play(const Problem& problem, const std::vector<Forecast>& forecasts, const PlayOptions& options);

}  // namespace orrery::plan::horizon
