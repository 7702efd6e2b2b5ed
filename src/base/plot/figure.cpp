#include "base/plot/figure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

namespace orrery::plot {

namespace {

constexpr std::array<std::string_view, 7> kColours = {"#4477aa", "#ee6677", "#228833", "#aa3377",
                                                      "#ccbb44", "#66ccee", "#8a8a8a"};
constexpr double kLegendLine = 20;
constexpr double kEntryGap = 22;
constexpr double kLongestNameInColumns = 185;  // three columns in a figure of usual width
constexpr std::size_t kMostEntries = 24;
constexpr double kRightMargin = 26;  // space for half of the last tick's label
constexpr double kTickLabelHeight = 22;
constexpr double kAxisTitleHeight = 22;

void draw_mark(Svg& svg, const LegendEntry& entry, double x, double middle) {
  switch (entry.mark) {
    case LegendMark::kBox:
      svg.rect({x, middle - 5.5, 11, 11}, {.fill = entry.colour});
      return;
    case LegendMark::kDot:
      svg.circle({x + 5, middle}, 4.5, {.fill = entry.colour});
      return;
    case LegendMark::kLine:
    case LegendMark::kLineWithDot:
      svg.line({x, middle}, {x + 17, middle}, {.stroke = entry.colour, .stroke_width = 2, .dash = entry.dash});
      if (entry.mark == LegendMark::kLineWithDot) svg.circle({x + 8.5, middle}, 3, {.fill = entry.colour});
      return;
  }
}

double mark_width(LegendMark mark) {
  return mark == LegendMark::kBox || mark == LegendMark::kDot ? 17 : 23;
}

// A legend longer than this does not help and leaves no space for data.
std::vector<LegendEntry> shortened(std::span<const LegendEntry> entries) {
  std::vector<LegendEntry> named;
  for (const LegendEntry& entry : entries) {
    if (!entry.name.empty()) named.push_back(entry);
  }
  if (named.size() <= kMostEntries) return named;
  const std::size_t left_out = named.size() - kMostEntries;
  named.resize(kMostEntries);
  named.push_back({.name = fmt::format("and {} more", left_out), .colour = "none"});
  return named;
}

double widest(const std::vector<std::string>& labels, double size) {
  double width = 0;
  for (const std::string& label : labels) width = std::max(width, text_width(label, size));
  return width;
}

}  // namespace

std::string_view series_colour(std::size_t index) {
  return kColours[index % kColours.size()];
}

std::string_view series_dash(std::size_t index, bool dashed) {
  static constexpr std::array<std::string_view, 3> kRounds = {"", "2 3", "8 3 2 3"};
  if (dashed) return "6 4";
  return kRounds[(index / kColours.size()) % kRounds.size()];
}

std::string_view text_colour_on(std::string_view colour) {
  const auto channel = [&](std::size_t at) {
    return static_cast<double>(std::strtol(std::string(colour.substr(at, 2)).c_str(), nullptr, 16));
  };
  const double brightness = 0.299 * channel(1) + 0.587 * channel(3) + 0.114 * channel(5);
  return brightness > 135 ? kInk : "#ffffff";
}

std::vector<PlacedEntry> place_legend(std::span<const LegendEntry> entries, double left, double top, double width) {
  const std::vector<LegendEntry> named = shortened(entries);
  std::vector<PlacedEntry> placed;
  double x = left;
  for (const LegendEntry& entry : named) {
    const double wide = mark_width(entry.mark) + text_width(entry.name, kLabelSize);
    placed.push_back({entry, {x, top, wide, kLegendLine}});
    x += wide + kEntryGap;
  }
  if (x - kEntryGap <= left + width) return placed;

  double longest = 0;
  for (PlacedEntry& one : placed) {
    const double mark = mark_width(one.entry.mark);
    one.entry.name = fit_text(one.entry.name, kLabelSize, std::clamp(width - mark, 0.0, kLongestNameInColumns));
    one.box.width = mark + text_width(one.entry.name, kLabelSize);
    longest = std::max(longest, one.box.width);
  }
  const auto columns = std::max<std::size_t>(1, static_cast<std::size_t>((width + kEntryGap) / (longest + kEntryGap)));
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const std::size_t row = i / columns, column = i % columns;
    placed[i].box.x = left + static_cast<double>(column) * (longest + kEntryGap);
    placed[i].box.y = top + static_cast<double>(row) * kLegendLine;
  }
  return placed;
}

double draw_heading(Svg& svg, const Heading& heading, std::span<const LegendEntry> legend, double width) {
  const double room = width - 2 * kMargin;
  double y = kMargin - 4;
  if (!heading.title.empty()) {
    constexpr double kTitleSize = 16;
    y += 18;
    // Bold letters are about a tenth wider.
    svg.text({kMargin, y}, fit_text(heading.title, kTitleSize * 1.1, room),
             {.size = kTitleSize, .colour = kInk, .bold = true});
  }
  if (!heading.subtitle.empty()) {
    y += 19;
    svg.text({kMargin, y}, fit_text(heading.subtitle, 12.5, room), {.size = 12.5, .colour = kMuted});
  }
  if (y > kMargin) y += 9;
  const std::vector<PlacedEntry> placed = place_legend(legend, kMargin, y, room);
  for (const PlacedEntry& one : placed) {
    draw_mark(svg, one.entry, one.box.x, one.box.y + kLegendLine / 2);
    svg.text({one.box.x + mark_width(one.entry.mark), one.box.y + kLegendLine / 2 + 4}, one.entry.name,
             {.size = kLabelSize, .colour = kInk});
  }
  if (!placed.empty()) y = placed.back().box.y + kLegendLine;
  return y + 12;
}

Box data_area(const Scale& y, const Axis& x_axis, const Axis& y_axis, double top, Size size) {
  const double left = kMargin + (full_title(y_axis).empty() ? 0 : kAxisTitleHeight) + widest(y.labels(), kTickSize) + 8;
  const double below = kTickLabelHeight + (full_title(x_axis).empty() ? 0 : kAxisTitleHeight) + 10;
  // A tiny figure still has an area, even if it is ugly.
  return {left, top, std::max(20.0, size.width - left - kRightMargin), std::max(20.0, size.height - top - below)};
}

void draw_x_axis(Svg& svg, const Scale& x, const std::string& title, const Box& area, bool gridlines) {
  const double bottom = area.y + area.height;
  double free_from = -1e9;  // where the last label ended
  for (std::size_t i = 0; i < x.ticks().size(); ++i) {
    const double at = x.position(x.ticks()[i]);
    if (gridlines) svg.line({at, area.y}, {at, bottom}, {.stroke = kGrid});
    svg.line({at, bottom}, {at, bottom + 4}, {.stroke = kAxisLine});
    const double half = text_width(x.labels()[i], kTickSize) / 2;
    if (at - half < free_from) continue;
    svg.text({at, bottom + 17}, x.labels()[i], {.size = kTickSize, .colour = kMuted, .anchor = Anchor::kMiddle});
    free_from = at + half + 4;
  }
  for (const double tick : x.minor_ticks())
    svg.line({x.position(tick), bottom}, {x.position(tick), bottom + 2.5}, {.stroke = kAxisLine, .stroke_width = 0.75});
  svg.line({area.x, bottom}, {area.x + area.width, bottom}, {.stroke = kAxisLine});
  draw_x_title(svg, title, area, bottom + kTickLabelHeight + 15);
}

void draw_x_title(Svg& svg, const std::string& title, const Box& area, double baseline) {
  if (title.empty()) return;
  svg.text({area.x + area.width / 2, baseline}, fit_text(title, kLabelSize, area.width),
           {.size = kLabelSize, .colour = kInk, .anchor = Anchor::kMiddle});
}

void draw_y_axis(Svg& svg, const Scale& y, const std::string& title, const Box& area) {
  for (std::size_t i = 0; i < y.ticks().size(); ++i) {
    const double at = y.position(y.ticks()[i]);
    svg.line({area.x, at}, {area.x + area.width, at}, {.stroke = kGrid});
    svg.text({area.x - 8, at + 4}, y.labels()[i], {.size = kTickSize, .colour = kMuted, .anchor = Anchor::kEnd});
  }
  for (const double tick : y.minor_ticks())
    svg.line({area.x - 2.5, y.position(tick)}, {area.x, y.position(tick)}, {.stroke = kAxisLine, .stroke_width = 0.75});
  if (title.empty()) return;
  svg.text({kMargin + 10, area.y + area.height / 2}, fit_text(title, kLabelSize, area.height),
           {.size = kLabelSize, .colour = kInk, .anchor = Anchor::kMiddle, .rotation = -90});
}

Box with_margin(const Box& area, double margin) {
  return {area.x - margin, area.y - margin, area.width + 2 * margin, area.height + 2 * margin};
}

void draw_no_data(Svg& svg, const Box& area) {
  svg.text({area.x + area.width / 2, area.y + area.height / 2}, "no data",
           {.size = 13, .colour = kMuted, .anchor = Anchor::kMiddle});
}

bool overlap(const Box& a, const Box& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

}  // namespace orrery::plot
