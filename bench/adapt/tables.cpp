// Figures of what other benchmarks print: each is run, and its table is drawn.

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <sstream>

#include "adapt/experiments.h"
#include "base/plot/plots.h"
#include "base/text.h"

namespace orrery::bench {

namespace {

struct Printed {
  std::vector<std::vector<std::string>> rows{};  // of its table, without the heading
  bool met = false;
};

// Shows what it prints, too.
Result<Printed> run_other(const Bench& bench, const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {beside_this_program(program)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  ORRERY_TRY(auto process, bench.env.processes.spawn({.argv = words, .output = env::Output::kCapture}));
  ORRERY_TRY(const auto exit, process->wait(Seconds(1800)));
  if (!exit) return Error::unavailable(program + " is late");
  bench.say(process->standard_output());
  Printed printed{.met = exit->ok()};
  std::istringstream lines(process->standard_output());
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| ")) continue;
    std::vector<std::string> cells;
    for (const std::string_view cell : split(std::string_view(line).substr(1), '|')) cells.emplace_back(trim(cell));
    printed.rows.push_back(std::move(cells));
  }
  if (printed.rows.size() < 2) return Error::unavailable(program + " printed no table: " + process->standard_error());
  printed.rows.erase(printed.rows.begin());
  return printed;
}

double number(std::string_view cell) {
  double value = 0;
  std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return value;
}

}  // namespace

Result<bool> resizing(const Bench& bench) {
  ORRERY_TRY(const Printed printed, run_other(bench, "bench_elastic_resize", {}));
  plot::BarPlot figure{.heading = {.title = "Changing the number of workers",
                                   .subtitle = "time between two steps: medians, and the ninth of ten"},
                       .y = {.title = "time", .unit = "ms", .log = true, .minimum = 0.1},
                       .value_labels = true};
  plot::BarSeries series{.name = "time between two steps"};
  for (const auto& row : printed.rows) {
    if (row[0].find("request") != std::string::npos) continue;
    figure.groups.push_back(row[0].starts_with("torchrun") ? "torchrun" : row[0].substr(0, row[0].find(" workers")));
    series.values.push_back(number(row[2]));
    series.error.push_back({.low = number(row[2]), .high = number(row[3])});
  }
  figure.series.push_back(std::move(series));
  ORRERY_TRY_VOID(bench.draw("resizing", plot::bar_plot(figure)));
  return printed.met;
}

Result<bool> monitoring(const Bench& bench) {
  ORRERY_TRY(const Printed printed, run_other(bench, "bench_monitoring", {}));
  constexpr double kPublished = 4.6;  // KungFu, OSDI'20: the noise scale
  plot::BarPlot figure{.heading = {.title = "What watching gradients costs a step",
                                   .subtitle = "medians, and where nine of ten medians lie; KungFu published 4.6 %"},
                       .y = {.title = "longer", .unit = "%", .from_zero = true, .maximum = kPublished},
                       .value_labels = true};
  plot::BarSeries series{.name = "measured"};
  for (const auto& row : printed.rows) {
    figure.groups.push_back(row[0] + ", " + row[1]);
    series.values.push_back(number(row[3]));
    const std::string& interval = row[4];
    series.error.push_back(
        {.low = number(interval), .high = number(std::string_view(interval).substr(interval.find("to ") + 3))});
  }
  figure.series.push_back(std::move(series));
  ORRERY_TRY_VOID(bench.draw("monitoring", plot::bar_plot(figure)));
  return printed.met;
}

Result<bool> all_reduces(const Bench& bench) {
  ORRERY_TRY(const Printed printed, run_other(bench, "bench_elastic", {}));
  for (const std::string other : {"Open MPI", "Gloo ring"}) {
    plot::RatioMap figure{.heading = {.title = fmt::format("All-reduces on one host beside {}", other),
                                      .subtitle = "how many times as long the other takes; two cores"},
                          .x_title = "tensors"};
    for (const auto& row : printed.rows) {
      if (row[2] == "TCP" || row[3] != other) continue;
      if (std::ranges::find(figure.columns, row[1]) == figure.columns.end()) figure.columns.push_back(row[1]);
      const std::string name = fmt::format("{} ranks, {}", row[0], row[2]);
      auto line = std::ranges::find(figure.rows, name, &plot::RatioRow::name);
      if (line == figure.rows.end()) line = figure.rows.insert(line, {.name = name});
      line->values.push_back(number(row[6]));
    }
    ORRERY_TRY_VOID(
        bench.draw(other == "Open MPI" ? "all-reduce-openmpi" : "all-reduce-gloo", plot::ratio_map(figure)));
  }
  return printed.met;
}

}  // namespace orrery::bench
