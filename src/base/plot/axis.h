#pragma once
// Axes: which range to show, where the ticks go, what they say, and where a value lies in pixels. Pure functions of
// their arguments.
//
// Ticks are at multiples of 1, 2 or 5 times a power of ten; on a logarithmic axis at powers of ten, or at 1, 2 and 5
// times them when fewer than three powers are shown, or at powers of two when the axis asks for them.

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace orrery::plot {

// What the caller states about an axis.
struct Axis {
  std::string title{};
  std::string unit{};      // shown in parentheses after the title
  bool log = false;        // values that are not positive are left out
  bool doubling = false;   // a logarithmic axis has its ticks at powers of two
  bool from_zero = false;  // the range contains 0 (linear axes)
  std::optional<double> minimum{};
  std::optional<double> maximum{};
};

// "Iteration time (ms)".
std::string full_title(const Axis& axis);

// The smallest interval that contains all values added.
class Extent {
 public:
  // Ignores values an axis of this kind cannot show: NaN, infinities and, on a logarithmic axis, those <= 0.
  void add(double value, bool log);
  bool empty() const { return low_ > high_; }
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

// Whether a value can be drawn on an axis.
bool can_show(double value, bool log);

// Multiples of 1, 2 or 5 × 10^k inside [low, high], about `target` of them, increasing. Precondition: low <= high,
// finite.
std::vector<double> linear_ticks(double low, double high, int target);
// As above for a logarithmic axis. Precondition: 0 < low <= high.
std::vector<double> log_ticks(double low, double high, int target);
// Powers of two inside [low, high], every one or every 2nd, 3rd…, so that there are about `target`. Precondition:
// 0 < low <= high.
std::vector<double> doubling_ticks(double low, double high, int target);
// 2…9 × 10^k inside [low, high], for unlabelled marks; none when the decades are too dense for them.
std::vector<double> minor_log_ticks(double low, double high);
// One text per tick: for equal steps all in the same notation ("0.25", "20,000", "1.5M", "2×10⁻⁶"), for growing ones
// each in its shortest ("0.5", "1", "10").
std::vector<std::string> tick_labels(const std::vector<double>& ticks);

enum class Fit {
  kTight,   // ends near the data
  kToTicks  // ends at ticks
};

// A range of values on a range of pixels.
class Scale {
 public:
  // Chooses the range for `data` from what the axis demands; `pixels` is how long the axis is, for the number of ticks.
  // Without data and without a range demanded there are no ticks.
  Scale(const Axis& axis, const Extent& data, Fit fit, double pixels_per_tick, double pixels);

  // Where on the page the range begins and ends. For a vertical axis the first is the larger.
  void place(double pixel_low, double pixel_high);

  double position(double value) const;  // in pixels; beyond the ends for values outside the range
  bool log() const { return log_; }
  double low() const { return low_; }
  double high() const { return high_; }
  const std::vector<double>& ticks() const { return ticks_; }
  const std::vector<std::string>& labels() const { return labels_; }
  std::vector<double> minor_ticks() const;  // unlabelled; none on linear and doubling axes

 private:
  bool log_;
  bool doubling_;
  double low_, high_;
  double pixel_low_ = 0, pixel_high_ = 1;
  std::vector<double> ticks_;
  std::vector<std::string> labels_;
};

// Of a figure whose axes both have values.
struct Scales {
  Scale x, y;
};

}  // namespace orrery::plot
