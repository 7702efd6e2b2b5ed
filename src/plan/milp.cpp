#include "plan/milp.h"

#include <fmt/format.h>
#include <iterator>

namespace orrery::plan {

std::string to_mps(const Milp& milp, double scale) {
  std::string text = "NAME plan FREE\nROWS\n N cost\n";
  auto out = std::back_inserter(text);
  for (std::size_t i = 0; i < milp.rows.size(); ++i)
    fmt::format_to(out, " {} r{}\n", milp.rows[i].sense == RowSense::kAtMost ? 'L' : 'G', i);
  text += "COLUMNS\n m0 'MARKER' 'INTORG'\n";
  for (std::size_t i = 0; i < milp.columns.size(); ++i) {
    fmt::format_to(out, " c{} cost {:.17g}\n", i, milp.columns[i].cost * scale);
    for (const auto& [row, value] : milp.columns[i].entries) fmt::format_to(out, " c{} r{} {:.17g}\n", i, row, value);
  }
  text += " m1 'MARKER' 'INTEND'\nRHS\n";
  for (std::size_t i = 0; i < milp.rows.size(); ++i)
    if (milp.rows[i].right != 0) fmt::format_to(out, " right r{} {:.17g}\n", i, milp.rows[i].right);
  text += "BOUNDS\n";
  for (std::size_t i = 0; i < milp.columns.size(); ++i)
    fmt::format_to(out, " UP bound c{} {:.17g}\n", i, milp.columns[i].upper);
  text += "ENDATA\n";
  return text;
}

}  // namespace orrery::plan
