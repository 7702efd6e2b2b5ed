#include "service/predict_plot.h"

#include <fmt/format.h>
#include <map>
#include <set>

#include "base/plot/plots.h"
#include "service/predictors.h"

namespace orrery::service {

namespace {

using predict::Prediction;

// The labels of the lines of a sweep: only the parts that differ between its points.
class SeriesNames {
 public:
  explicit SeriesNames(const std::vector<PredictedRun>& runs) {
    for (const auto& [point, prediction] : runs) {
      models_.insert(point.model);
      devices_.insert(point.placement.device->name);
      counts_.insert(point.placement.devices);
      batches_.insert(point.run.graph.batch());
      precisions_.insert(to_string(point.run.precision));
    }
  }

  bool sweeps_batch() const { return batches_.size() > 1; }
  bool sweeps_count() const { return counts_.size() > 1; }

  std::string name(const RunPoint& point) const {
    std::string text;
    const auto add = [&](bool differs, const std::string& part) {
      if (differs) text += (text.empty() ? "" : ", ") + part;
    };
    add(models_.size() > 1, point.model);
    add(devices_.size() > 1, std::string(point.placement.device->name));
    add(sweeps_count() && sweeps_batch(), fmt::format("{} devices", point.placement.devices));
    add(precisions_.size() > 1, std::string(to_string(point.run.precision)));
    return text.empty() ? point.model : text;
  }

  std::string title(const RunPoint& point) const {
    std::string text = models_.size() > 1 ? "Training throughput" : point.model + ": training throughput";
    if (devices_.size() == 1) text += fmt::format(" on {}", point.placement.device->name);
    return text;
  }

 private:
  std::set<std::string> models_;
  std::set<std::string_view> devices_, precisions_;
  std::set<int> counts_;
  std::set<std::int64_t> batches_;
};

plot::Interval throughput_interval(const RunPoint& point, const Prediction& prediction, double x) {
  const auto samples = static_cast<double>(point.run.global_batch());
  return {x, samples / prediction.iteration.high.value(), samples / prediction.iteration.low.value()};
}

std::string lines(const std::vector<PredictedRun>& runs, const SeriesNames& names) {
  const bool by_batch = names.sweeps_batch();
  plot::LinePlot figure;
  figure.heading = {.title = names.title(runs[0].point),
                    .subtitle = fmt::format("80 % interval shaded; predictions, {}", calibration_text(runs))};
  figure.x = {.title = by_batch ? "Batch per GPU" : "Devices", .log = true};
  figure.y = {.title = "Throughput", .unit = "samples/s", .log = true};
  std::map<std::string, std::size_t> series_of;
  for (const auto& [point, prediction] : runs) {
    const std::string name = names.name(point);
    const auto [place, is_new] = series_of.emplace(name, figure.series.size());
    if (is_new) figure.series.push_back({.name = name, .markers = true});
    plot::LineSeries& series = figure.series[place->second];
    const double x = by_batch ? static_cast<double>(point.run.graph.batch()) : point.placement.devices;
    series.points.push_back({x, prediction.samples_per_second});
    series.band.push_back(throughput_interval(point, prediction, x));
  }
  return plot::line_plot(figure);
}

std::string bars(const std::vector<PredictedRun>& runs, const SeriesNames& names) {
  plot::BarPlot figure;
  figure.heading = {.title = names.title(runs[0].point),
                    .subtitle = fmt::format("whiskers: 80 % interval; predictions, {}", calibration_text(runs))};
  figure.y = {.title = "Throughput", .unit = "samples/s", .from_zero = true};
  figure.value_labels = true;
  plot::BarSeries series{.name = "throughput"};
  for (const auto& [point, prediction] : runs) {
    figure.groups.push_back(names.name(point));
    series.values.push_back(prediction.samples_per_second);
    series.error.push_back(throughput_interval(point, prediction, 0));
  }
  figure.series.push_back(std::move(series));
  return plot::bar_plot(figure);
}

}  // namespace

std::string plot_predictions(const std::vector<PredictedRun>& runs) {
  const SeriesNames names(runs);
  const bool is_sweep = names.sweeps_batch() || names.sweeps_count();
  return is_sweep ? lines(runs, names) : bars(runs, names);
}

std::string plot_timeline(const PredictedRun& run) {
  const auto& [point, prediction] = run;
  constexpr double kMilliseconds = 1e3;
  plot::GanttPlot figure;
  figure.heading = {
      .title = fmt::format("{} on {}, batch {}: one iteration", point.model, point.placement.device->name,
                           point.run.graph.batch()),
      .subtitle = fmt::format("predicted, {}; one device and one micro-batch", calibration_text(std::span(&run, 1)))};
  figure.x = {.title = "Time", .unit = "ms"};
  figure.kinds = {"forward", "backward", "update", "communication"};
  const auto slice = [](Seconds start, Seconds duration, std::size_t kind, std::string label) {
    return plot::GanttSlice{start.value() * kMilliseconds, (start + duration).value() * kMilliseconds, kind,
                            std::move(label)};
  };
  plot::GanttRow device{.name = "device"};
  for (const auto& entry : prediction.timeline) {
    if (entry.duration == Seconds(0)) continue;
    device.slices.push_back(
        slice(entry.start, entry.duration, static_cast<std::size_t>(entry.phase), point.run.graph[entry.op].name));
  }
  figure.rows.push_back(std::move(device));
  if (!prediction.communication.empty()) {
    plot::GanttRow network{.name = "network"};
    for (const auto& entry : prediction.communication) {
      network.slices.push_back(slice(entry.start, entry.duration, 3, entry.what));
    }
    figure.rows.push_back(std::move(network));
  }
  return plot::gantt_plot(figure);
}

}  // namespace orrery::service
