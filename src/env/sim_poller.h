#pragma once
// A poller on the simulated clock: waiting moves the clock. Where several parts of a simulation wait in one thread, none
// of them calls wait(): whoever drives the simulation asks is_ready(), and lets those go on for whom something is.

#include <map>

#include "env/poller.h"
#include "env/sim_clock.h"

namespace orrery::env {

class SimPoller final : public Poller {
 public:
  explicit SimPoller(SimClock& clock) : clock_(clock) {}

  Status watch(const Pollable& what, Interest interest) override { return watched_[&what] = interest, Status(); }
  void forget(const Pollable& what) override { watched_.erase(&what); }
  Status wait(Seconds timeout) override {
    clock_.advance_until([this] { return is_ready(Interest::kInput); }, timeout);
    return {};
  }
  bool is_anything_ready() override { return is_ready(Interest::kInput); }
  bool is_ready(Interest) const override {
    for (const auto& [what, interest] : watched_) {
      if (what->is_ready(interest)) return true;
    }
    return false;
  }

 private:
  SimClock& clock_;
  std::map<const Pollable*, Interest> watched_;
};

class SimPollers final : public Pollers {
 public:
  explicit SimPollers(SimClock& clock) : clock_(clock) {}
  Result<std::unique_ptr<Poller>> make() override { return std::make_unique<SimPoller>(clock_); }

 private:
  SimClock& clock_;
};

}  // namespace orrery::env
