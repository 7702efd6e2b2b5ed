#pragma once
// What all plots share: colours, heading, legend, axes. Used by the *_plot.cpp files.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/plot/plots.h"
#include "base/plot/svg.h"

namespace orrery::plot {

inline constexpr std::string_view kInk = "#222222";
inline constexpr std::string_view kMuted = "#5f6368";
inline constexpr std::string_view kGrid = "#e8eaed";
inline constexpr std::string_view kAxisLine = "#9aa0a6";
inline constexpr double kTickSize = 11;
inline constexpr double kLabelSize = 12;
inline constexpr double kMargin = 18;

// The colour of the i-th series (Paul Tol's "bright" scheme, distinguishable with colour-blindness), repeating.
std::string_view series_colour(std::size_t index);
// A dash pattern that distinguishes series of the same colour; empty for the first round of colours.
std::string_view series_dash(std::size_t index, bool dashed);
// Black or white, whichever reads better on `colour` ("#rrggbb").
std::string_view text_colour_on(std::string_view colour);

enum class LegendMark { kLine, kLineWithDot, kBox, kDot };

struct LegendEntry {
  std::string name{};
  std::string_view colour{};
  LegendMark mark = LegendMark::kLine;
  std::string_view dash{};
};

struct PlacedEntry {
  LegendEntry entry;  // the name cut to what fits
  Box box;            // the mark and the name
};

// One line if it fits, otherwise columns, starting at `left`, `top`. Entries without a name are left out; of very many
// the last are summed up.
std::vector<PlacedEntry> place_legend(std::span<const LegendEntry> entries, double left, double top, double width);

// Draws title, subtitle and legend; returns the height where the plot may begin.
double draw_heading(Svg& svg, const Heading& heading, std::span<const LegendEntry> legend, double width);

// The area for data when both axes are numeric, once the vertical axis's labels are known.
Box data_area(const Scale& y, const Axis& x_axis, const Axis& y_axis, double top, Size size);

// Gridlines, ticks, labels and titles. The scales must be placed on `area`.
void draw_x_axis(Svg& svg, const Scale& x, const std::string& title, const Box& area, bool gridlines);
void draw_y_axis(Svg& svg, const Scale& y, const std::string& title, const Box& area);
void draw_x_title(Svg& svg, const std::string& title, const Box& area, double baseline);

// Dots may be half outside the area of the data.
Box with_margin(const Box& area, double margin);

void draw_no_data(Svg& svg, const Box& area);

bool overlap(const Box& a, const Box& b);

}  // namespace orrery::plot
