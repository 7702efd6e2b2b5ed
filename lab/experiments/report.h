#pragma once
// What a named experiment gives: tables, figures, and whether its numbers agree with what was published.

#include <string>
#include <vector>

#include "base/table.h"
#include "lab/lab.h"

namespace orrery::lab {

// A published claim beside what we got. `agrees` is computed from the figures, never written down.
struct Finding {
  std::string claim;
  bool agrees = false;
  std::string ours;  // the figures behind it, and why they differ
};

struct ReportTable {
  std::string key;    // in JSON
  std::string title;  // for people
  Table table;
};

struct ExperimentFigure {
  std::string file;  // "optimus-errors.svg"
  std::string svg;
};

struct ExperimentReport {
  std::vector<ReportTable> tables{};
  std::vector<ExperimentFigure> figures{};
  std::vector<Finding> findings{};

  std::string to_text() const;
  std::string to_json() const;
};

}  // namespace orrery::lab
