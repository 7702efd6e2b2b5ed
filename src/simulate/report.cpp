#include "simulate/report.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/plot/plots.h"
#include "base/text.h"

namespace orrery::simulate {

namespace {

constexpr std::size_t kCurvePoints = 300;
constexpr double kDayS = 86'400;

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else {
      result += c;
    }
  }
  return result;
}

// Use over time, averaged over equal parts of the run so that the line stays readable.
std::vector<plot::Point> over_time(const RunResult& run, std::int32_t UsePoint::*value, double scale) {
  std::vector<plot::Point> points;
  if (run.use.empty() || run.makespan_ns == 0) return points;
  const double width = static_cast<double>(run.makespan_ns) / kCurvePoints;
  std::size_t at = 0;
  double current = 0;
  for (std::size_t part = 0; part < kCurvePoints; ++part) {
    const double begin = width * static_cast<double>(part), end = begin + width;
    double sum = 0, from = begin;
    for (; at < run.use.size() && static_cast<double>(run.use[at].at_ns) < end; ++at) {
      const double time = std::max(begin, static_cast<double>(run.use[at].at_ns));
      sum += current * (time - from);
      from = time;
      current = run.use[at].*value;
    }
    sum += current * (end - from);
    points.push_back({(begin + width / 2) * 1e-9 / kDayS, sum / width * scale});
  }
  return points;
}

std::string best_of(const std::vector<Summary>& summaries, double Summary::*value) {
  const auto best = std::min_element(summaries.begin(), summaries.end(),
                                     [&](const Summary& a, const Summary& b) { return a.*value < b.*value; });
  return best == summaries.end() ? "" : best->policy;
}

std::string html_table(const Table& table) {
  std::string html = "<table><tr>";
  for (const Column& column : table.columns()) {
    if (column.shown) html += fmt::format("<th>{}</th>", escaped(column.title));
  }
  html += "</tr>\n";
  for (std::size_t row = 0; row < table.rows(); ++row) {
    html += "<tr>";
    for (std::size_t c = 0; c < table.columns().size(); ++c) {
      const Column& column = table.columns()[c];
      if (column.shown) html += fmt::format("<td>{}</td>", escaped(format_cell(table.at(row, c), column.format)));
    }
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

std::string input_section(const ReportInput& input) {
  const WorkloadFile& file = input.file;
  double gpu_s = 0;
  std::int32_t largest = 0;
  for (const TraceJob& job : file.workload.jobs) {
    gpu_s += schedule::to_seconds(job.facts.work_ns) * job.facts.gpus;
    largest = std::max(largest, job.facts.gpus);
  }
  const double span = schedule::to_seconds(file.workload.jobs.back().facts.submit_ns);
  std::string html = fmt::format(
      "<p>{} jobs of {} tenants from <code>{}</code> (form {}), submitted over {}; {} GPU hours in all, the largest "
      "job "
      "asks for {} GPUs. Cluster: {}, {} GPUs; the work alone would keep {:.0f} % of it busy while jobs come in.</p>\n",
      format_whole(static_cast<double>(file.workload.jobs.size())), file.workload.tenants.size(),
      escaped(file.workload.name), file.format, format_seconds(Seconds(span)), format_whole(gpu_s / 3600), largest,
      escaped(input.cluster), input.gpus, span > 0 ? 100 * gpu_s / (span * input.gpus) : 0);
  if (file.skipped > 0) {
    html += fmt::format("<p>{} of {} rows were skipped; the first: line {}: {}.</p>\n",
                        format_whole(static_cast<double>(file.skipped)), format_whole(static_cast<double>(file.rows)),
                        file.problems[0].line, escaped(file.problems[0].what));
  }
  return html;
}

}  // namespace

std::string completion_svg(const ReportInput& input) {
  plot::LinePlot figure{.heading = {.title = "Jobs that ended within a time of their submission"},
                        .x = {.title = "Completion time", .unit = "s", .log = true},
                        .y = {.title = "Jobs", .unit = "%", .minimum = 0, .maximum = 100}};
  for (const RunResult& run : input.runs) {
    std::vector<double> times;
    for (std::size_t j = 0; j < run.jobs.size(); ++j) {
      if (run.jobs[j].end_ns == kNever) continue;
      times.push_back(schedule::to_seconds(run.jobs[j].end_ns - input.file.workload.jobs[j].facts.submit_ns));
    }
    std::sort(times.begin(), times.end());
    plot::LineSeries& series = figure.series.emplace_back();
    series.name = run.policy;
    for (std::size_t i = 0; i <= kCurvePoints && !times.empty(); ++i) {
      const std::size_t at = i * (times.size() - 1) / kCurvePoints;
      series.points.push_back(
          {std::max(1.0, times[at]), 100 * static_cast<double>(at + 1) / static_cast<double>(times.size())});
    }
  }
  return plot::line_plot(figure);
}

std::string utilisation_svg(const ReportInput& input) {
  plot::LinePlot figure{.heading = {.title = "GPUs in use"},
                        .x = {.title = "Time", .unit = "days"},
                        .y = {.title = "GPUs in use", .unit = "%", .minimum = 0, .maximum = 100}};
  for (const RunResult& run : input.runs) {
    figure.series.push_back({.name = run.policy, .points = over_time(run, &UsePoint::busy, 100.0 / input.gpus)});
  }
  return plot::line_plot(figure);
}

std::string fragmentation_svg(const ReportInput& input) {
  plot::LinePlot figure{.heading = {.title = "Free GPUs on machines that are partly in use"},
                        .x = {.title = "Time", .unit = "days"},
                        .y = {.title = "GPUs", .unit = "%", .from_zero = true}};
  for (const RunResult& run : input.runs) {
    figure.series.push_back({.name = run.policy, .points = over_time(run, &UsePoint::stranded, 100.0 / input.gpus)});
  }
  return plot::line_plot(figure);
}

std::string waiting_svg(const ReportInput& input) {
  plot::LinePlot figure{.heading = {.title = "Jobs that wait"},
                        .x = {.title = "Time", .unit = "days"},
                        .y = {.title = "Jobs", .from_zero = true}};
  for (const RunResult& run : input.runs) {
    figure.series.push_back({.name = run.policy, .points = over_time(run, &UsePoint::waiting, 1)});
  }
  return plot::line_plot(figure);
}

std::string means_svg(const ReportInput& input) {
  plot::BarPlot figure;
  figure.heading.title = "Completion time";
  figure.y.title = "Hours";
  figure.value_labels = true;
  figure.series.resize(2);
  figure.series[0].name = "mean";
  figure.series[1].name = "p90";
  for (const Summary& summary : input.summaries) {
    figure.groups.push_back(summary.policy);
    figure.series[0].values.push_back(summary.mean_s / 3600);
    figure.series[1].values.push_back(summary.p90_s / 3600);
  }
  return plot::bar_plot(figure);
}

std::string to_html(const ReportInput& input) {
  std::string html =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Policies compared</title>\n<style>"
      "body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}"
      "table{border-collapse:collapse;font-size:13px}td,th{padding:.3em .7em;text-align:right;border-bottom:1px solid "
      "#ddd}td:first-child,th:first-child{text-align:left}h1{font-size:1.6em}h2{font-size:1.2em;margin-top:1.8em}"
      "code{background:#f3f3f3;padding:0 .2em}.note{color:#555;font-size:13px}svg{max-width:100%;height:auto}"
      "</style></head><body>\n<h1>Which policy would have served these jobs best?</h1>\n";
  html += input_section(input);
  html += fmt::format("<p><b>Shortest mean completion time: {}. Shortest p99: {}. Least slowdown: {}.</b></p>\n",
                      best_of(input.summaries, &Summary::mean_s), best_of(input.summaries, &Summary::p99_s),
                      best_of(input.summaries, &Summary::slowdown));
  html += "<h2>Results</h2>\n" + html_table(to_table(input.summaries));
  html +=
      "<p class=\"note\">Completion time: from submission to end. Queueing: time without GPUs. Slowdown: completion "
      "time "
      "over the time the job takes alone. Fairness: Jain's index of the tenants' mean slowdowns; 1 is even. Restarts: "
      "per "
      "job. Fragmented: share of GPU time that was free on machines partly in use. Policies that need run times were "
      "given them exactly unless the command says otherwise.</p>\n";
  for (const auto& figure : {means_svg(input), completion_svg(input), utilisation_svg(input), fragmentation_svg(input),
                             waiting_svg(input)}) {
    html += "<p>" + figure + "</p>\n";
  }
  html +=
      fmt::format("<h2>Made by</h2>\n<p><code>{}</code></p>\n<p class=\"note\">Decisions: ", escaped(input.command));
  for (const Summary& summary : input.summaries) {
    html += fmt::format("{} {:016x} ", summary.policy, summary.decision_hash);
  }
  return html + "(the same command gives the same decisions).</p>\n</body></html>\n";
}

}  // namespace orrery::simulate
