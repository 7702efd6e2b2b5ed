#include "base/plot/svg.h"

#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>

namespace orrery::plot {

namespace {

constexpr std::string_view kFonts =
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif";

// One decoded character; length 0 means the byte is not the start of valid UTF-8.
struct Character {
  std::uint32_t code = 0;
  std::size_t length = 0;
};

Character decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {byte(0), 1};
  const std::size_t length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < length) return {};
  std::uint32_t code = byte(0) & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3Fu);
  }
  static constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool valid = code >= kSmallest[length] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
  return valid ? Character{code, length} : Character{};
}

bool allowed_in_xml(std::uint32_t code) {
  if (code < 0x20) return code == '\t' || code == '\n' || code == '\r';
  return code != 0xFFFE && code != 0xFFFF;
}

// Calls `use` for each character with its bytes; bytes that are not UTF-8 come one by one with code 0.
template <class Use>
void for_each_character(std::string_view text, Use use) {
  while (!text.empty()) {
    const Character character = decode(text);
    const std::size_t length = std::max<std::size_t>(1, character.length);
    if (!use(character.code, text.substr(0, length))) return;
    text.remove_prefix(length);
  }
}

// Widths in units of the font size, a little above Helvetica's so that wider fonts fit too.
double character_width(std::uint32_t code) {
  constexpr double kWideScripts = 1.0, kOther = 0.64, kNarrow = 0.34, kBroad = 0.92, kCapital = 0.72;
  if (code >= 0x1100) return code >= 0x2000 && code < 0x2E80 ? kOther : kWideScripts;
  if (code >= 0x80) return kOther;
  if (std::string_view("ijl.,:;'|!fItr()[]{} `").find(static_cast<char>(code)) != std::string_view::npos)
    return kNarrow;
  if (std::string_view("mwMW@%").find(static_cast<char>(code)) != std::string_view::npos) return kBroad;
  return code >= 'A' && code <= 'Z' ? kCapital : 0.6;
}

// At most two decimals, without trailing zeros.
std::string number(double value) {
  if (!std::isfinite(value)) return "0";
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string point_list(std::span<const Pixel> points) {
  std::string text = " points=\"";
  for (const Pixel& point : points) {
    if (text.back() != '"') text += ' ';
    text += number(point.x) + "," + number(point.y);
  }
  return text + "\"";
}

}  // namespace

std::string escape_xml(std::string_view text) {
  std::string escaped;
  for_each_character(text, [&](std::uint32_t code, std::string_view bytes) {
    if (code == '&')
      escaped += "&amp;";
    else if (code == '<')
      escaped += "&lt;";
    else if (code == '>')
      escaped += "&gt;";
    else if (code == '"')
      escaped += "&quot;";
    else if (code == '\'')
      escaped += "&#39;";
    else if (!allowed_in_xml(code))
      escaped += '?';
    else
      escaped += bytes;
    return true;
  });
  return escaped;
}

double text_width(std::string_view text, double size) {
  double width = 0;
  for_each_character(text, [&](std::uint32_t code, std::string_view) {
    width += character_width(code) * size;
    return true;
  });
  return width;
}

std::string fit_text(std::string_view text, double size, double width) {
  if (text_width(text, size) <= width) return std::string(text);
  constexpr std::string_view kEllipsis = "…";
  double left = width - text_width(kEllipsis, size);
  std::string fitted;
  for_each_character(text, [&](std::uint32_t code, std::string_view bytes) {
    left -= character_width(code) * size;
    if (left < 0) return false;
    fitted += bytes;
    return true;
  });
  while (!fitted.empty() && fitted.back() == ' ') fitted.pop_back();
  return fitted + std::string(kEllipsis);
}

Svg::Svg(double width, double height, std::string_view description) {
  const std::string title = escape_xml(description);
  out_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\" "
      "aria-label=\"{2}\" font-family=\"{3}\">\n",
      number(width), number(height), title, kFonts);
  rect({0, 0, width, height}, {.fill = "#ffffff"});
}

void Svg::rect(const Box& box, const Paint& paint, std::string_view tooltip) {
  shape("rect",
        fmt::format(" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", number(box.x), number(box.y), number(box.width),
                    number(box.height)),
        paint, tooltip);
}

void Svg::line(Pixel from, Pixel to, const Paint& paint) {
  shape("line",
        fmt::format(" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"", number(from.x), number(from.y), number(to.x),
                    number(to.y)),
        paint, {});
}

void Svg::polyline(std::span<const Pixel> points, const Paint& paint) {
  shape("polyline", point_list(points) + " stroke-linejoin=\"round\" stroke-linecap=\"round\"", paint, {});
}

void Svg::polygon(std::span<const Pixel> points, const Paint& paint) {
  shape("polygon", point_list(points), paint, {});
}

void Svg::circle(Pixel center, double radius, const Paint& paint, std::string_view tooltip) {
  shape("circle", fmt::format(" cx=\"{}\" cy=\"{}\" r=\"{}\"", number(center.x), number(center.y), number(radius)),
        paint, tooltip);
}

void Svg::text(Pixel at, std::string_view text, const TextStyle& style) {
  static constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
  out_ += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"", number(at.x), number(at.y),
                      number(style.size), style.colour);
  if (style.anchor != Anchor::kStart)
    out_ += fmt::format(" text-anchor=\"{}\"", kAnchors[static_cast<std::size_t>(style.anchor)]);
  if (style.bold) out_ += " font-weight=\"600\"";
  if (style.rotation != 0)
    out_ += fmt::format(" transform=\"rotate({} {} {})\"", number(style.rotation), number(at.x), number(at.y));
  out_ += fmt::format(">{}</text>\n", escape_xml(text));
}

// A nested svg element clips without an id, so one page can hold several plots.
void Svg::begin_clip(const Box& box) {
  const std::string x = number(box.x), y = number(box.y), width = number(box.width), height = number(box.height);
  out_ += fmt::format("<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\">\n", x, y,
                      width, height);
}

void Svg::end_clip() {
  out_ += "</svg>\n";
}

std::string Svg::finish() && {
  out_ += "</svg>\n";
  return std::move(out_);
}

void Svg::shape(std::string_view name, std::string_view geometry, const Paint& paint, std::string_view tooltip) {
  out_ += fmt::format("<{}{} fill=\"{}\"", name, geometry, paint.fill.empty() ? "none" : paint.fill);
  if (!paint.stroke.empty())
    out_ += fmt::format(" stroke=\"{}\" stroke-width=\"{}\"", paint.stroke, number(paint.stroke_width));
  if (!paint.dash.empty()) out_ += fmt::format(" stroke-dasharray=\"{}\"", paint.dash);
  if (paint.opacity != 1) out_ += fmt::format(" opacity=\"{}\"", number(paint.opacity));
  if (tooltip.empty()) {
    out_ += "/>\n";
  } else {
    out_ += fmt::format("><title>{}</title></{}>\n", escape_xml(tooltip), name);
  }
}

}  // namespace orrery::plot
