#pragma once
// Text for people: numbers with units, nearest names, joining and splitting.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace orrery {

std::string format_seconds(Seconds time);    // 812 us, 23.4 ms, 1.25 s, 3 h 12 min
std::string format_bytes(Bytes size);        // 512 B, 1.50 GiB
std::string format_count(double count);      // 950, 25.6 M, 4.09 G
std::string format_whole(double number);     // 1,281,167
std::string format_dollars(Dollars amount);  // $0.0042, $12.31, $4,310
std::string format_number(double value, int significant_digits);

std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);

// The finite number that all of `text` spells, spaces around it aside.
std::optional<double> parse_number(std::string_view text);

// Whether the text is UTF-8 without control characters: safe to print on a terminal and to put into JSON.
bool is_printable(std::string_view text);
// The beginning of text that may be hostile, in quotes, for a message: `"a?b…"`.
std::string quote(std::string_view text, std::size_t bytes_max = 60);

// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`.
int edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `name` ignoring case, if it is near enough to be what was meant.
std::optional<std::string> nearest(std::string_view name, std::span<const std::string> candidates);

// ` did you mean "V100"?` with a leading `;`, or nothing.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace orrery
