#pragma once
// Figures: values in, SVG text out. The same values always give the same text.
//
//   LinePlot plot{.heading = {.title = "Scaling of ResNet-50"}, .x = {.title = "Workers"}, .y = {.title = "Images/s"}};
//   plot.series.push_back({.name = "measured", .points = {{1, 210}, {2, 400}}});
//   std::string svg = line_plot(plot);
//
// Values that cannot be drawn (NaN, infinities, on a logarithmic axis those <= 0) are left out: a line has a gap there.
// Texts too long for their place end in an ellipsis. The legend is above the data, never on it. A plot without any
// value says "no data".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/plot/axis.h"

namespace orrery::plot {

struct Heading {
  std::string title{};
  std::string subtitle{};
};

struct Size {
  double width = 720;
  double height = 420;
};

struct Point {
  double x = 0;
  double y = 0;
};

// --- lines ---

struct Interval {
  double x = 0;
  double low = 0;
  double high = 0;
};

struct LineSeries {
  std::string name{};
  std::vector<Point> points{};   // joined in this order
  std::vector<Interval> band{};  // shaded behind the line, e.g. a 90 % interval
  bool markers = false;          // a dot at every point
  bool dashed = false;
};

struct LinePlot {
  Heading heading{};
  Axis x{};  // a logarithmic one whose values are all powers of two gets its ticks there
  Axis y{};
  std::vector<LineSeries> series{};
  Size size{};
};

std::string line_plot(const LinePlot& plot);

// --- bars ---

struct BarSeries {
  std::string name{};
  std::vector<double> values{};   // one per group; missing ones are left out
  std::vector<Interval> error{};  // optional whiskers, one per group; x is not used
};

struct BarPlot {
  Heading heading{};
  std::vector<std::string> groups{};  // named along the horizontal axis
  std::string x_title{};
  Axis y{.from_zero = true};
  std::vector<BarSeries> series{};
  bool value_labels = false;  // the value above each bar, where it fits
  Size size{};
};

std::string bar_plot(const BarPlot& plot);

// --- points ---

struct ScatterPoint {
  double x = 0;
  double y = 0;
  std::string label{};  // drawn beside the point if there is space, and shown under the mouse
};

struct ScatterSeries {
  std::string name{};
  std::vector<ScatterPoint> points{};
};

// Which direction is better on each axis.
struct Preference {
  bool low_x = true;
  bool low_y = true;
};

struct ScatterPlot {
  Heading heading{};
  Axis x{};
  Axis y{};
  std::vector<ScatterSeries> series{};
  std::optional<Preference> pareto{};  // draws the Pareto front of all points and fades the points behind it
  std::string pareto_name = "Pareto front";
  bool diagonal = false;  // draws x = y, for predicted against measured
  Size size{};
};

std::string scatter_plot(const ScatterPlot& plot);

// The points no other point beats on both axes, by increasing x; of equal points one. O(n log n).
std::vector<Point> pareto_front(std::vector<Point> points, Preference preference);

// --- ratios in a table ---

struct RatioRow {
  std::string name{};
  std::vector<double> values{};  // one per column; missing ones, and those that are not positive, are left out
};

// Cells with a number, white at 1; the further above the bluer, the further below the redder, by the logarithm.
struct RatioMap {
  Heading heading{};
  std::vector<std::string> columns{};
  std::vector<RatioRow> rows{};  // from top to bottom
  std::string x_title{};
  double width = 720;  // the height is what the rows need
};

std::string ratio_map(const RatioMap& map);

// --- Gantt ---

struct GanttSlice {
  double start = 0;
  double end = 0;
  std::size_t kind = 0;  // index into GanttPlot::kinds; decides the colour
  std::string label{};   // drawn inside if there is space, and shown under the mouse
};

struct GanttRow {
  std::string name{};
  std::vector<GanttSlice> slices{};  // those at the same time are drawn above each other
};

struct GanttPlot {
  Heading heading{};
  Axis x{.title = "Time", .unit = "s"};
  std::vector<std::string> kinds{};      // the legend
  std::vector<GanttRow> rows{};          // from top to bottom
  Size size{.width = 900, .height = 0};  // height 0: as much as the rows need
};

std::string gantt_plot(const GanttPlot& plot);

}  // namespace orrery::plot
