#include "elastic/net/heartbeat.h"

#include <algorithm>
#include <cmath>

namespace orrery::elastic::net {

void Heartbeat::sample(Seconds delay) {
  if (!has_sample_) {
    has_sample_ = true;
    mean_ = delay;
    deviation_ = delay / 2;
    return;
  }
  deviation_ += (Seconds(std::abs((delay - mean_).value())) - deviation_) / 4;
  mean_ += (delay - mean_) / 8;
}

Seconds Heartbeat::deadline() const {
  return std::clamp(mean_ + 4 * deviation_, kDeadlineMin, kDeadlineMax);
}

void Heartbeat::look(Seconds now, bool in_flight, Seconds since_answer) {
  const bool was_away = now - last_look_ > 4 * kInterval;
  last_look_ = now;
  if (waiting_ && was_away) waiting_since_ = now;
  const Seconds answered = now - since_answer;
  if (waiting_ && answered >= waiting_since_) {
    sample(answered - waiting_since_);
    waiting_ = false;
  }
  if (in_flight && !waiting_) {
    waiting_ = true;
    waiting_since_ = now;
  } else if (!in_flight) {
    waiting_ = false;
  }
  silence_ = waiting_ ? now - waiting_since_ : Seconds(0);
}

}  // namespace orrery::elastic::net
