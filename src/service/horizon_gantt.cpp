#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "base/plot/plots.h"
#include "service/horizon_report.h"

namespace orrery::service {

namespace {

constexpr std::size_t kRowsMax = 60;

// A machine of the picture, with the jobs it has in the period that was drawn last.
struct Row {
  std::size_t vm = 0;
  std::vector<plan::RunningJob> jobs{};
  bool taken = false;
  plot::GanttRow picture{};
};

// Of the rows of that type that are not taken the one that has most of the node's jobs already; a new one if there is
// none.
Row& row_for(std::vector<Row>& rows, const plan::horizon::Problem& problem, const plan::Node& node) {
  Row* best = nullptr;
  int most = -1;
  for (Row& row : rows) {
    if (row.vm != node.vm || row.taken) continue;
    int common = 0;
    for (const plan::RunningJob& one : node.jobs)
      common += std::find(row.jobs.begin(), row.jobs.end(), one) != row.jobs.end() ? 1 : 0;
    if (common <= most) continue;
    most = common;
    best = &row;
  }
  if (best != nullptr) return *best;
  rows.push_back({node.vm, {}, false, {problem.vm_types[node.vm].name, {}}});
  return rows.back();
}

// The job from the period's border until the next, or its end; one slice with what came before.
void draw(const PlannedHorizon& run, int period, const plan::RunningJob& one, std::size_t kind, Row& row) {
  const plan::horizon::Problem& problem = run.problem;
  const plan::horizon::Start& start = *run.report.schedule.starts[one.job];
  const double end = end_s(problem, problem.tasks[one.job].modes[start.mode], start.period) / 3600;
  const double from = period * problem.period_s / 3600, to = std::min(end, from + problem.period_s / 3600);
  for (plot::GanttSlice& slice : row.picture.slices) {
    if (slice.label != problem.tasks[one.job].id || std::abs(slice.end - from) > 1e-6) continue;
    slice.end = to;
    return;
  }
  row.picture.slices.push_back({from, to, kind, problem.tasks[one.job].id});
}

}  // namespace

std::string to_gantt(const PlannedHorizon& run) {
  plot::GanttPlot figure;
  figure.heading.title = "Jobs on rented machines";
  figure.heading.subtitle = "By period; the colour says how many GPUs of the machine";
  figure.x.unit = "h";
  std::map<int, std::size_t> kinds;
  for (const auto& nodes : run.report.schedule.nodes)
    for (const plan::Node& node : nodes)
      for (const plan::RunningJob& one : node.jobs) kinds.emplace(one.gpus, 0);
  for (auto& [gpus, kind] : kinds) {
    kind = figure.kinds.size();
    figure.kinds.push_back(fmt::format("{} {}", gpus, gpus == 1 ? "GPU" : "GPUs"));
  }
  std::vector<Row> rows;
  for (int t = 0; t < run.problem.periods; ++t) {
    for (Row& row : rows) row.taken = false;
    for (const plan::Node& node : run.report.schedule.nodes[static_cast<std::size_t>(t)]) {
      Row& row = row_for(rows, run.problem, node);
      row.taken = true;
      row.jobs = node.jobs;
      for (const plan::RunningJob& one : node.jobs) draw(run, t, one, kinds[one.gpus], row);
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.vm < b.vm; });
  for (std::size_t i = 0; i < std::min(rows.size(), kRowsMax); ++i) figure.rows.push_back(std::move(rows[i].picture));
  return plot::gantt_plot(figure);
}

}  // namespace orrery::service
