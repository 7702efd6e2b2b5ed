#pragma once
// A clock that moves only when told, with a queue of events at given times. Simulated processes and sockets put their
// events here; a simulated wait moves the clock to the next event until what it waits for has happened. A whole cluster
// therefore runs in one thread and always in the same order: by time, then by the order of scheduling.
//
// Not thread-safe. An event may sleep, schedule and wait itself; time still never goes back.

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "env/clock.h"

namespace orrery::env {

class SimClock final : public Clock {
 public:
  using EventId = std::pair<Seconds, std::uint64_t>;  // when, and which of those at that time

  explicit SimClock(Seconds wall_at_start = Seconds(1'700'000'000)) : wall_at_start_(wall_at_start) {}

  Seconds wall() const override { return wall_at_start_ + now_; }
  Seconds monotonic() const override { return now_; }  // starts at 0
  void sleep(Seconds duration) override { advance(duration); }

  // Runs everything due within `duration` and ends `duration` later.
  void advance(Seconds duration);
  // Runs events until `done` holds or `timeout` has passed. True if `done` holds. With an infinite timeout it also ends
  // when no event is left, since then nothing can change.
  bool advance_until(const std::function<bool()>& done, Seconds timeout);

  // Calls `action` at `when`, or at the next move of the clock if that is past.
  EventId at(Seconds when, std::function<void()> action);
  // Takes back an event that has not happened yet.
  void cancel(EventId event) { events_.erase(event); }

 private:
  void run_next();

  Seconds wall_at_start_;
  Seconds now_;
  std::uint64_t scheduled_ = 0;
  std::map<EventId, std::function<void()>> events_;
};

}  // namespace orrery::env
