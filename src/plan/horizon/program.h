#pragma once
// The cheapest schedule as an integer program. Tasks that are alike (the same configurations at the same costs) are
// one:
//
//   z_jmk ∈ {0 … how many}   tasks of kind j start mode m in period k
//   p_vct ∈ {0, 1, …}        machines of type v cut by partition c in period t (partitions.h)
//
//   minimise  Σ machine_vt·p_vct + Σ (usd_jmk − left out)·z_jmk  (+ left out · tasks)
//   Σ_mk z_jmk ≤ how many                                   for every kind of task
//   Σ over configurations that are there in t of machines·z ≤ Σ_c a_cg·p_vct   for every part (v, g) and period t
//   Σ_vc p_vct ≤ N, Σ_c p_vct ≤ max_v, Σ G_v·p_vct ≤ quota  for every period
//   Σ budget_vt·p_vct + Σ busy·z_jmk ≤ most                 for every budget

#include <functional>

#include "plan/horizon/cost.h"
#include "plan/milp.h"
#include "plan/partitions.h"

namespace orrery::plan::horizon {

// Columns above this are not worth a solver's time.
inline constexpr std::size_t kColumnsMax = 150'000;

class Program {
 public:
  // Only configurations that `open` accepts become columns.
  Program(const Problem& problem, const Configurations& configurations,
          const std::function<bool(std::size_t, const Start&)>& open);

  const Milp& milp() const { return milp_; }
  double constant_usd() const { return constant_usd_; }

  // The schedule of a solution; nothing if the values do not fit together.
  std::optional<Schedule> schedule_of(const std::vector<double>& values) const;

 private:
  struct ConfigurationColumn {
    std::size_t kind;
    Start start;
  };
  struct CutColumn {
    std::size_t vm;
    int period;
    const Partition* parts;
  };

  void find_kinds();
  bool alike(std::size_t a, std::size_t b) const;
  void add_rows();
  void add_configurations(const std::function<bool(std::size_t, const Start&)>& open);
  void add_cuts();
  std::size_t part_row(std::size_t vm, int gpus, int period) const;
  std::vector<Node> nodes_at(int period, const std::vector<std::optional<Start>>& starts,
                             const std::vector<double>& values, bool& fits) const;

  const Problem& problem_;
  const Configurations& configurations_;
  Milp milp_;
  double constant_usd_ = 0;
  std::vector<std::vector<std::size_t>> kinds_;     // tasks that are alike
  std::vector<std::vector<Partition>> partitions_;  // by VM type
  std::size_t first_part_row_ = 0;
  std::vector<std::size_t> first_part_;  // by VM type, in parts of one period
  std::size_t parts_ = 0;                // of one period
  std::vector<std::size_t> budget_rows_;
  std::vector<ConfigurationColumn> configuration_columns_;  // the first columns
  std::vector<CutColumn> cut_columns_;                      // the others
};

}  // namespace orrery::plan::horizon
