#pragma once
// Points in time and lengths of time as logs write them.

#include <optional>
#include <string_view>

namespace orrery::simulate {

// Seconds since 1970 of "2017-09-04 10:30:41" or "2017-09-04T10:30:41", in UTC; the time may be left out, or fractions
// of a second be given.
std::optional<double> parse_date_s(std::string_view text);

// Seconds of "1-02:03:04", "02:03:04", "03:04" or "03:04.500" (Slurm's forms).
std::optional<double> parse_elapsed_s(std::string_view text);

}  // namespace orrery::simulate
