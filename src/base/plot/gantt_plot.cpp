#include <algorithm>
#include <iterator>
#include <limits>
#include <map>

#include "base/plot/figure.h"

namespace orrery::plot {

namespace {

constexpr double kRowHeight = 26;
constexpr double kLevelHeight = 17;     // of slices of a row that are above each other: a label fits
constexpr std::size_t kLevelsMax = 16;  // more at once would leave too little of each
constexpr double kRowNameShare = 0.4;   // of the figure's width, at most
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

using Level = std::vector<GanttSlice>;  // slices of which none overlaps another, in the order of time

// The slices of a row, so that those at the same time are above each other: each is put on the first level that is free
// when it begins, or that becomes free first where there are too many at once.
std::vector<Level> levels_of(const GanttRow& row, double span) {
  Level all;
  std::copy_if(row.slices.begin(), row.slices.end(), std::back_inserter(all), drawable);
  std::stable_sort(all.begin(), all.end(), [](const GanttSlice& a, const GanttSlice& b) { return a.start < b.start; });
  const double touching = 1e-9 * span;  // ends and starts that are the same but for rounding
  std::vector<Level> levels(1);
  std::vector<double> ends(1, -std::numeric_limits<double>::infinity());
  for (GanttSlice& slice : all) {
    auto free = std::find_if(ends.begin(), ends.end(), [&](double end) { return end <= slice.start + touching; });
    if (free == ends.end() && levels.size() < kLevelsMax) {
      levels.emplace_back();
      free = ends.insert(ends.end(), slice.end);
    } else if (free == ends.end()) {
      free = std::min_element(ends.begin(), ends.end());
    }
    *free = std::max(*free, slice.end);
    levels[static_cast<std::size_t>(free - ends.begin())].push_back(std::move(slice));
  }
  return levels;
}

std::vector<GanttSlice> merged(const Level& level, const Scale& x) {
  std::vector<GanttSlice> slices;
  PixelGroup group(x);
  for (const GanttSlice& slice : level) {
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

void draw_level(Svg& svg, const Level& level, const Scale& x, double top, double height) {
  const double inset = std::min(4.0, height * 0.15);
  for (const GanttSlice& slice : merged(level, x)) {
    const std::string_view colour = series_colour(slice.kind);
    const double left = x.position(slice.start), width = std::max(kThinnest, x.position(slice.end) - left);
    // A thin white line separates neighbours where there is space for it.
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
  return std::min(width, kRowNameShare * plot.size.width);
}

// A row, ready to be drawn.
struct LaidRow {
  std::vector<Level> levels;
  double height = kRowHeight;
  double top = 0;
};

}  // namespace

std::string gantt_plot(const GanttPlot& plot) {
  std::vector<LegendEntry> legend;
  for (std::size_t k = 0; k < plot.kinds.size(); ++k)
    legend.push_back({plot.kinds[k], series_colour(k), LegendMark::kBox, {}});

  // The heading's height decides the figure's, so it is drawn once to be measured.
  Svg measure(plot.size.width, 0, "");
  const double top = draw_heading(measure, plot.heading, legend, plot.size.width);
  Extent data;
  for (const GanttRow& row : plot.rows) {
    for (const GanttSlice& slice : row.slices) {
      if (!drawable(slice)) continue;
      data.add(slice.start, false);
      data.add(slice.end, false);
    }
  }
  std::vector<LaidRow> rows;
  double rows_height = plot.rows.empty() ? kRowHeight : 0;
  for (const GanttRow& row : plot.rows) {
    LaidRow& laid = rows.emplace_back();
    laid.levels = levels_of(row, data.empty() ? 0 : data.high() - data.low());
    laid.height = std::max(kRowHeight, kLevelHeight * static_cast<double>(laid.levels.size()));
    rows_height += laid.height;
  }
  const double below = 32 + (full_title(plot.x).empty() ? 0 : 22);
  const double height = plot.size.height > 0 ? plot.size.height : top + rows_height + below;

  Svg svg(plot.size.width, height, plot.heading.title);
  draw_heading(svg, plot.heading, legend, plot.size.width);
  const double left = kMargin + name_width(plot) + 10;
  const Box area{left, top, std::max(20.0, plot.size.width - left - 26), std::max(20.0, height - top - below)};

  // Time has ends of its own: no padding around the first and last slice.
  Axis x_axis = plot.x;
  x_axis.log = false;
  if (!data.empty() && data.low() < data.high()) {
    if (!x_axis.minimum) x_axis.minimum = data.low();
    if (!x_axis.maximum) x_axis.maximum = data.high();
  }
  Scale x(x_axis, data, Fit::kTight, 90, area.width);
  x.place(area.x, area.x + area.width);

  double row_top = area.y;
  for (LaidRow& row : rows) {
    row.height *= area.height / rows_height;
    row.top = row_top;
    row_top += row.height;
    if (row.height < kSmallestReadableRow || &row == &rows.front()) continue;
    svg.line({area.x, row.top}, {area.x + area.width, row.top}, {.stroke = kGrid, .stroke_width = 0.75});
  }
  draw_x_axis(svg, x, full_title(plot.x), area, true);
  if (data.empty()) draw_no_data(svg, area);
  svg.begin_clip(area);
  for (const LaidRow& row : rows) {
    const double level_height = row.height / static_cast<double>(row.levels.size());
    for (std::size_t level = 0; level < row.levels.size(); ++level)
      draw_level(svg, row.levels[level], x, row.top + level_height * static_cast<double>(level), level_height);
  }
  svg.end_clip();
  // Where rows are too low for a name each, the next one that has space for it.
  double named_until = -std::numeric_limits<double>::infinity();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double middle = rows[r].top + rows[r].height / 2;
    if (middle - kSmallestReadableRow / 2 < named_until - 1e-6) continue;
    named_until = middle + kSmallestReadableRow / 2;
    svg.text({area.x - 10, middle + 4}, fit_text(plot.rows[r].name, kTickSize, kRowNameShare * plot.size.width),
             {.size = kTickSize, .colour = kInk, .anchor = Anchor::kEnd});
  }
  return std::move(svg).finish();
}

}  // namespace orrery::plot
