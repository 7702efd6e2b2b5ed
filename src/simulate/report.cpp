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

// Utilisation over time, averaged over equal parts of the run so that the line stays readable.
std::vector<plot::Point> over_time(const RunResult& run, std::int32_t UtilisationPoint::*value, double scale) {
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

// "Mean completion time: srtf 4.27 h, 69 times shorter than fifo (12.2 days)."
std::string best_and_worst(const std::vector<Summary>& summaries, std::string_view what, double Summary::*value) {
  const auto [best, worst] = std::minmax_element(
      summaries.begin(), summaries.end(), [&](const Summary& a, const Summary& b) { return a.*value < b.*value; });
  std::string line =
      fmt::format("<li>{}: <b>{}</b> {}", what, escaped(best->policy), format_seconds(Seconds((*best).*value)));
  const double ratio = (*best).*value > 0 ? (*worst).*value / (*best).*value : 1;
  if (best != worst && ratio > 1) {
    line += fmt::format(", {:.3g} times shorter than {} ({})", ratio, escaped(worst->policy),
                        format_seconds(Seconds((*worst).*value)));
  }
  return line + ".</li>\n";
}

std::string html_rows(const std::vector<std::vector<std::string>>& rows) {
  std::string html = "<div class=\"wide\"><table>";
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const char* const tag = row == 0 ? "th" : "td";
    html += "<tr>";
    for (const std::string& cell : rows[row]) html += fmt::format("<{0}>{1}</{0}>", tag, escaped(cell));
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string results_section(const Table& table) {
  std::vector<std::vector<std::string>> rows(table.rows() + 1);
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    const Column& column = table.columns()[c];
    if (!column.shown) continue;
    rows[0].push_back(column.title);
    for (std::size_t row = 0; row < table.rows(); ++row) {
      rows[row + 1].push_back(format_cell(table.at(row, c), column.format));
    }
  }
  return html_rows(rows);
}

// Mean completion times of jobs by the number of GPUs they ask for: which jobs pay for a policy.
std::string sizes_section(const ReportInput& input) {
  struct Sizes {
    std::string_view name;
    std::int32_t from, to;
  };
  constexpr Sizes kSizes[] = {{"1 GPU", 1, 1}, {"2 to 4", 2, 4}, {"5 to 8", 5, 8}, {"more than 8", 9, 1 << 30}};
  std::vector<std::vector<std::string>> rows = {{"job asks for", "jobs"}};
  for (const RunResult& run : input.runs) rows[0].push_back(run.policy);
  const IndexedVector<JobIndex, TraceJob>& jobs = input.file.job_trace.jobs;
  for (const Sizes& sizes : kSizes) {
    const auto counts = [&](const TraceJob& job) { return job.facts.gpus >= sizes.from && job.facts.gpus <= sizes.to; };
    const auto asked = std::count_if(jobs.begin(), jobs.end(), counts);
    if (asked == 0) continue;
    rows.push_back({std::string(sizes.name), format_whole(static_cast<double>(asked))});
    for (const RunResult& run : input.runs) {
      double sum_s = 0;
      int ended = 0;
      for (const JobIndex j : jobs.indices()) {
        if (!counts(jobs[j]) || run.jobs[j].end_ns == kNever) continue;
        sum_s += schedule::to_seconds(run.jobs[j].end_ns - jobs[j].facts.submit_ns);
        ++ended;
      }
      rows.back().push_back(ended > 0 ? format_seconds(Seconds(sum_s / ended)) : "none ended");
    }
  }
  return "<h2>Mean completion time by size of job</h2>\n" + html_rows(rows);
}

std::string input_section(const ReportInput& input) {
  const JobTraceFile& file = input.file;
  double gpu_s = 0;
  std::int32_t largest = 0;
  for (const TraceJob& job : file.job_trace.jobs) {
    gpu_s += schedule::to_seconds(job.facts.work_ns) * job.facts.gpus;
    largest = std::max(largest, job.facts.gpus);
  }
  const double span = schedule::to_seconds(file.job_trace.jobs.back().facts.submit_ns);
  std::string html = fmt::format(
      "<p>{} jobs of {} tenants from <code>{}</code> (form {}), submitted over {}; {} GPU hours in all, the largest "
      "job "
      "asks for {} GPUs. Cluster: {}, {} GPUs; the work alone would keep {:.0f} % of it busy while jobs come in.</p>\n",
      format_whole(static_cast<double>(file.job_trace.jobs.size())), file.job_trace.tenants.size(),
      escaped(file.job_trace.name), file.format, format_seconds(Seconds(span)), format_whole(gpu_s / 3600), largest,
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
    for (const JobIndex j : run.jobs.indices()) {
      if (run.jobs[j].end_ns == kNever) continue;
      times.push_back(schedule::to_seconds(run.jobs[j].end_ns - input.file.job_trace.jobs[j].facts.submit_ns));
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
    figure.series.push_back(
        {.name = run.policy, .points = over_time(run, &UtilisationPoint::busy, 100.0 / input.gpus)});
  }
  return plot::line_plot(figure);
}

std::string fragmentation_svg(const ReportInput& input) {
  plot::LinePlot figure{.heading = {.title = "Free GPUs on machines that are partly in use"},
                        .x = {.title = "Time", .unit = "days"},
                        .y = {.title = "GPUs", .unit = "%", .from_zero = true}};
  for (const RunResult& run : input.runs) {
    figure.series.push_back(
        {.name = run.policy, .points = over_time(run, &UtilisationPoint::stranded, 100.0 / input.gpus)});
  }
  return plot::line_plot(figure);
}

std::string waiting_svg(const ReportInput& input) {
  plot::LinePlot figure{.heading = {.title = "Jobs that wait"},
                        .x = {.title = "Time", .unit = "days"},
                        .y = {.title = "Jobs", .from_zero = true}};
  for (const RunResult& run : input.runs) {
    figure.series.push_back({.name = run.policy, .points = over_time(run, &UtilisationPoint::waiting, 1)});
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
      "body{font:15px/1.5 system-ui,sans-serif;max-width:1240px;margin:2em auto;padding:0 1em;color:#222}"
      "table{border-collapse:collapse;font-size:13px}td,th{padding:.3em .6em;text-align:right;border-bottom:1px solid "
      "#ddd;white-space:nowrap}.wide{overflow-x:auto}"
      ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(520px,1fr));gap:1em;margin-top:1.5em}td:"
      "first-child,th:first-child{text-align:left}h1{font-size:1.6em}h2{font-size:1.2em;margin-top:1.8em}"
      "code{background:#f3f3f3;padding:0 .2em}.note{color:#555;font-size:13px}svg{max-width:100%;height:auto}"
      "</style></head><body>\n<h1>Which policy would have served these jobs best?</h1>\n";
  html += input_section(input);
  if (!input.summaries.empty()) {
    html += "<ul>\n" + best_and_worst(input.summaries, "Mean completion time", &Summary::mean_s) +
            best_and_worst(input.summaries, "One job in a hundred takes longer than", &Summary::p99_s) +
            best_and_worst(input.summaries, "The last job ends after", &Summary::makespan_s) + "</ul>\n";
  }
  html += "<h2>Results</h2>\n" + results_section(to_table(input.summaries));
  html +=
      "<p class=\"note\">Completion time: from submission to end. Queueing: time without GPUs. Slowdown: completion "
      "time "
      "over the time the job takes alone. Fairness: Jain's index of the tenants' mean slowdowns; 1 is even. Restarts: "
      "per "
      "job. Fragmented: share of GPU time that was free on machines partly in use. Policies that need run times were "
      "given them exactly unless the command says otherwise.</p>\n";
  html += sizes_section(input) + "<div class=\"figures\">\n";
  for (const auto& figure : {means_svg(input), completion_svg(input), utilisation_svg(input), fragmentation_svg(input),
                             waiting_svg(input)}) {
    html += "<div>" + figure + "</div>\n";
  }
  html += fmt::format("</div>\n<h2>Made by</h2>\n<p><code>{}</code></p>\n<p class=\"note\">Decisions: ",
                      escaped(input.command));
  for (const Summary& summary : input.summaries) {
    html += fmt::format("{} {:016x} ", summary.policy, summary.decision_hash);
  }
  return html + "(the same command gives the same decisions).</p>\n</body></html>\n";
}

}  // namespace orrery::simulate
