#include <cmath>

#include "base/plot/figure.h"

namespace orrery::plot {

namespace {

bool drawable(const LinePlot& plot, const Point& point) {
  return can_show(point.x, plot.x.log) && can_show(point.y, plot.y.log);
}

bool drawable(const LinePlot& plot, const Interval& interval) {
  return drawable(plot, Point{interval.x, interval.low}) && drawable(plot, Point{interval.x, interval.high});
}

void add_extents(const LinePlot& plot, Extent& x, Extent& y) {
  for (const LineSeries& series : plot.series) {
    for (const Point& point : series.points) {
      if (!drawable(plot, point)) continue;
      x.add(point.x, plot.x.log);
      y.add(point.y, plot.y.log);
    }
    for (const Interval& interval : series.band) {
      if (!drawable(plot, interval)) continue;
      x.add(interval.x, plot.x.log);
      y.add(interval.low, plot.y.log);
      y.add(interval.high, plot.y.log);
    }
  }
}

// Batch sizes and device counts double from point to point: the axis then says 1, 2, 4, 8 and not 1, 2, 5, 10.
bool doubles(const LinePlot& plot) {
  constexpr double kLargestLabelled = 1 << 16;
  for (const LineSeries& series : plot.series) {
    for (const Point& point : series.points) {
      if (!drawable(plot, point)) continue;
      const bool labelled = point.x >= 1 && point.x <= kLargestLabelled;
      if (!labelled || std::exp2(std::round(std::log2(point.x))) != point.x) return false;
    }
  }
  return true;
}

void draw_band(Svg& svg, const LinePlot& plot, const LineSeries& series, const Scales& scales,
               std::string_view colour) {
  std::vector<Pixel> upper, lower;
  const auto close = [&] {
    upper.insert(upper.end(), lower.rbegin(), lower.rend());
    if (upper.size() >= 4) svg.polygon(upper, {.fill = colour, .opacity = 0.18});
    upper.clear();
    lower.clear();
  };
  for (const Interval& interval : series.band) {
    if (!drawable(plot, interval)) {
      close();
      continue;
    }
    const double x = scales.x.position(interval.x);
    upper.push_back({x, scales.y.position(interval.high)});
    lower.push_back({x, scales.y.position(interval.low)});
  }
  close();
}

void draw_series(Svg& svg, const LinePlot& plot, std::size_t index, const Scales& scales) {
  const LineSeries& series = plot.series[index];
  const std::string_view colour = series_colour(index);
  std::vector<Pixel> run;
  const auto close = [&] {
    if (run.size() == 1 && !series.markers) svg.circle(run[0], 3, {.fill = colour});
    if (run.size() > 1)
      svg.polyline(run, {.stroke = colour, .stroke_width = 2, .dash = series_dash(index, series.dashed)});
    if (series.markers) {
      for (const Pixel& at : run) svg.circle(at, 3.5, {.fill = colour, .stroke = "#ffffff", .stroke_width = 1});
    }
    run.clear();
  };
  for (const Point& point : series.points) {
    if (!drawable(plot, point)) {
      close();
      continue;
    }
    run.push_back({scales.x.position(point.x), scales.y.position(point.y)});
  }
  close();
}

std::vector<LegendEntry> legend_of(const LinePlot& plot) {
  std::vector<LegendEntry> legend;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const LineSeries& series = plot.series[i];
    legend.push_back({series.name, series_colour(i), series.markers ? LegendMark::kLineWithDot : LegendMark::kLine,
                      series_dash(i, series.dashed)});
  }
  return legend;
}

}  // namespace

std::string line_plot(const LinePlot& plot) {
  Svg svg(plot.size.width, plot.size.height, plot.heading.title);
  const double top = draw_heading(svg, plot.heading, legend_of(plot), plot.size.width);
  Extent x_data, y_data;
  add_extents(plot, x_data, y_data);
  Axis x_axis = plot.x;
  x_axis.doubling = x_axis.doubling || (x_axis.log && doubles(plot));
  Scales scales{Scale(x_axis, x_data, Fit::kTight, x_axis.doubling ? 60 : 90, plot.size.width),
                Scale(plot.y, y_data, Fit::kToTicks, 55, plot.size.height - top)};
  const Box area = data_area(scales.y, plot.x, plot.y, top, plot.size);
  scales.x.place(area.x, area.x + area.width);
  scales.y.place(area.y + area.height, area.y);
  draw_y_axis(svg, scales.y, full_title(plot.y), area);
  draw_x_axis(svg, scales.x, full_title(plot.x), area, false);
  if (x_data.empty()) draw_no_data(svg, area);
  svg.begin_clip(with_margin(area, 4));
  for (std::size_t i = 0; i < plot.series.size(); ++i) draw_band(svg, plot, plot.series[i], scales, series_colour(i));
  for (std::size_t i = 0; i < plot.series.size(); ++i) draw_series(svg, plot, i, scales);
  svg.end_clip();
  return std::move(svg).finish();
}

}  // namespace orrery::plot
