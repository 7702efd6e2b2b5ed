#include <algorithm>
#include <array>
#include <cmath>

#include "base/plot/figure.h"

namespace orrery::plot {

namespace {

constexpr double kDot = 4;
constexpr double kSmallDot = 3;
constexpr std::size_t kCrowd = 150;  // more dots than this are small and translucent
constexpr double kDotLabelSize = 10.5;
// Placing a label compares it with every dot and label so far; beyond this many they would not be readable anyway.
constexpr std::size_t kMostLabels = 400;

struct Dot {
  Pixel at;
  std::size_t series;
  const ScatterPoint* point;
};

// A place for a label, anchored on the side of its dot, since the width is an estimate.
struct Side {
  Box box;
  Anchor anchor;
};

bool drawable(const ScatterPlot& plot, const ScatterPoint& point) {
  return can_show(point.x, plot.x.log) && can_show(point.y, plot.y.log);
}

// Writes each label on the first side of its dot where it covers nothing, or not at all.
// `taken` is what must not be covered besides the dots.
void draw_labels(Svg& svg, const std::vector<Dot>& dots, std::vector<Box> taken, const Box& area) {
  for (const Dot& dot : dots) taken.push_back({dot.at.x - kDot, dot.at.y - kDot, 2 * kDot, 2 * kDot});
  std::size_t drawn = 0;
  for (const Dot& dot : dots) {
    if (dot.point->label.empty() || drawn == kMostLabels) continue;
    const std::string label = fit_text(dot.point->label, kDotLabelSize, 140);
    const double width = text_width(label, kDotLabelSize), height = kDotLabelSize + 2;
    const double right = dot.at.x + kDot + 3, left = dot.at.x - kDot - 3 - width, middle = dot.at.x - width / 2;
    const double above = dot.at.y - kDot - height - 1, below = dot.at.y + kDot + 1, beside = dot.at.y - height / 2;
    const std::array<Side, 8> sides = {{{{right, beside, width, height}, Anchor::kStart},
                                        {{middle, above, width, height}, Anchor::kMiddle},
                                        {{middle, below, width, height}, Anchor::kMiddle},
                                        {{left, beside, width, height}, Anchor::kEnd},
                                        {{right, above + 2, width, height}, Anchor::kStart},
                                        {{left, below - 2, width, height}, Anchor::kEnd},
                                        {{right, below - 2, width, height}, Anchor::kStart},
                                        {{left, above + 2, width, height}, Anchor::kEnd}}};
    for (const auto& [box, anchor] : sides) {
      const bool inside = box.x >= area.x && box.x + box.width <= area.x + area.width + 20 && box.y >= area.y - 6 &&
                          box.y + box.height <= area.y + area.height;
      const auto hits = [&box = box](const Box& other) { return overlap(box, other); };
      if (!inside || std::any_of(taken.begin(), taken.end(), hits)) continue;
      const double at = anchor == Anchor::kStart ? box.x : anchor == Anchor::kEnd ? box.x + width : dot.at.x;
      svg.text({at, box.y + height - 3}, label, {.size = kDotLabelSize, .colour = kInk, .anchor = anchor});
      taken.push_back(box);
      ++drawn;
      break;
    }
  }
}

// The corners of the front's line.
std::vector<Pixel> front_steps(const ScatterPlot& plot, const Scales& scales) {
  std::vector<Point> points;
  for (const ScatterSeries& series : plot.series) {
    for (const ScatterPoint& point : series.points) {
      if (drawable(plot, point)) points.push_back({point.x, point.y});
    }
  }
  std::vector<Pixel> steps;
  for (const Point& point : pareto_front(std::move(points), *plot.pareto)) {
    const Pixel at{scales.x.position(point.x), scales.y.position(point.y)};
    // Between two points of the front only the worse of both coordinates is reached, hence the steps.
    if (!steps.empty()) {
      const bool across_first = plot.pareto->low_x;
      steps.push_back(across_first ? Pixel{at.x, steps.back().y} : Pixel{steps.back().x, at.y});
    }
    steps.push_back(at);
  }
  return steps;
}

// The points of the front are every other corner of its line.
bool on_front(const std::vector<Pixel>& steps, Pixel at) {
  for (std::size_t i = 0; i < steps.size(); i += 2) {
    if (steps[i].x == at.x && steps[i].y == at.y) return true;
  }
  return false;
}

// Where a line of horizontal and vertical pieces runs.
std::vector<Box> boxes_of(const std::vector<Pixel>& steps) {
  std::vector<Box> boxes;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const Pixel a = steps[i - 1], b = steps[i];
    boxes.push_back(with_margin({std::min(a.x, b.x), std::min(a.y, b.y), std::abs(a.x - b.x), std::abs(a.y - b.y)}, 1));
  }
  return boxes;
}

void draw_diagonal(Svg& svg, const Scales& scales) {
  const double low = std::max(scales.x.low(), scales.y.low()), high = std::min(scales.x.high(), scales.y.high());
  if (low >= high) return;
  svg.line({scales.x.position(low), scales.y.position(low)}, {scales.x.position(high), scales.y.position(high)},
           {.stroke = kInk, .stroke_width = 1, .opacity = 0.7});
}

std::vector<LegendEntry> legend_of(const ScatterPlot& plot) {
  std::vector<LegendEntry> legend;
  for (std::size_t s = 0; s < plot.series.size(); ++s)
    legend.push_back({plot.series[s].name, series_colour(s), LegendMark::kDot, {}});
  if (plot.pareto) legend.push_back({plot.pareto_name, kInk, LegendMark::kLine, "5 3"});
  return legend;
}

}  // namespace

std::vector<Point> pareto_front(std::vector<Point> points, Preference preference) {
  const double x_sign = preference.low_x ? 1 : -1, y_sign = preference.low_y ? 1 : -1;
  std::erase_if(points, [](const Point& p) { return std::isnan(p.x) || std::isnan(p.y); });
  std::sort(points.begin(), points.end(), [&](const Point& a, const Point& b) {
    if (a.x != b.x) return x_sign * a.x < x_sign * b.x;
    return y_sign * a.y < y_sign * b.y;
  });
  std::vector<Point> front;
  for (const Point& point : points) {
    if (front.empty() || y_sign * point.y < y_sign * front.back().y) front.push_back(point);
  }
  if (!preference.low_x) std::reverse(front.begin(), front.end());
  return front;
}

std::string scatter_plot(const ScatterPlot& plot) {
  Svg svg(plot.size.width, plot.size.height, plot.heading.title);
  const double top = draw_heading(svg, plot.heading, legend_of(plot), plot.size.width);
  Extent x_data, y_data;
  for (const ScatterSeries& series : plot.series) {
    for (const ScatterPoint& point : series.points) {
      if (!drawable(plot, point)) continue;
      x_data.add(point.x, plot.x.log);
      y_data.add(point.y, plot.y.log);
    }
  }
  Scales scales{Scale(plot.x, x_data, Fit::kTight, 90, plot.size.width),
                Scale(plot.y, y_data, Fit::kToTicks, 55, plot.size.height - top)};
  const Box area = data_area(scales.y, plot.x, plot.y, top, plot.size);
  scales.x.place(area.x, area.x + area.width);
  scales.y.place(area.y + area.height, area.y);
  draw_y_axis(svg, scales.y, full_title(plot.y), area);
  draw_x_axis(svg, scales.x, full_title(plot.x), area, true);
  if (x_data.empty()) draw_no_data(svg, area);

  std::vector<Dot> dots;
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    for (const ScatterPoint& point : plot.series[s].points) {
      if (drawable(plot, point)) dots.push_back({{scales.x.position(point.x), scales.y.position(point.y)}, s, &point});
    }
  }
  svg.begin_clip(with_margin(area, 5));
  const std::vector<Pixel> steps = plot.pareto ? front_steps(plot, scales) : std::vector<Pixel>();
  if (steps.size() > 1) svg.polyline(steps, {.stroke = kInk, .stroke_width = 1.25, .opacity = 0.65, .dash = "5 3"});
  const bool crowded = dots.size() > kCrowd;
  for (const Dot& dot : dots) {
    const bool best = on_front(steps, dot.at);
    const bool beaten = plot.pareto && !best;
    const bool small = crowded && !best;
    svg.circle(dot.at, small ? kSmallDot : kDot,
               {.fill = series_colour(dot.series),
                .stroke = "#ffffff",
                .stroke_width = small ? 0.4 : 0.75,
                .opacity = beaten    ? 0.4
                           : crowded ? 0.65
                                     : 0.9},
               dot.point->label);
  }
  if (plot.diagonal) draw_diagonal(svg, scales);
  svg.end_clip();
  draw_labels(svg, dots, boxes_of(steps), area);
  return std::move(svg).finish();
}

}  // namespace orrery::plot
