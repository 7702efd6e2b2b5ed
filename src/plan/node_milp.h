#pragma once
// The cheapest plan as an integer program that knows every node, as the published line writes it:
//
//   y_nv ∈ {0, 1}    node n is of type v
//   x_jns ∈ {0, 1}   job j runs on node n in a slot of kind s (VM type v, g GPUs)
//
//   minimise  Σ node_v y_nv + Σ (job_js − postponed_j) x_jns  (+ Σ postponed_j)
//   Σ_v y_nv ≤ 1 for every n;  Σ_ns x_jns ≤ 1 for every j;  Σ_js g·x_jns ≤ G_v·y_nv for every n and v;
//   Σ_n y_nv ≤ max_v for every v;  first_end: Σ x ≥ running_min; one of the jobs that end at θ runs
//
// Columns: nodes · (types + jobs · slots), so only small cases can be solved. It shares nothing with pattern_milp.h but
// the costs, so each can check the other.

#include <optional>
#include <span>

#include "plan/linear_costs.h"
#include "plan/milp.h"

namespace orrery::plan {

inline constexpr std::size_t kNodeMilpColumnsMax = 200'000;

class NodeMilp {
 public:
  // Nothing if it would have more than kNodeMilpColumnsMax columns. `costs` is borrowed.
  static std::optional<NodeMilp> make(const LinearCosts& costs);

  const Milp& milp() const { return milp_; }
  // The constant of the objective that the program leaves out: all jobs postponed.
  double constant_usd() const { return constant_usd_; }
  // The plan of a solution; nodes without jobs are left out.
  Plan plan_of(std::span<const double> values) const;

 private:
  explicit NodeMilp(const LinearCosts& costs);
  void add_node(int node);

  struct Run {
    int node;
    std::size_t job, slot;
  };

  const LinearCosts* costs_;
  Milp milp_;
  double constant_usd_ = 0;
  std::vector<std::size_t> job_rows_, type_rows_;
  std::optional<std::size_t> running_row_, one_of_row_;
  std::vector<std::optional<Run>> runs_;  // by column; nothing for y
};

}  // namespace orrery::plan
