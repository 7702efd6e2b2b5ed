#pragma once
// How good predictions of times were, by group, in a form every suite of measurements shares.
//
// JSON of a report: {"suite", "seed", "groups": [row…], "notes": [text…]}; a row has "group" and
//
//   mre         mean of |predicted − measured| / measured, a fraction (0.05 is 5 %)
//   rmse_ms     root of the mean squared error, milliseconds
//   median      of |predicted − measured| / measured
//   p90         its 90th percentile
//   coverage80  share of cases inside their 80 % interval; null if none has one
//   flagged     share of cases that were flagged as outside of what was learned; null if the suite's models cannot tell
//   cases       how many
//   seconds     the time it took to fit and predict, where it was measured for the group; else of the whole suite
//   published, published_by   the error someone else published for the same task, if any
//
// and what the suite measures beside these, by its own names.
//
// The row called "all" is over the cases of every group.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/table.h"
#include "lab/lab.h"

namespace orrery::lab {

// Times in milliseconds. Without an interval low and high are NaN.
struct Case {
  std::string group{};
  double measured = 0, predicted = 0;
  double low = 0, high = 0;
  std::optional<bool> in_domain{};  // near what was trained on; empty: the model cannot tell
};

struct Score {
  double mre = 0, rmse_ms = 0, median = 0, p90 = 0;
  double coverage80 = 0;  // NaN: no case has an interval
  double flagged = 0;     // share of cases outside the domain; NaN: no model can tell
  std::size_t cases = 0;
  double seconds = 0;
};

// Of cases whose measured time is positive; zero cases give zeros.
Score score_of(std::span<const Case> cases, double seconds = 0);

struct ReportRow {
  std::string group;
  Score score;
  std::optional<double> published{};  // a fraction, like mre
  std::string published_by{};
  std::vector<std::pair<std::string, double>> more{};  // figures of the suite's own, by name
};

// A picture of a suite's own, where predicted against measured says too little.
struct ReportFigure {
  std::string name;  // part of the file's name
  std::string svg;
};

struct SuiteReport {
  std::string suite;
  std::uint64_t seed = 0;
  std::vector<ReportRow> rows{};
  std::vector<std::string> notes{};
  std::vector<Case> cases{};            // what the rows summarise, for plots
  std::vector<ReportFigure> figures{};  // empty: to_svg draws the cases

  // One row per group of `more`, in the order they come, and keeps the cases.
  void add(std::span<const Case> more, double seconds);
  // The row called "all"; call it last.
  void add_total(double seconds);
  // Sets the figure someone else published for a group, if the report has it.
  void publish(std::string_view group, double error, const std::string& by);
  const ReportRow* find(std::string_view group) const;
  // The names of all rows' own figures, in the order they first come.
  std::vector<std::string> more_names() const;
};

Table to_table(const SuiteReport& report);
std::string to_json(const SuiteReport& report);
std::string to_markdown(const SuiteReport& report);
// Predicted against measured on logarithmic axes, one colour per group; of very many cases every n-th.
std::string to_svg(const SuiteReport& report);

}  // namespace orrery::lab
