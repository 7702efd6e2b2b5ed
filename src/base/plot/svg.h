#pragma once
// Writes SVG elements and measures text. Deterministic: the same calls give the same bytes. Coordinates are pixels with
// the origin at the top left; numbers are written with two decimals.

#include <span>
#include <string>
#include <string_view>

namespace orrery::plot {

struct Pixel {
  double x = 0;
  double y = 0;
};

struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

// How a shape is painted. An empty colour means none.
struct Paint {
  std::string_view fill{};
  std::string_view stroke{};
  double stroke_width = 1;
  double opacity = 1;
  std::string_view dash{};  // "6 3"
};

enum class Anchor { kStart, kMiddle, kEnd };

struct TextStyle {
  double size = 12;
  std::string_view colour = "#333333";
  Anchor anchor = Anchor::kStart;
  bool bold = false;
  double rotation = 0;  // degrees clockwise around the position
};

// Text that is safe between tags and in attributes. Characters XML cannot hold, and bytes that are not UTF-8, become
// '?'.
std::string escape_xml(std::string_view text);

// About how wide text is in a common sans-serif font, erring on the wide side.
double text_width(std::string_view text, double size);

// The text, or as much of its beginning as fits in `width` with an ellipsis.
std::string fit_text(std::string_view text, double size, double width);

class Svg {
 public:
  // `description` is the text for screen readers.
  Svg(double width, double height, std::string_view description);

  void rect(const Box& box, const Paint& paint, std::string_view tooltip = {});
  void line(Pixel from, Pixel to, const Paint& paint);
  void polyline(std::span<const Pixel> points, const Paint& paint);
  void polygon(std::span<const Pixel> points, const Paint& paint);
  void circle(Pixel center, double radius, const Paint& paint, std::string_view tooltip = {});
  // `at` is on the baseline.
  void text(Pixel at, std::string_view text, const TextStyle& style);

  // Everything until end_clip() shows inside `box` only. Does not nest.
  void begin_clip(const Box& box);
  void end_clip();

  // The document. The writer is used up.
  std::string finish() &&;

 private:
  void shape(std::string_view name, std::string_view geometry, const Paint& paint, std::string_view tooltip);

  std::string out_;
};

}  // namespace orrery::plot
