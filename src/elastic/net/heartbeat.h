#pragma once
// Whether the machine at the other end of a connection still answers.
//
// A rank that waits sends each peer a heartbeat every 50 ms, unless it has something else to send. The peer's *kernel*
// acknowledges it, even if the peer's process computes or is stopped. So a busy process is never taken for a dead one,
// and no process needs a thread to answer. The end of a process is noticed by its connections; what is left to be
// noticed here are machines without power and cut cables: bytes are in flight and no acknowledgement comes.
//
//   deadline = mean + 4 · deviation of the time to an answer, at least 200 ms, at most 2 s
//
// Mean and deviation are moving averages (1/8 and 1/4 of each new sample), as TCP's own. Time during which the
// connection was not checked does not count as silence. It is pure: the caller passes the time.

#include "base/units.h"

namespace orrery::elastic::net {

class Heartbeat {
 public:
  static constexpr Seconds kInterval{0.05};
  static constexpr Seconds kDeadlineMin{0.2};
  static constexpr Seconds kDeadlineMax{2};

  // At `now`: whether bytes are in flight, and how long ago the last acknowledgement came.
  void look(Seconds now, bool in_flight, Seconds since_answer);

  // How long bytes have been in flight without any acknowledgement, as far as it was checked.
  Seconds silence() const { return silence_; }
  Seconds deadline() const;
  bool is_silent() const { return silence_ > deadline(); }

 private:
  void sample(Seconds delay);

  bool waiting_ = false;  // for an answer
  Seconds waiting_since_{0};
  Seconds last_look_{-1};
  Seconds silence_{0};
  Seconds mean_{0}, deviation_{0};
  bool has_sample_ = false;
};

}  // namespace orrery::elastic::net
