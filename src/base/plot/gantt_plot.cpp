#include <algorithm>
#include <cmath>
#include <map>

#include "base/plot/figure.h"

namespace orrery::plot {

namespace {

constexpr double kRowHeight = 26;
constexpr double kLongestRowName = 180;
constexpr double kSmallestReadableRow = 10;
constexpr double kThinnest = 0.6;  // of a slice, in pixels; thinner ones would vanish
constexpr double kThinnestWithTooltip = 2;
constexpr double kSliceLabelSize = 10.5;

bool drawable(const GanttSlice& slice) {
  return can_show(slice.start, false) && can_show(slice.end, false) && slice.end >= slice.start;
}

// Consecutive slices that together are thinner than a pixel are drawn as one, of the kind that fills most of it: a
// trace of a million operators then gives a picture and not a hundred megabytes.
class PixelGroup {
 public:
  explicit PixelGroup(const Scale& x) : x_(x) {}

  bool takes(const GanttSlice& slice) const {
    if (busy_.empty() || slice.start < whole_.start) return false;
    return x_.position(std::max(whole_.end, slice.end)) - x_.position(whole_.start) < 1;
  }

  void start(const GanttSlice& slice) {
    whole_ = slice;
    busy_ = {{slice.kind, slice.end - slice.start}};
  }

  void add(const GanttSlice& slice) {
    whole_.end = std::max(whole_.end, slice.end);
    whole_.label.clear();
    busy_[slice.kind] += slice.end - slice.start;
  }

  void finish(std::vector<GanttSlice>& slices) {
    if (busy_.empty()) return;
    const auto longer = [](const auto& a, const auto& b) { return a.second < b.second; };
    whole_.kind = std::max_element(busy_.begin(), busy_.end(), longer)->first;
    slices.push_back(whole_);
    busy_.clear();
  }

 private:
  const Scale& x_;
  GanttSlice whole_;
  std::map<std::size_t, double> busy_;  // time by kind
};

std::vector<GanttSlice> merged(const GanttRow& row, const Scale& x) {
  std::vector<GanttSlice> slices;
  PixelGroup group(x);
  for (const GanttSlice& slice : row.slices) {
    if (!drawable(slice)) continue;
    if (group.takes(slice)) {
      group.add(slice);
      continue;
    }
    group.finish(slices);
    group.start(slice);
  }
  group.finish(slices);
  return slices;
}

void draw_row(Svg& svg, const GanttRow& row, const Scale& x, double top, double height) {
  const double inset = std::min(4.0, height * 0.15);
  for (const GanttSlice& slice : merged(row, x)) {
    const std::string_view colour = series_colour(slice.kind);
    const double left = x.position(slice.start), width = std::max(kThinnest, x.position(slice.end) - left);
    // A hair of white keeps neighbours apart where there is room for it.
    const double gap = width > 4 ? 0.75 : 0;
    svg.rect({left, top + inset, width - gap, height - 2 * inset}, {.fill = colour},
             width < kThinnestWithTooltip ? std::string_view() : std::string_view(slice.label));
    if (slice.label.empty() || height - 2 * inset < kSliceLabelSize + 1) continue;
    const double room = width - 4;
    const bool whole = text_width(slice.label, kSliceLabelSize) <= room;
    if (!whole && room < 36) continue;
    svg.text({left + width / 2, top + height / 2 + 3.8}, fit_text(slice.label, kSliceLabelSize, room),
             {.size = kSliceLabelSize, .colour = text_colour_on(colour), .anchor = Anchor::kMiddle});
  }
}

double name_width(const GanttPlot& plot) {
  double width = 0;
  for (const GanttRow& row : plot.rows) width = std::max(width, text_width(row.name, kTickSize));
  return std::min(width, kLongestRowName);
}

}  // namespace

std::string gantt_plot(const GanttPlot& plot) {
  std::vector<LegendEntry> legend;
  for (std::size_t k = 0; k < plot.kinds.size(); ++k)
    legend.push_back({plot.kinds[k], series_colour(k), LegendMark::kBox, {}});

  // The heading's height decides the figure's, so it is drawn once to be measured.
  Svg measure(plot.size.width, 0, "");
  const double top = draw_heading(measure, plot.heading, legend, plot.size.width);
  const double rows = std::max<double>(1, static_cast<double>(plot.rows.size()));
  const double below = 32 + (full_title(plot.x).empty() ? 0 : 22);
  const double height = plot.size.height > 0 ? plot.size.height : top + rows * kRowHeight + below;

  Svg svg(plot.size.width, height, plot.heading.title);
  draw_heading(svg, plot.heading, legend, plot.size.width);
  const double left = kMargin + name_width(plot) + 10;
  const Box area{left, top, std::max(20.0, plot.size.width - left - 26), std::max(20.0, height - top - below)};

  Extent data;
  for (const GanttRow& row : plot.rows) {
    for (const GanttSlice& slice : row.slices) {
      if (!drawable(slice)) continue;
      data.add(slice.start, false);
      data.add(slice.end, false);
    }
  }
  // Time has ends of its own: no padding around the first and last slice.
  Axis x_axis = plot.x;
  x_axis.log = false;
  if (!data.empty() && data.low() < data.high()) {
    if (!x_axis.minimum) x_axis.minimum = data.low();
    if (!x_axis.maximum) x_axis.maximum = data.high();
  }
  Scale x(x_axis, data, Fit::kTight, 90, area.width);
  x.place(area.x, area.x + area.width);

  const double row_height = area.height / rows;
  for (std::size_t r = 1; r < plot.rows.size() && row_height >= kSmallestReadableRow; ++r) {
    const double y = area.y + row_height * static_cast<double>(r);
    svg.line({area.x, y}, {area.x + area.width, y}, {.stroke = kGrid, .stroke_width = 0.75});
  }
  draw_x_axis(svg, x, full_title(plot.x), area, true);
  if (data.empty()) draw_no_data(svg, area);
  svg.begin_clip(area);
  for (std::size_t r = 0; r < plot.rows.size(); ++r)
    draw_row(svg, plot.rows[r], x, area.y + row_height * static_cast<double>(r), row_height);
  svg.end_clip();
  const std::size_t stride = static_cast<std::size_t>(std::max(1.0, std::ceil(kSmallestReadableRow / row_height)));
  for (std::size_t r = 0; r < plot.rows.size(); r += stride) {
    const double middle = area.y + row_height * (static_cast<double>(r) + 0.5);
    svg.text({area.x - 10, middle + 4}, fit_text(plot.rows[r].name, kTickSize, kLongestRowName),
             {.size = kTickSize, .colour = kInk, .anchor = Anchor::kEnd});
  }
  return std::move(svg).finish();
}

}  // namespace orrery::plot
