#include "profile/distributed/channel.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"

namespace orrery::profile {

namespace {

constexpr std::size_t kSendBytes = 1 << 20;  // between two looks at the clock
constexpr Seconds kSlice{0.2};               // between two looks at `abandoned`

}  // namespace

Channel::Channel(std::unique_ptr<env::Connection> connection, const env::Clock& clock, Seconds silence_max,
                 const std::atomic<bool>* abandoned)
    : connection_(std::move(connection)), clock_(clock), silence_max_(silence_max), abandoned_(abandoned) {}

Status Channel::send(FrameKind kind, std::span<const char> payload) {
  ORRERY_TRY_VOID(send_bytes(encode(FrameHeader{kind, payload.size()})));
  return send_bytes(payload);
}

Status Channel::send(FrameKind kind, std::span<const float> payload) {
  return send(kind, std::span(reinterpret_cast<const char*>(payload.data()), payload.size_bytes()));
}

Status Channel::send_bytes(std::span<const char> bytes) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), kSendBytes));
    ORRERY_TRY_VOID(connection_->send({part.data(), part.size()}, silence_max_));
    traffic_.out += static_cast<double>(part.size());
    bytes = bytes.subspan(part.size());
  }
  return {};
}

// Connections report "try again later" for a time-out and for a lost peer alike; only the first takes its whole time.
Result<std::size_t> Channel::receive_some(std::span<char> buffer) {
  const Seconds start = clock_.monotonic();
  while (true) {
    const Seconds asked = clock_.monotonic();
    auto got = connection_->receive(buffer, kSlice);
    if (got && *got > 0) return got;
    if (got) return Error::unavailable(fmt::format("{} closed the connection", to_string(connection_->peer())));
    const Seconds now = clock_.monotonic();
    if (now - asked < kSlice * 0.9) return got;
    if (abandoned_ != nullptr && *abandoned_) return Error::unavailable("given up: another process failed");
    if (now - start >= silence_max_) {
      return Error::unavailable(
          fmt::format("{} said nothing for {}", to_string(connection_->peer()), format_seconds(silence_max_)));
    }
  }
}

Status Channel::receive_payload(std::span<char> payload) {
  while (!payload.empty()) {
    ORRERY_TRY(const std::size_t got, receive_some(payload));
    traffic_.in += static_cast<double>(got);
    payload = payload.subspan(got);
  }
  return {};
}

Result<FrameHeader> Channel::receive_header(std::uint64_t length_max) {
  FrameHeaderBytes bytes{};
  ORRERY_TRY_VOID(receive_payload(bytes));
  return decode(bytes, length_max);
}

Status Channel::receive(FrameKind kind, std::span<char> payload) {
  ORRERY_TRY(const FrameHeader header, receive_header(payload.size()));
  if (header.kind != kind || header.length != payload.size()) {
    return Error::invalid(fmt::format("expected {} of {} bytes, received {} of {}", to_string(kind), payload.size(),
                                      to_string(header.kind), header.length));
  }
  return receive_payload(payload);
}

Status Channel::receive(FrameKind kind, std::span<float> payload) {
  return receive(kind, std::span(reinterpret_cast<char*>(payload.data()), payload.size_bytes()));
}

}  // namespace orrery::profile
