#include "base/plot/axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

#include "base/check.h"

namespace orrery::plot {

namespace {

// Beyond this, sums and differences of two values would overflow.
constexpr double kLargest = 1e300;
constexpr double kSmallestPositive = 1e-300;

struct Step {
  int digit;     // 1, 2 or 5
  int exponent;  // of ten
  double size() const { return digit * std::pow(10, exponent); }
  // k * step, rounded once so that 3 * 0.1 is 0.3.
  double multiple(double k) const {
    return exponent < 0 ? k * digit / std::pow(10, -exponent) : k * digit * std::pow(10, exponent);
  }
};

Step nice_step(double span, int target) {
  const double raw = span / std::max(1, target);
  const int exponent = static_cast<int>(std::floor(std::log10(raw)));
  const double mantissa = raw / std::pow(10, exponent);
  if (mantissa <= 1) return {1, exponent};
  if (mantissa <= 2) return {2, exponent};
  if (mantissa <= 5) return {5, exponent};
  return {1, exponent + 1};
}

// Rounding noise must not push a tick out of the range it defines.
constexpr double kSlack = 1e-9;

std::vector<double> multiples(const Step& step, double low, double high) {
  std::vector<double> ticks;
  const double first = std::ceil(low / step.size() - kSlack), last = std::floor(high / step.size() + kSlack);
  for (double k = first; k <= last; ++k) ticks.push_back(k == 0 ? 0 : step.multiple(k));
  return ticks;
}

std::string superscript(int exponent) {
  static constexpr std::array<std::string_view, 10> kDigits = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "⁻" : "";
  for (const char c : std::to_string(std::abs(exponent))) text += kDigits[static_cast<std::size_t>(c - '0')];
  return text;
}

// Thousands separators from 10,000 on: 2000 reads well without.
std::string with_separators(double value, int decimals) {
  const std::string digits = fmt::format("{:.{}f}", std::abs(value), decimals);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  std::string text = value < 0 ? "−" : "";
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && i < point && (point - i) % 3 == 0 && point >= 5) text += ',';
    text += digits[i];
  }
  return text;
}

// The fewest decimals that show every value to a thousandth of the distance between ticks.
int decimals_for(const std::vector<double>& values) {
  constexpr int kMost = 9;
  double step = values.size() == 1 ? std::abs(values[0]) : std::abs(values[1] - values[0]);
  for (std::size_t i = 2; i < values.size(); ++i) step = std::min(step, std::abs(values[i] - values[i - 1]));
  for (int decimals = 0; decimals < kMost; ++decimals) {
    const double factor = std::pow(10, decimals);
    const auto shown = [&](double v) { return std::abs(v - std::round(v * factor) / factor) <= 1e-3 * step; };
    if (std::all_of(values.begin(), values.end(), shown)) return decimals;
  }
  return kMost;
}

std::vector<std::string> scaled_labels(std::vector<double> ticks, double divisor, const std::string& suffix) {
  for (double& tick : ticks) tick /= divisor;
  const int decimals = decimals_for(ticks);
  std::vector<std::string> labels;
  for (const double tick : ticks) labels.push_back(tick == 0 ? "0" : with_separators(tick, decimals) + suffix);
  return labels;
}

// Ticks of a logarithmic axis are positive and grow by factors. A linear pair grows by 2 at most (1 step, 2 steps).
bool grow_by_factors(const std::vector<double>& ticks) {
  if (ticks.size() < 2 || ticks[0] <= 0) return false;
  if (ticks.size() == 2) return ticks[1] / ticks[0] > 2.01;
  const double first = ticks[1] - ticks[0], last = ticks.back() - ticks[ticks.size() - 2];
  return last > first * 1.01;
}

// Each tick in its own shortest form: "0.5", "10", or "10⁶" and "2×10⁶" when some would be long.
std::vector<std::string> factor_labels(const std::vector<double>& ticks) {
  const bool powers = ticks.front() < 0.99e-4 || ticks.back() > 1.01e5;
  std::vector<std::string> labels;
  for (const double tick : ticks) {
    const int exponent = static_cast<int>(std::floor(std::log10(tick) + kSlack));
    const double digit = tick / std::pow(10, exponent);
    if (!powers) {
      labels.push_back(scaled_labels({tick}, 1, "")[0]);
    } else if (digit < 1.01) {
      labels.push_back(fmt::format("10{}", superscript(exponent)));
    } else {
      labels.push_back(fmt::format("{:.0f}×10{}", digit, superscript(exponent)));
    }
  }
  return labels;
}

}  // namespace

std::string full_title(const Axis& axis) {
  if (axis.unit.empty()) return axis.title;
  return axis.title.empty() ? axis.unit : fmt::format("{} ({})", axis.title, axis.unit);
}

bool can_show(double value, bool log) {
  if (!std::isfinite(value) || std::abs(value) > kLargest) return false;
  return !log || value >= kSmallestPositive;
}

void Extent::add(double value, bool log) {
  if (!can_show(value, log)) return;
  low_ = std::min(low_, value);
  high_ = std::max(high_, value);
}

std::vector<double> linear_ticks(double low, double high, int target) {
  ORRERY_CHECK(std::isfinite(low) && std::isfinite(high) && low <= high);
  const double span = high - low;
  // Too narrow to hold distinct multiples in double precision.
  if (!(span > 1e-12 * std::max(std::abs(low), std::abs(high))) || span < 1e-290) return {low};
  std::vector<double> ticks = multiples(nice_step(span, target), low, high);
  // A short range can be between two multiples; an axis with one tick has no scale.
  for (int finer = 2 * target; ticks.size() < 2; finer *= 2) ticks = multiples(nice_step(span, finer), low, high);
  return ticks;
}

std::vector<double> log_ticks(double low, double high, int target) {
  ORRERY_CHECK(low > 0 && low <= high);
  constexpr std::size_t kFewest = 3;
  const double decades = std::log10(high) - std::log10(low);
  const int first = static_cast<int>(std::floor(std::log10(low) + kSlack));
  const int last = static_cast<int>(std::ceil(std::log10(high) - kSlack));
  const auto inside = [&](double v) { return v >= low * (1 - kSlack) && v <= high * (1 + kSlack); };
  std::vector<double> ticks;
  const int stride = std::max(1, static_cast<int>(std::ceil(decades / std::max(2, target))));
  for (int e = first; e <= last; ++e) {
    const double tick = std::pow(10, e);
    if (e % stride == 0 && inside(tick)) ticks.push_back(tick);
  }
  if (ticks.size() >= kFewest || stride > 1) return ticks;
  ticks.clear();
  for (int e = first; e <= last; ++e) {
    for (const int digit : {1, 2, 5}) {
      const double tick = digit * std::pow(10, e);
      if (inside(tick)) ticks.push_back(tick);
    }
  }
  // Less than about half a decade is nearly linear.
  return ticks.size() >= kFewest ? ticks : linear_ticks(low, high, target);
}

std::vector<double> doubling_ticks(double low, double high, int target) {
  ORRERY_CHECK(low > 0 && low <= high);
  const int first = static_cast<int>(std::ceil(std::log2(low) - kSlack));
  const int last = static_cast<int>(std::floor(std::log2(high) + kSlack));
  const int stride = std::max(1, (last - first + std::max(1, target)) / std::max(1, target));
  std::vector<double> ticks;
  for (int e = first; e <= last; e += stride) ticks.push_back(std::exp2(e));
  return ticks;
}

std::vector<double> minor_log_ticks(double low, double high) {
  constexpr double kDensestDecades = 6;
  std::vector<double> ticks;
  if (std::log10(high) - std::log10(low) > kDensestDecades) return ticks;
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  for (int e = static_cast<int>(std::floor(std::log10(low))); e <= last; ++e) {
    for (int digit = 2; digit <= 9; ++digit) {
      const double tick = digit * std::pow(10, e);
      if (tick >= low && tick <= high) ticks.push_back(tick);
    }
  }
  return ticks;
}

std::vector<std::string> tick_labels(const std::vector<double>& ticks) {
  if (ticks.empty()) return {};
  if (grow_by_factors(ticks)) return factor_labels(ticks);
  const double largest = std::max(std::abs(ticks.front()), std::abs(ticks.back()));
  if (largest == 0) return scaled_labels(ticks, 1, "");
  const int exponent = static_cast<int>(std::floor(std::log10(largest) + kSlack));
  if (exponent >= 18 || exponent <= -4)
    return scaled_labels(ticks, std::pow(10, exponent), fmt::format("×10{}", superscript(exponent)));
  if (exponent >= 15) return scaled_labels(ticks, 1e15, "P");
  if (exponent >= 12) return scaled_labels(ticks, 1e12, "T");
  if (exponent >= 9) return scaled_labels(ticks, 1e9, "G");
  if (exponent >= 6) return scaled_labels(ticks, 1e6, "M");
  return scaled_labels(ticks, 1, "");
}

Scale::Scale(const Axis& axis, const Extent& data, Fit fit, double pixels_per_tick, double pixels)
    : log_(axis.log), doubling_(axis.log && axis.doubling) {
  Extent extent = data;
  if (axis.from_zero && !log_) extent.add(0, false);
  if (axis.minimum) extent.add(*axis.minimum, log_);
  if (axis.maximum) extent.add(*axis.maximum, log_);
  if (extent.empty()) extent.add(1, log_);
  low_ = axis.minimum && can_show(*axis.minimum, log_) ? *axis.minimum : extent.low();
  high_ = axis.maximum && can_show(*axis.maximum, log_) ? *axis.maximum : extent.high();
  if (low_ > high_) std::swap(low_, high_);
  const bool free_low = !axis.minimum, free_high = !axis.maximum;

  const double width = log_ ? std::log10(high_) - std::log10(low_) : high_ - low_;
  const bool one_value = width <= 1e-12 * std::max(1.0, std::abs(high_)) && width <= 1e-9 * std::abs(high_);
  if (log_) {
    const double factor = one_value ? 3 : std::pow(10, 0.03 * width);
    if (free_low || one_value) low_ = std::max(low_ / factor, kSmallestPositive);
    if (free_high || one_value) high_ = std::min(high_ * factor, kLargest);
  } else {
    const double around = high_ == 0 ? 1 : 0.5 * std::abs(high_);
    const double pad = one_value ? around : (fit == Fit::kTight ? 0.03 : 0.02) * width;
    // A quantity that is never negative gets no negative part of its axis.
    if (free_low || one_value) low_ = low_ >= 0 ? std::max(0.0, low_ - pad) : low_ - pad;
    if (free_high || one_value) high_ = high_ <= 0 && !one_value ? std::min(0.0, high_ + pad) : high_ + pad;
  }

  const int target = std::max(2, static_cast<int>(pixels / pixels_per_tick));
  if (doubling_) {
    ticks_ = doubling_ticks(low_, high_, target);
  } else if (log_) {
    ticks_ = log_ticks(low_, high_, target);
  } else if (fit == Fit::kTight) {
    ticks_ = linear_ticks(low_, high_, target);
  } else {
    const Step step = nice_step(high_ - low_, target);
    if (free_low) low_ = step.multiple(std::floor(low_ / step.size() + kSlack));
    if (free_high) high_ = step.multiple(std::ceil(high_ / step.size() - kSlack));
    ticks_ = multiples(step, low_, high_);
  }
  // Numbers on an axis without data would be invented.
  if (data.empty() && !(axis.minimum && axis.maximum)) ticks_.clear();
  labels_ = tick_labels(ticks_);
}

std::vector<double> Scale::minor_ticks() const {
  return log_ && !doubling_ ? minor_log_ticks(low_, high_) : std::vector<double>();
}

void Scale::place(double pixel_low, double pixel_high) {
  pixel_low_ = pixel_low;
  pixel_high_ = pixel_high;
}

double Scale::position(double value) const {
  const auto on = [this](double v) { return log_ ? std::log10(v) : v; };
  const double share = (on(value) - on(low_)) / (on(high_) - on(low_));
  return pixel_low_ + share * (pixel_high_ - pixel_low_);
}

}  // namespace orrery::plot
