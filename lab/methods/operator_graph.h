#pragma once
// Reads operator graphs: one row per node with the operators it runs, as nested lists of names and sizes.
//
//   Name, OpName, FwOps, BwOps, AccOps, InputShapes, OutputShape
//   transformer_h_0_attn_c_attn, Linear, "[['Linear', (4096, 1280, 3840)]]", …
//
// A graph may hold one transformer layer for all: rows from the first named after layer 0 to the last, and the
// additions and views that follow it, repeat as often as the model has layers. A graph that names layer 1 is written
// out whole.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lab/lab.h"

namespace orrery::lab {

enum class GraphPhase { kForward, kBackward, kAccumulate };

struct GraphOperator {
  std::string name;                         // "Linear", "BMM", "VECadd", "MEM", "ALLREDUCE"…
  std::vector<std::vector<double>> shapes;  // one for sizes, several for tensors that are moved
  GraphPhase phase = GraphPhase::kForward;
  double repeats = 1;
};

// `layers`: how often the layer repeats.
Result<std::vector<GraphOperator>> parse_operator_graph(std::string_view csv, double layers);

// Nested lists and tuples of whole numbers and quoted names: "[['MEM', ((1,), (4, 8))], ['BMM', (8, 2, 3, 4)]]".
Result<std::vector<GraphOperator>> parse_operator_list(std::string_view text, GraphPhase phase);
// "[(4, 1024), (1,)]" or "(4, 1024)".
Result<std::vector<std::vector<double>>> parse_shapes(std::string_view text);

}  // namespace orrery::lab
