#include "simulate/readers/dates.h"

#include <chrono>
#include <vector>

#include "base/text.h"

namespace orrery::simulate {

namespace {

// "10:30:41" with two or three parts; at most three.
std::optional<double> parse_clock_s(std::string_view text) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  double seconds = 0;
  for (const std::string& part : parts) {
    const std::optional<double> value = parse_number(part);
    if (!value || *value < 0 || *value > 1e6) return std::nullopt;
    seconds = seconds * 60 + *value;
  }
  return seconds;
}

}  // namespace

std::optional<double> parse_date_s(std::string_view text) {
  text = trim(text);
  if (text.size() < 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = parse_number(text.substr(0, 4)), month = parse_number(text.substr(5, 2)),
             day = parse_number(text.substr(8, 2));
  if (!year || !month || !day || *year < 1970 || *year > 2200) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(std::max(0.0, *month))),
                                         std::chrono::day(static_cast<unsigned>(std::max(0.0, *day)))};
  if (!date.ok()) return std::nullopt;
  double seconds = static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count()) * 86'400;
  if (text.size() == 10) return seconds;
  if (text[10] != ' ' && text[10] != 'T') return std::nullopt;
  std::string_view clock = text.substr(11);
  if (clock.ends_with('Z')) clock.remove_suffix(1);
  const std::optional<double> time = parse_clock_s(clock);
  if (!time) return std::nullopt;
  return seconds + *time;
}

std::optional<double> parse_elapsed_s(std::string_view text) {
  text = trim(text);
  double days = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const std::optional<double> value = parse_number(text.substr(0, dash));
    if (!value || *value < 0 || *value > 1e6) return std::nullopt;
    days = *value;
    text.remove_prefix(dash + 1);
  }
  const std::optional<double> time = parse_clock_s(text);
  if (!time) return std::nullopt;
  return days * 86'400 + *time;
}

}  // namespace orrery::simulate
