#include "profile/speed_probe.h"

#include <cmath>
#include <vector>

#include "base/statistics.h"

namespace orrery::profile {

CoreReading quiet_reading(SpeedProbe& speed_probe, const env::Clock& clock, Seconds time) {
  constexpr double kFastShare = 0.05;
  std::array<std::vector<double>, std::tuple_size_v<CoreReading>> pieces;
  const Seconds start = clock.monotonic();
  do {
    const CoreReading now = speed_probe.read();
    for (std::size_t i = 0; i < now.size(); ++i) pieces[i].push_back(now[i].value());
  } while (clock.monotonic() - start < time);
  CoreReading quiet;
  for (std::size_t i = 0; i < quiet.size(); ++i) quiet[i] = Seconds(quantile(pieces[i], kFastShare));
  return quiet;
}

double slowness(const CoreReading& now, const CoreReading& quiet) {
  double log_sum = 0;
  for (std::size_t i = 0; i < now.size(); ++i) log_sum += std::log(now[i] / quiet[i]);
  return std::exp(log_sum / static_cast<double>(now.size()));
}

}  // namespace orrery::profile
