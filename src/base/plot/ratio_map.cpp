#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/plot/figure.h"
#include "base/text.h"

namespace orrery::plot {

namespace {

constexpr double kRowHeight = 30, kColumnNames = 24, kLongestRowName = 180;
constexpr double kStrongest = 100;  // a ratio whose colour is full

struct Rgb {
  double red, green, blue;
};
constexpr Rgb kAbove = {68, 119, 170}, kBelow = {238, 102, 119};  // blue and red of the series' colours

std::string colour_of(double ratio) {
  const Rgb full = ratio >= 1 ? kAbove : kBelow;
  const double share = std::min(1.0, std::abs(std::log(ratio)) / std::log(kStrongest));
  const auto mixed = [share](double channel) { return static_cast<int>(std::lround(255 + share * (channel - 255))); };
  return fmt::format("#{:02x}{:02x}{:02x}", mixed(full.red), mixed(full.green), mixed(full.blue));
}

void draw_cell(Svg& svg, const Box& box, double ratio) {
  const std::string colour = colour_of(ratio);
  svg.rect({box.x + 0.5, box.y + 0.5, std::max(0.5, box.width - 1), box.height - 1}, {.fill = colour});
  const std::string text = fit_text(format_number(ratio, 3), kTickSize, box.width - 4);
  svg.text({box.x + box.width / 2, box.y + box.height / 2 + 4}, text,
           {.size = kTickSize, .colour = text_colour_on(colour), .anchor = Anchor::kMiddle});
}

}  // namespace

std::string ratio_map(const RatioMap& map) {
  double names = 0;
  for (const RatioRow& row : map.rows) names = std::max(names, text_width(row.name, kTickSize));
  names = std::min({names, kLongestRowName, map.width / 2});
  const double rows = std::max<double>(1, static_cast<double>(map.rows.size()));
  // The heading is drawn into a figure that must know its height first.
  Svg sketch(map.width, 1, map.heading.title);
  const double top = draw_heading(sketch, map.heading, {}, map.width) + kColumnNames;
  const Box area{kMargin + names + 8, top, std::max(1.0, map.width - names - 8 - 2 * kMargin), rows * kRowHeight};
  const double title_height = map.x_title.empty() ? 0 : 22;
  Svg svg(map.width, top + area.height + title_height + kMargin, map.heading.title);
  draw_heading(svg, map.heading, {}, map.width);

  const double slot = area.width / std::max<double>(1, static_cast<double>(map.columns.size()));
  bool empty = true;
  for (std::size_t c = 0; c < map.columns.size(); ++c) {
    svg.text({area.x + slot * (static_cast<double>(c) + 0.5), top - 8}, fit_text(map.columns[c], kTickSize, slot - 4),
             {.size = kTickSize, .colour = kMuted, .anchor = Anchor::kMiddle});
  }
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    const RatioRow& row = map.rows[r];
    const double y = area.y + kRowHeight * static_cast<double>(r);
    svg.text({area.x - 8, y + kRowHeight / 2 + 4}, fit_text(row.name, kTickSize, names),
             {.size = kTickSize, .colour = kMuted, .anchor = Anchor::kEnd});
    for (std::size_t c = 0; c < std::min(row.values.size(), map.columns.size()); ++c) {
      if (!can_show(row.values[c], true)) continue;
      empty = false;
      draw_cell(svg, {area.x + slot * static_cast<double>(c), y, slot, kRowHeight}, row.values[c]);
    }
  }
  if (empty) draw_no_data(svg, area);
  if (title_height > 0) draw_x_title(svg, map.x_title, area, area.y + area.height + title_height - 2);
  return std::move(svg).finish();
}

}  // namespace orrery::plot
