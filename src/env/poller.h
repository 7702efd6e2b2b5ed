#pragma once
// Waiting for several things at once: connections, listeners, processes, requests to end, and time.

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "base/units.h"

namespace orrery::env {

enum class Interest : std::uint8_t { kInput = 1, kOutput = 2, kBoth = 3 };

constexpr bool includes(Interest interest, Interest part) {
  return (static_cast<int>(interest) & static_cast<int>(part)) != 0;
}

// Something that can be waited for. It is ready when a call that never waits would do something now, if only fail:
// bytes or an end to receive, room to send, a connection to accept, a process that has ended.
class Pollable {
 public:
  virtual ~Pollable() = default;
  // Of the machine; a simulated one has none.
  virtual int descriptor() const { return -1; }
  // Of a simulated one. It changes only with events of the simulated clock, or by calls of its owner.
  virtual bool is_ready(Interest) const { return false; }
};

// Used by one thread. It is ready itself while something that it watches is.
class Poller : public Pollable {
 public:
  // wait() returns when `what` is ready, until forget(what), which comes before its end. Again: with another interest.
  virtual Status watch(const Pollable& what, Interest interest = Interest::kInput) = 0;
  virtual void forget(const Pollable& what) = 0;
  // Returns when something is ready, or after `timeout`.
  virtual Status wait(Seconds timeout) = 0;
  // Whether something is ready now.
  virtual bool is_anything_ready() = 0;
};

class Pollers {
 public:
  virtual ~Pollers() = default;
  virtual Result<std::unique_ptr<Poller>> make() = 0;
};

// Watches something as long as it exists. The poller and what it watches must outlive it.
class Watch {
 public:
  Watch() = default;
  static Result<Watch> on(Poller& poller, const Pollable& what, Interest interest = Interest::kInput);
  ~Watch() { end(); }
  Watch(Watch&& other) noexcept;
  Watch& operator=(Watch&& other) noexcept;

  Status set(Interest interest);
  void end();

 private:
  Poller* poller_ = nullptr;
  const Pollable* what_ = nullptr;
  Interest interest_ = Interest::kInput;
};

}  // namespace orrery::env
