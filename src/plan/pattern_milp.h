#pragma once
// The cheapest plan as an integer program in which nodes are interchangeable (docs/reference/planning.md):
//
//   x_js ∈ {0, 1}   job j runs in a slot of kind s (VM type v, g GPUs)
//   p_vk ∈ {0, 1…}  nodes of type v cut by partition k, with a_kg parts of g GPUs
//
//   minimise  Σ node_v p_vk + Σ (job_js − postponed_j) x_js  (+ Σ postponed_j)
//   Σ_s x_js ≤ 1 for every j;  Σ_j x_js ≤ Σ_k a_kg p_vk for every s;  Σ_k p_vk ≤ max_v;  Σ p_vk ≤ nodes
//   Σ G_v p_vk ≤ gpus for every quota and the types in it;  Σ node_v p_vk + Σ rent_js x_js ≤ budget
//   first_end: Σ x ≥ running_min; one of the jobs that end at θ runs
//
// Machines with pinned jobs are not in p: their free GPUs have columns of their own, partitions of that many GPUs,
// which cost nothing and give parts of the same slots.
//
// A job on m machines has a column that takes m parts of all GPUs of a type, which are whole machines.
//
// Rows: jobs + slots + types; columns: at most jobs · slots + partitions. Neither grows with the number of nodes.

#include <optional>
#include <span>

#include "plan/linear_costs.h"
#include "plan/milp.h"
#include "plan/partitions.h"

namespace orrery::plan {

class PatternMilp {
 public:
  // Only entries of costs.job_usd that are marked in `open` become columns; all that can help if it is empty.
  explicit PatternMilp(const LinearCosts& costs, const std::vector<bool>& open = {});

  const Milp& milp() const { return milp_; }
  // The constant of the objective that the program leaves out: all jobs postponed.
  double constant_usd() const { return constant_usd_; }

  // The plan of a solution: nodes in the order of types and partitions, jobs in their order. Nodes without jobs are
  // left out. No value if the values do not fit together.
  std::optional<Plan> plan_of(std::span<const double> values) const;

 private:
  struct Cut {
    std::size_t vm;
    Partition parts;
    std::vector<std::size_t> kept{};  // the machines it is of; empty: new ones
  };
  void add_nodes();
  std::vector<std::vector<std::size_t>> add_quotas();
  void add_kept();
  void add_cut(Cut cut, MilpColumn column);
  void add_jobs(const std::vector<bool>& open);
  void add_spreads();

  const LinearCosts& costs_;
  Milp milp_;
  double constant_usd_ = 0;
  std::size_t first_slot_row_ = 0;
  std::optional<std::size_t> budget_row_;
  std::vector<Cut> cuts_;             // the first columns
  std::vector<std::size_t> entries_;  // the next: where in costs_.job_usd
  std::vector<std::size_t> spreads_;  // the last: where in costs_.spreads
};

}  // namespace orrery::plan
