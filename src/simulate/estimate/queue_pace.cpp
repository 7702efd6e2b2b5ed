#include "simulate/estimate/queue_pace.h"

#include <algorithm>
#include <cmath>

namespace orrery::simulate {

namespace {

constexpr double kSlackSeconds = 60, kMissMin = 0.05;

double log_of(double wait_s) {
  return std::log(kSlackSeconds + std::max(0.0, wait_s));
}

double wait_of(double log_wait) {
  return std::max(0.0, std::exp(log_wait) - kSlackSeconds);
}

std::array<std::optional<double>, 3> voices_of(double simulated_s, const QueuePace& pace) {
  return {simulated_s, pace.drain_s, pace.last_s};
}

}  // namespace

QueuePace pace_of(std::span<const Started> started, double now_s, int gpus) {
  QueuePace pace;
  if (started.empty()) return pace;
  pace.last_s = started.back().waited_s;
  int sum = 0;
  for (std::size_t i = started.size(); i-- > 0;) {
    sum += started[i].gpus;
    if (sum < gpus) continue;
    pace.drain_s = now_s - started[i].at_s;
    break;
  }
  return pace;
}

void PaceMixer::learn(double simulated_s, const QueuePace& pace, double waited_s) {
  Misses misses;
  const auto voices = voices_of(simulated_s, pace);
  for (std::size_t v = 0; v < kVoices; ++v) {
    if (voices[v]) misses[v] = std::abs(log_of(*voices[v]) - log_of(waited_s));
  }
  misses_.push_back(misses);
  if (misses_.size() > kRemembered) misses_.pop_front();
}

double PaceMixer::weight(std::size_t voice) const {
  double sum = 0, count = 0;
  for (const Misses& misses : misses_) {
    if (!misses[voice]) continue;
    sum += *misses[voice];
    ++count;
  }
  if (count < static_cast<double>(kCasesMin)) return 1;
  return std::pow(sum / count + kMissMin, -2);
}

double PaceMixer::moved_s(double wait_s, double shift) {
  return wait_of(log_of(wait_s) + shift);
}

double PaceMixer::shift(double simulated_middle_s, const QueuePace& pace) const {
  const auto voices = voices_of(simulated_middle_s, pace);
  double sum = 0, weights = 0;
  for (std::size_t v = 0; v < kVoices; ++v) {
    if (!voices[v]) continue;
    sum += weight(v) * log_of(*voices[v]);
    weights += weight(v);
  }
  return sum / weights - log_of(simulated_middle_s);
}

Quantiles PaceMixer::mixed(const Quantiles& simulated, const QueuePace& pace) const {
  const double by = shift(simulated.middle, pace);
  return {moved_s(simulated.low, by), moved_s(simulated.middle, by), moved_s(simulated.high, by)};
}

}  // namespace orrery::simulate
