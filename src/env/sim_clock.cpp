#include "env/sim_clock.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace orrery::env {

void SimClock::advance(Seconds duration) {
  if (!(duration > Seconds(0))) return;
  ORRERY_CHECK(std::isfinite(duration.value()));
  const Seconds end = now_ + duration;
  while (!events_.empty() && events_.begin()->first.first <= end) run_next();
  now_ = std::max(now_, end);
}

bool SimClock::advance_until(const std::function<bool()>& done, Seconds timeout) {
  const Seconds end = now_ + std::max(timeout, Seconds(0));
  while (!done()) {
    if (events_.empty() || events_.begin()->first.first > end) {
      if (std::isfinite(end.value())) now_ = std::max(now_, end);
      return done();
    }
    run_next();
  }
  return true;
}

SimClock::EventId SimClock::at(Seconds when, std::function<void()> action) {
  const EventId id{std::max(when, now_), scheduled_++};
  events_.emplace(id, std::move(action));
  return id;
}

void SimClock::run_next() {
  auto event = events_.extract(events_.begin());
  now_ = std::max(now_, event.key().first);
  event.mapped()();
}

}  // namespace orrery::env
