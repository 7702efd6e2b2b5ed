#include <algorithm>
#include <cmath>

#include "base/plot/figure.h"
#include "base/text.h"

namespace orrery::plot {

namespace {

constexpr double kGroupShare = 0.76;  // of a group's slot that its bars fill
constexpr double kWidestBar = 64;
constexpr double kLabelRotation = -35;
constexpr double kLongestRotatedLabel = 130;

struct GroupLabels {
  std::vector<std::string> texts;
  bool rotated = false;
  double height = 22;  // below the axis
};

// Names are horizontal if the widest fits in its slot, otherwise they lean. A leaning name reaches to the left, where
// the first one has `left` pixels.
GroupLabels fit_labels(const std::vector<std::string>& names, double slot, double left) {
  GroupLabels labels;
  double widest = 0;
  for (const std::string& name : names) widest = std::max(widest, text_width(name, kTickSize));
  labels.rotated = widest > slot - 6;
  const double angle = -kLabelRotation * std::acos(-1.0) / 180;
  const double leaning_limit = std::min(kLongestRotatedLabel, (left + slot / 2 - 8) / std::cos(angle));
  const double limit = labels.rotated ? leaning_limit : slot - 6;
  for (const std::string& name : names) labels.texts.push_back(fit_text(name, kTickSize, limit));
  if (labels.rotated) labels.height = 18 + std::min(widest, limit) * std::sin(angle);
  return labels;
}

void draw_group_labels(Svg& svg, const GroupLabels& labels, const Box& area, double slot) {
  const double bottom = area.y + area.height;
  // Leaning names closer than a line of text would cover each other; then only every n-th is written.
  const std::size_t stride = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(14 / slot)));
  for (std::size_t g = 0; g < labels.texts.size(); g += stride) {
    const double middle = area.x + slot * (static_cast<double>(g) + 0.5);
    if (labels.rotated) {
      svg.text({middle + 4, bottom + 14}, labels.texts[g],
               {.size = kTickSize, .colour = kMuted, .anchor = Anchor::kEnd, .rotation = kLabelRotation});
    } else {
      svg.text({middle, bottom + 17}, labels.texts[g],
               {.size = kTickSize, .colour = kMuted, .anchor = Anchor::kMiddle});
    }
  }
}

bool has_error(const BarPlot& plot, const BarSeries& series, std::size_t group) {
  return group < series.error.size() && can_show(series.error[group].low, plot.y.log) &&
         can_show(series.error[group].high, plot.y.log);
}

Extent extent_of(const BarPlot& plot) {
  Extent extent;
  for (const BarSeries& series : plot.series) {
    for (std::size_t g = 0; g < std::min(series.values.size(), plot.groups.size()); ++g) {
      extent.add(series.values[g], plot.y.log);
      if (!has_error(plot, series, g)) continue;
      extent.add(series.error[g].low, plot.y.log);
      extent.add(series.error[g].high, plot.y.log);
    }
  }
  return extent;
}

struct BarPlace {
  double left, width;
};

void draw_whisker(Svg& svg, const Interval& error, const Scale& y, BarPlace place) {
  const double middle = place.left + place.width / 2, low = y.position(error.low), high = y.position(error.high);
  const double cap = std::min(5.0, place.width / 4);
  const Paint paint{.stroke = "#3c4043", .stroke_width = 1.25};
  svg.line({middle, low}, {middle, high}, paint);
  svg.line({middle - cap, low}, {middle + cap, low}, paint);
  svg.line({middle - cap, high}, {middle + cap, high}, paint);
}

void draw_bar(Svg& svg, const BarPlot& plot, std::size_t s, std::size_t g, const Scale& y, BarPlace place) {
  const BarSeries& series = plot.series[s];
  const double value = series.values[g];
  if (!can_show(value, plot.y.log)) return;
  const double zero = y.position(plot.y.log ? y.low() : std::clamp(0.0, y.low(), y.high()));
  const double end = y.position(value);
  svg.rect({place.left, std::min(zero, end), std::max(0.5, place.width - 1), std::abs(end - zero)},
           {.fill = series_colour(s)});
  double label_at = value < 0 ? end + 13 : end - 5;
  if (has_error(plot, series, g)) {
    draw_whisker(svg, series.error[g], y, place);
    label_at = value < 0 ? y.position(series.error[g].low) + 13 : y.position(series.error[g].high) - 5;
  }
  const std::string label = format_number(value, 3);
  // Labels of neighbours must not run into each other.
  if (!plot.value_labels || text_width(label, 10) > place.width + 4) return;
  svg.text({place.left + place.width / 2, label_at}, label, {.size = 10, .colour = kMuted, .anchor = Anchor::kMiddle});
}

}  // namespace

std::string bar_plot(const BarPlot& plot) {
  Svg svg(plot.size.width, plot.size.height, plot.heading.title);
  std::vector<LegendEntry> legend;
  for (std::size_t s = 0; s < plot.series.size(); ++s)
    legend.push_back({plot.series[s].name, series_colour(s), LegendMark::kBox, {}});
  const double top = draw_heading(svg, plot.heading, legend, plot.size.width);

  const Extent data = extent_of(plot);
  Scale y(plot.y, data, Fit::kToTicks, 55, plot.size.height - top);
  Box area = data_area(y, {.title = plot.x_title}, plot.y, top, plot.size);
  const double slot = area.width / std::max<double>(1, static_cast<double>(plot.groups.size()));
  const GroupLabels labels = fit_labels(plot.groups, slot, area.x);
  area.height = std::max(20.0, area.height - (labels.height - 22));
  y.place(area.y + area.height, area.y);

  draw_y_axis(svg, y, full_title(plot.y), area);
  if (data.empty()) draw_no_data(svg, area);
  const double series_count = std::max<double>(1, static_cast<double>(plot.series.size()));
  const double width = std::min(kWidestBar, slot * kGroupShare / series_count);
  svg.begin_clip({area.x, area.y - 14, area.width, area.height + 28});
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    for (std::size_t g = 0; g < std::min(plot.series[s].values.size(), plot.groups.size()); ++g) {
      const double middle = area.x + slot * (static_cast<double>(g) + 0.5);
      draw_bar(svg, plot, s, g, y, {middle + width * (static_cast<double>(s) - series_count / 2), width});
    }
  }
  svg.end_clip();
  const double base = y.position(plot.y.log ? y.low() : std::clamp(0.0, y.low(), y.high()));
  svg.line({area.x, base}, {area.x + area.width, base}, {.stroke = kAxisLine});
  draw_group_labels(svg, labels, area, slot);
  draw_x_title(svg, plot.x_title, area, area.y + area.height + labels.height + 15);
  return std::move(svg).finish();
}

}  // namespace orrery::plot
