#include "base/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace orrery {

namespace {

// Bytes of the printable character that `text` starts with; 0 if it starts with a control character (those that change
// the direction of text among them) or is not UTF-8.
std::size_t printable_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  std::uint32_t code = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
    code = code << 6U | (byte(i) & 0x3FU);
  }
  const bool shortest = length == 2 || (length == 3 && code >= 0x800) || (length == 4 && code >= 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  const bool control = code < 0xA0 || (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return shortest && !surrogate && !control && code <= 0x10FFFF ? length : 0;
}

}  // namespace

std::string format_number(double value, int significant_digits) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (value == 0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
  const int decimals = std::max(0, significant_digits - 1 - magnitude);
  return fmt::format("{:.{}f}", value, std::min(decimals, 12));
}

std::string format_whole(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (int i = static_cast<int>(digits.size()) - 3; i > (digits[0] == '-' ? 1 : 0); i -= 3) digits.insert(i, ",");
  return digits;
}

std::string format_seconds(Seconds time) {
  const double s = time.value();
  const double size = std::abs(s);
  if (!std::isfinite(s)) return fmt::format("{}", s);
  if (size == 0) return "0 s";
  if (size < 1e-6) return format_number(s * 1e9, 3) + " ns";
  if (size < 1e-3) return format_number(s * 1e6, 3) + " us";
  if (size < 1) return format_number(s * 1e3, 3) + " ms";
  if (size < 120) return format_number(s, 3) + " s";
  if (size < 7200) return format_number(s / 60, 3) + " min";
  if (size < 48 * 3600) return format_number(s / 3600, 3) + " h";
  return format_number(s / 86400, 3) + " days";
}

std::string format_bytes(Bytes size) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = size.value();
  int unit = 0;
  while (std::abs(value) >= 1024 && unit < 6) {
    value /= 1024;
    ++unit;
  }
  return (unit == 0 ? fmt::format("{:.0f}", value) : format_number(value, 3)) + " " + kUnits[unit];
}

std::string format_count(double count) {
  static constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P", " E"};
  if (std::abs(count) < 1000)
    return count == std::floor(count) ? fmt::format("{:.0f}", count) : format_number(count, 3);
  double value = count;
  int unit = 0;
  while (std::abs(value) >= 1000 && unit < 6) {
    value /= 1000;
    ++unit;
  }
  return format_number(value, 3) + kUnits[unit];
}

std::string format_dollars(Dollars amount) {
  const double usd = amount.value();
  if (std::abs(usd) >= 1000) return "$" + format_whole(usd);
  if (std::abs(usd) >= 1) return fmt::format("${:.2f}", usd);
  return "$" + format_number(usd, 3);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (true) {
    const std::size_t end = text.find(separator, start);
    parts.emplace_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::string to_upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper;
}

std::optional<double> parse_number(std::string_view text) {
  text = trim(text);
  double number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

bool is_printable(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = printable_length(text.substr(at));
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string quote(std::string_view text, std::size_t bytes_max) {
  std::string quoted = "\"";
  std::size_t at = 0;
  while (at < text.size() && at < bytes_max) {
    const std::size_t length = printable_length(text.substr(at));
    quoted += length == 0 ? "?" : text.substr(at, length);
    at += std::max<std::size_t>(length, 1);
  }
  return quoted + (at < text.size() ? "…\"" : "\"");
}

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> before_previous(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replace = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) current[j] = std::min(current[j], before_previous[j - 2] + 1);
    }
    std::swap(before_previous, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

std::optional<std::string> nearest(std::string_view name, std::span<const std::string> candidates) {
  // Names beyond this length are not typing mistakes, and comparing them would cost quadratic time.
  constexpr std::size_t kLongestName = 64;
  if (name.empty() || name.size() > kLongestName) return std::nullopt;
  const std::string wanted = to_lower(name);
  const int limit = std::max(1, static_cast<int>(wanted.size()) / 3);
  int best = limit + 1;
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    const int distance = edit_distance(wanted, to_lower(candidate));
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const auto found = nearest(name, candidates);
  return found ? fmt::format("; did you mean \"{}\"?", *found) : std::string();
}

}  // namespace orrery
