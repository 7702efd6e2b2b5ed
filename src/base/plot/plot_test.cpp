#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck.h>

#include "base/plot/figure.h"
#include "base/plot/plots.h"
#include "base/random.h"

namespace orrery::plot {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Elements nest, attributes are quoted, no stray '<' or '&': enough XML for what Svg writes. Returns what is wrong.
std::string xml_error(std::string_view text) {
  std::vector<std::string> open;
  while (!text.empty()) {
    const std::size_t start = text.find('<');
    const std::string_view content = text.substr(0, start);
    for (std::size_t at = content.find('&'); at != std::string_view::npos; at = content.find('&', at + 1)) {
      const std::size_t end = content.find(';', at);
      if (end == std::string_view::npos || end - at > 6) return "stray &";
    }
    if (start == std::string_view::npos) break;
    const std::size_t end = text.find('>', start);
    if (end == std::string_view::npos) return "unfinished tag";
    const std::string_view tag = text.substr(start + 1, end - start - 1);
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0 || tag.find('<') != std::string_view::npos) return "bad tag";
    text.remove_prefix(end + 1);
    const std::string name(tag.substr(tag[0] == '/', tag.find_first_of(" /", 1) - (tag[0] == '/')));
    if (tag[0] == '/') {
      if (open.empty() || open.back() != name) return "closes " + name;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
  }
  return open.empty() ? "" : "not closed: " + open.back();
}

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

void expect_well_formed(const std::string& svg) {
  EXPECT_EQ(xml_error(svg), "");
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(TicksTest, AreNiceIncreasingAndInsideTheRange) {
  EXPECT_EQ(linear_ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(linear_ticks(0, 0.3, 3), (std::vector<double>{0, 0.1, 0.2, 0.3}));
  EXPECT_TRUE(rc::check([] {
    const double low = *rc::gen::map(rc::gen::inRange(-100000, 100000), [](int v) { return v * 0.37; });
    const double span = std::pow(10, *rc::gen::inRange(-4, 9)) * *rc::gen::inRange(1, 99);
    const int target = *rc::gen::inRange(2, 12);
    const std::vector<double> ticks = linear_ticks(low, low + span, target);
    RC_ASSERT(ticks.size() >= 2);
    RC_ASSERT(ticks.size() <= static_cast<std::size_t>(std::max(target, 4)) + 1);
    RC_ASSERT(ticks.size() * 3 >= static_cast<std::size_t>(target));
    const double slack = 1e-6 * span + 1e-14 * std::abs(low);
    RC_ASSERT(ticks.front() >= low - slack && ticks.back() <= low + span + slack);
    for (std::size_t i = 1; i < ticks.size(); ++i) {
      const double step = ticks[i] - ticks[i - 1];
      const double mantissa = step / std::pow(10, std::floor(std::log10(step) + 1e-6));
      RC_ASSERT(std::abs(mantissa - 1) < 1e-3 || std::abs(mantissa - 2) < 1e-3 || std::abs(mantissa - 5) < 1e-3);
    }
  }));
}

TEST(TicksTest, LogarithmicOnesAreDecadesOrOneTwoFive) {
  EXPECT_EQ(log_ticks(1, 1000, 6), (std::vector<double>{1, 10, 100, 1000}));
  EXPECT_EQ(log_ticks(1, 50, 6), (std::vector<double>{1, 2, 5, 10, 20, 50}));
  EXPECT_EQ(log_ticks(30, 5000, 6), (std::vector<double>{50, 100, 200, 500, 1000, 2000, 5000}))
      << "two powers of ten alone would leave the reader guessing";
  EXPECT_LE(log_ticks(1e-30, 1e30, 6).size(), 7u);
  EXPECT_GE(log_ticks(3, 4, 5).size(), 3u) << "a small part of a decade gets linear ticks";
  EXPECT_EQ(minor_log_ticks(1, 10).size(), 8u);
}

TEST(TicksTest, LabelsAreShortAndDistinct) {
  EXPECT_EQ(tick_labels({0, 0.5, 1}), (std::vector<std::string>{"0", "0.5", "1.0"}));
  EXPECT_EQ(tick_labels({-20, 0, 20}), (std::vector<std::string>{"−20", "0", "20"}));
  EXPECT_EQ(tick_labels({0, 20000}), (std::vector<std::string>{"0", "20,000"}));
  EXPECT_EQ(tick_labels({1e6, 1.5e6}), (std::vector<std::string>{"1.0M", "1.5M"}));
  EXPECT_EQ(tick_labels({0.1, 1, 10}), (std::vector<std::string>{"0.1", "1", "10"}));
  EXPECT_EQ(tick_labels({0.5, 1, 2, 5}), (std::vector<std::string>{"0.5", "1", "2", "5"}));
  EXPECT_EQ(tick_labels({1e-6, 1e-5}), (std::vector<std::string>{"10⁻⁶", "10⁻⁵"}));
  EXPECT_EQ(tick_labels({2e-6, 4e-6}), (std::vector<std::string>{"2×10⁻⁶", "4×10⁻⁶"}));
  EXPECT_TRUE(rc::check([] {
    const double low = *rc::gen::inRange(-1000, 1000);
    const double span = std::pow(10, *rc::gen::inRange(-3, 12)) * *rc::gen::inRange(1, 99);
    const std::vector<std::string> labels = tick_labels(linear_ticks(low, low + span, 6));
    for (std::size_t i = 1; i < labels.size(); ++i) RC_ASSERT(labels[i] != labels[i - 1]);
  }));
}

TEST(ScaleTest, ContainsTheDataWhateverItIs) {
  EXPECT_TRUE(rc::check([](const std::vector<double>& values, bool log, bool to_ticks) {
    Extent data;
    for (const double value : values) data.add(value, log);
    Scale scale({.log = log}, data, to_ticks ? Fit::kToTicks : Fit::kTight, 50, 400);
    scale.place(0, 400);
    RC_ASSERT(std::isfinite(scale.low()) && std::isfinite(scale.high()));
    RC_ASSERT(scale.low() < scale.high());
    if (data.empty()) return;
    RC_ASSERT(scale.position(data.low()) >= -0.01);
    RC_ASSERT(scale.position(data.high()) <= 400.01);
  }));
}

TEST(ScaleTest, OneValueStandsInTheMiddleAndZeroIsKept) {
  Extent one;
  one.add(7, false);
  Scale scale({}, one, Fit::kTight, 50, 400);
  scale.place(0, 100);
  EXPECT_DOUBLE_EQ(scale.position(7), 50);
  EXPECT_EQ(Scale({.from_zero = true}, one, Fit::kToTicks, 50, 400).low(), 0);
}

TEST(ScaleTest, WithoutDataNoNumbersAreInvented) {
  EXPECT_TRUE(Scale({}, Extent(), Fit::kToTicks, 50, 400).labels().empty());
  EXPECT_FALSE(Scale({.minimum = 0, .maximum = 1}, Extent(), Fit::kToTicks, 50, 400).labels().empty());
}

TEST(SvgTest, EscapesWhatXmlCannotHold) {
  EXPECT_EQ(escape_xml("a<b & \"c\" > 'd'"), "a&lt;b &amp; &quot;c&quot; &gt; &#39;d&#39;");
  EXPECT_EQ(escape_xml("µs → 3×"), "µs → 3×");
  EXPECT_EQ(escape_xml(std::string_view("\x01\xff\xc3-\xed\xa0\x80", 7)),
            "??"
            "?-???");
  EXPECT_EQ(escape_xml("\xe2\x82"), "??") << "cut in the middle of a character";
}

TEST(SvgTest, FittedTextFits) {
  EXPECT_EQ(fit_text("short", 12, 100), "short");
  EXPECT_TRUE(rc::check([](const std::string& text) {
    const double width = *rc::gen::inRange(20, 400);
    const std::string fitted = fit_text(text, 12, width);
    RC_ASSERT(text_width(fitted, 12) <= width);
    RC_ASSERT(fitted == text || fitted.ends_with("…"));
  }));
}

TEST(LegendTest, EntriesNeverOverlapAndStayInTheFigure) {
  EXPECT_TRUE(rc::check([] {
    const auto lengths = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 80));
    std::vector<LegendEntry> entries;
    for (const int length : lengths) entries.push_back({.name = std::string(static_cast<std::size_t>(length), 'w')});
    const double width = *rc::gen::inRange(120, 1000);
    const std::vector<PlacedEntry> placed = place_legend(entries, 10, 10, width);
    for (std::size_t i = 0; i < placed.size(); ++i) {
      RC_ASSERT(placed[i].box.x + placed[i].box.width <= 10 + width + 0.01);
      for (std::size_t j = 0; j < i; ++j) RC_ASSERT(!overlap(placed[i].box, placed[j].box));
    }
  }));
}

TEST(LegendTest, VeryManyEntriesAreSummedUp) {
  const std::vector<LegendEntry> entries(100, LegendEntry{.name = "series"});
  EXPECT_EQ(place_legend(entries, 0, 0, 600).back().entry.name, "and 76 more");
}

TEST(LinePlotTest, ANotANumberLeavesAGap) {
  LinePlot plot;
  plot.series.push_back({.name = "s", .points = {{0, 1}, {1, 2}, {2, kNaN}, {3, 1}, {4, 2}, {5, kInfinity}, {6, 1}}});
  const std::string svg = line_plot(plot);
  expect_well_formed(svg);
  EXPECT_EQ(count(svg, "<polyline"), 2u);
  EXPECT_EQ(count(svg, "<circle"), 1u) << "the lonely last point is a dot";
}

TEST(TicksTest, DoublingOnesArePowersOfTwo) {
  EXPECT_EQ(doubling_ticks(1, 16, 8), (std::vector<double>{1, 2, 4, 8, 16}));
  EXPECT_EQ(doubling_ticks(0.9, 70, 4), (std::vector<double>{1, 4, 16, 64}));
  EXPECT_EQ(doubling_ticks(3, 3.5, 4), std::vector<double>());
}

TEST(LinePlotTest, BatchSizesThatDoubleAreNamedOnTheAxis) {
  LinePlot plot{.x = {.log = true}, .y = {}};
  plot.series.push_back({.name = "a", .points = {{4, 1}, {8, 2}, {64, 3}}});
  EXPECT_NE(line_plot(plot).find(">64</text>"), std::string::npos);
  plot.series[0].points.push_back({60, 4});
  EXPECT_EQ(line_plot(plot).find(">64</text>"), std::string::npos);
}

TEST(LinePlotTest, ALogarithmicAxisLeavesOutWhatIsNotPositive) {
  LinePlot plot{.x = {.log = true}, .y = {.log = true}};
  plot.series.push_back({.points = {{0, 1}, {1, 0}, {10, -1}, {100, 5}, {1000, 50}}, .band = {{1, 0, 2}, {10, 1, 2}}});
  const std::string svg = line_plot(plot);
  expect_well_formed(svg);
  EXPECT_EQ(count(svg, "<polyline"), 1u);
}

TEST(PlotsTest, EmptyPlotsSaySo) {
  for (const std::string& svg : {line_plot({}), bar_plot({}), scatter_plot({}), gantt_plot({})}) {
    expect_well_formed(svg);
    EXPECT_NE(svg.find("no data"), std::string::npos);
  }
  EXPECT_NE(line_plot({.series = {{.name = "empty"}}}).find(">empty<"), std::string::npos);
}

TEST(PlotsTest, HostileTextsAndTinySizesAreWellFormed) {
  const std::string evil = "</text><script>alert('x')</script>&\xff" + std::string(500, 'W');
  const Heading heading{evil, evil};
  const Axis axis{.title = evil, .unit = evil};
  for (const Size size : {Size{720, 420}, Size{10, 10}}) {
    const std::vector<std::string> plots = {
        line_plot({heading, axis, axis, {{.name = evil, .points = {{1, 1}}}}, size}),
        bar_plot({.heading = heading,
                  .groups = {evil, "b"},
                  .x_title = evil,
                  .y = axis,
                  .series = {{evil, {1, kNaN}, {}}},
                  .value_labels = true,
                  .size = size}),
        scatter_plot({.heading = heading,
                      .x = axis,
                      .y = axis,
                      .series = {{evil, {{1, 1, evil}, {1, kNaN, evil}}}},
                      .pareto = Preference{},
                      .diagonal = true,
                      .size = size}),
        ratio_map({heading, {evil}, {{evil, {1, kNaN, kInfinity}}, {evil, {kInfinity}}}, evil, size.width}),
        gantt_plot({heading, axis, {evil}, {{evil, {{0, 1, 0, evil}, {2, 1, 0, ""}, {kNaN, 1, 0, ""}}}}, size})};
    for (const std::string& svg : plots) {
      expect_well_formed(svg);
      EXPECT_EQ(svg.find("<script"), std::string::npos);
      EXPECT_EQ(svg.find(std::string(400, 'W') + "</text>"), std::string::npos) << "long labels are cut";
    }
  }
}

TEST(BarPlotTest, DrawsABarForEveryValueThereIs) {
  const BarPlot plot{.groups = {"a", "b", "c"}, .series = {{"s", {1, kNaN, -2}, {}}, {"t", {3}, {{0, 2, 4}}}}};
  const std::string svg = bar_plot(plot);
  expect_well_formed(svg);
  EXPECT_EQ(count(svg, "<rect"), 1u + 2u + 3u) << "background, legend, bars";
}

TEST(RatioMapTest, IsBlueAboveOneRedBelowAndWhiteThere) {
  const std::string svg =
      ratio_map({.columns = {"a", "b", "c", "d"}, .rows = {{"r", {100, 0.01, 1, kNaN}}, {"s", {10, -1, 0}}}});
  expect_well_formed(svg);
  EXPECT_EQ(count(svg, "<rect"), 1u + 4u) << "background, cells";
  EXPECT_EQ(count(svg, "#4477aa"), 1u) << "100, and as strong as it gets";
  EXPECT_EQ(count(svg, "#ee6677"), 1u) << "0.01";
  // Half of the way from white to blue on a logarithmic scale: 255 + (68 - 255) / 2 = 161.5 …
  EXPECT_EQ(count(svg, "#a2bbd5"), 1u) << "10";
}

TEST(ParetoTest, KeepsWhatNothingBeats) {
  const std::vector<Point> points = {{1, 5}, {2, 3}, {2, 4}, {3, 3}, {4, 1}, {5, 2}, {kNaN, 0}};
  const auto xs = [&](Preference preference) {
    std::vector<double> result;
    for (const Point& point : pareto_front(points, preference)) result.push_back(point.x);
    return result;
  };
  EXPECT_EQ(xs({}), (std::vector<double>{1, 2, 4}));
  EXPECT_EQ(xs({.low_x = false, .low_y = false}), (std::vector<double>{1, 2, 3, 5}));
  EXPECT_EQ(xs({.low_x = true, .low_y = false}), (std::vector<double>{1}));
}

TEST(ScatterPlotTest, LabelsThatDoNotFitAreLeftOut) {
  ScatterPlot plot;
  plot.series.emplace_back();
  for (int i = 0; i < 50; ++i) plot.series[0].points.push_back({1, 1, "crowded"});
  plot.series[0].points.push_back({0, 0, ""});
  plot.series[0].points.push_back({2, 2, "alone"});
  const std::string svg = scatter_plot(plot);
  EXPECT_GE(count(svg, ">crowded</text>"), 1u);
  EXPECT_LE(count(svg, ">crowded</text>"), 4u) << "at most one on each side";
  EXPECT_EQ(count(svg, ">alone</text>"), 1u);
}

// Two jobs on one machine at once, and a third after them: none hides another, and all names are whole.
TEST(GanttPlotTest, SlicesAtTheSameTimeLieAboveEachOther) {
  GanttPlot plot{.kinds = {"4 GPUs"}};
  plot.rows.push_back(
      {"Lambda gpu_8x_v100 (us-east-1)", {{0, 10, 0, "first"}, {6, 16, 0, "second"}, {16, 20, 0, "third"}}});
  plot.rows.push_back({"GPU", {{0, 20, 0, "alone"}}});
  const std::string svg = gantt_plot(plot);
  expect_well_formed(svg);
  for (const char* name : {"first", "second", "third", "alone", "Lambda gpu_8x_v100 (us-east-1)"}) {
    EXPECT_NE(svg.find(std::string(">") + name + "<"), std::string::npos) << name << svg;
  }
  // Of the texts inside slices, where they are drawn from above.
  const auto height_of = [&](const std::string& label) {
    const std::size_t end = svg.find(">" + label + "</text>"), begin = svg.rfind("<text", end);
    const std::size_t y = svg.find(" y=\"", begin) + 4;
    return std::stod(svg.substr(y));
  };
  EXPECT_GT(height_of("second"), height_of("first") + 10);
  EXPECT_EQ(height_of("third"), height_of("first"));
}

TEST(GanttPlotTest, ManySlicesGiveASmallFile) {
  GanttPlot plot{.kinds = {"forward", "backward"}};
  Random random(7);
  for (int r = 0; r < 8; ++r) {
    GanttRow row{.name = "GPU " + std::to_string(r)};
    double at = 0;
    for (int i = 0; i < 20000; ++i) {
      const double length = random.exponential(1e-3);
      row.slices.push_back({at, at + length, static_cast<std::size_t>(i / 1000 % 2), "operator"});
      at += length;
    }
    plot.rows.push_back(std::move(row));
  }
  const std::string svg = gantt_plot(plot);
  expect_well_formed(svg);
  EXPECT_LT(svg.size(), 2'000'000u);
  EXPECT_EQ(svg, gantt_plot(plot)) << "the same plot gives the same text";
}

}  // namespace
}  // namespace orrery::plot
