#pragma once
// Renting over time: a horizon of P periods of Δ seconds. Machines are rented and given back at the borders of periods;
// a task, once started at a border, runs to its end on the kind of part it began on.
//
//   a configuration  is a mode (VM type v, g GPUs of each of m machines, time t) and the period k it starts in; the
//                    task is there in the periods k … k + ⌈t/Δ⌉ − 1 and ends at k·Δ + t
//   it costs         Σ busy_vt·g·m·(seconds in period t) + w·max(0, end − due) + what missing the due date costs
//   a machine        costs machine_vt in every period it is rented, used or not
//
// Tasks on several machines (m > 1) have all GPUs of each. Machines of a type are interchangeable: at a border a task
// may move to another machine of its type, which costs nothing.

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "plan/instance.h"
#include "plan/plan.h"
#include "predict/prediction.h"

namespace orrery::plan::horizon {

inline constexpr int kPeriodsMax = 1000;
inline constexpr std::size_t kTasksMax = 2000;
inline constexpr double kConfigurationsMax = 2e7;  // tasks · modes · periods
inline constexpr double kNever = std::numeric_limits<double>::infinity();

// What machines cost, or consume, by [VM type · periods + period].
struct Tariff {
  std::vector<double> machine;     // one of them for the whole period
  std::vector<double> busy_gpu_s;  // more for each second that one GPU works
};

// No more than `most` of what the tariff counts, over the whole horizon.
struct Budget {
  std::string name;  // with its unit: "budget_usd"
  Tariff tariff;
  double most = 0;
};

struct Mode {
  std::size_t vm = 0;
  int gpus = 1;  // of each machine
  int machines = 1;
  double time_s = 0;                     // that is counted with: at the certainty asked for
  predict::Estimate<double> likely_s{};  // as predicted
};

struct Task {
  std::string id;
  double submit_s = 0;
  double due_s = kNever;
  double weight_usd_s = 0;  // of tardiness
  double missed_usd = 0;    // of any tardiness at all
  bool must = false;        // no configuration may end after the task is due
  bool runs = false;        // already: it has one mode and starts in period 0
  std::vector<Mode> modes;
};

struct Problem {
  int periods = 1;
  double period_s = 3600;
  int nodes = 1;  // that may be rented at once
  std::vector<VmType> vm_types;
  std::vector<Quota> quotas{};
  Tariff tariff;
  std::vector<Budget> budgets{};
  std::vector<Task> tasks;

  double end_s() const { return periods * period_s; }
  std::size_t at(std::size_t vm, int period) const {
    return vm * static_cast<std::size_t>(periods) + static_cast<std::size_t>(period);
  }
};

struct Start {
  std::size_t mode = 0;
  int period = 0;

  friend bool operator==(const Start&, const Start&) = default;
};

// When and how each task starts; a task without a start is left out.
struct Schedule {
  std::vector<std::optional<Start>> starts;  // by task
  std::vector<std::vector<Node>> nodes{};    // by period: the machines that are rented and the tasks on them
};

// The same tasks in one order that does not depend on how they were listed.
void put_in_order(std::vector<Task>& tasks);

// Periods a mode is there for.
int length(const Problem& problem, const Mode& mode);
// The first period a task can start in.
int first_period(const Problem& problem, const Task& task);
double end_s(const Problem& problem, const Mode& mode, int start);
double tardiness_usd(const Problem& problem, const Task& task, const Mode& mode, int start);
// Of GPUs at work: Σ busy over the periods of the configuration.
double busy_of(const Problem& problem, const Tariff& tariff, const Mode& mode, int start);

// The cost of every configuration, machines not included.
class Configurations {
 public:
  explicit Configurations(const Problem& problem);

  // kNever: no configuration. Precondition: the task has that mode, the start is within the horizon.
  double usd(std::size_t task, std::size_t mode, int start) const {
    return usd_[first_[task] + mode * periods_ + static_cast<std::size_t>(start)];
  }
  int length(std::size_t task, std::size_t mode) const { return lengths_[first_[task] / periods_ + mode]; }
  // What leaving a task out counts as: more than all tasks in their dearest configurations.
  double left_out_usd() const { return left_out_usd_; }

 private:
  std::size_t periods_;
  std::vector<std::size_t> first_;  // by task
  std::vector<double> usd_;
  std::vector<int> lengths_;
  double left_out_usd_ = 1;
};

}  // namespace orrery::plan::horizon
