#pragma once
// A connection that carries frames. It counts its bytes, and never waits longer than `silence_max` without progress.
// The receiver knows how long a payload must be, so a peer cannot make it allocate.

#include <atomic>
#include <memory>

#include "env/clock.h"
#include "env/sockets.h"
#include "profile/distributed/frame.h"
#include "profile/proc_text.h"

namespace orrery::profile {

// Used by one thread at a time. The clock and `abandoned` must outlive it.
class Channel {
 public:
  // Once `abandoned` is set, by any thread, waiting calls fail within a fraction of a second. May be null.
  Channel(std::unique_ptr<env::Connection> connection, const env::Clock& clock, Seconds silence_max,
          const std::atomic<bool>* abandoned = nullptr);

  Status send(FrameKind kind, std::span<const char> payload);
  Status send(FrameKind kind, std::span<const float> payload);

  // The next header; `length_max` as in decode().
  Result<FrameHeader> receive_header(std::uint64_t length_max);
  Status receive_payload(std::span<char> payload);
  // A whole frame of that kind and exactly that size.
  Status receive(FrameKind kind, std::span<char> payload);
  Status receive(FrameKind kind, std::span<float> payload);

  const Traffic& traffic() const { return traffic_; }
  void set_silence_max(Seconds silence_max) { silence_max_ = silence_max; }

 private:
  Status send_bytes(std::span<const char> bytes);
  Result<std::size_t> receive_some(std::span<char> buffer);

  std::unique_ptr<env::Connection> connection_;
  const env::Clock& clock_;
  Seconds silence_max_;
  const std::atomic<bool>* abandoned_;
  Traffic traffic_;
};

}  // namespace orrery::profile
