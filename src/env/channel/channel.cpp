#include "env/channel/channel.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>

#include "base/bytes.h"
#include "base/check.h"

namespace orrery::env {

namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr int kReadsPerMove = 16;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

std::string framed(std::string_view frame) {
  ByteWriter writer;
  writer.text(frame);
  return std::move(writer).take();
}

Result<std::optional<std::string_view>> FrameSplitter::take(std::size_t bytes_max) {
  ByteReader reader(std::string_view(buffer_).substr(at_));
  const auto length = reader.u32();
  if (length && *length > bytes_max) {
    return Error::invalid(fmt::format("a message of {} bytes; at most {}", *length, bytes_max));
  }
  if (!length || buffer_.size() - at_ - kLengthBytes < *length) {
    buffer_.erase(0, at_);
    at_ = 0;
    return std::optional<std::string_view>();
  }
  const std::string_view frame = std::string_view(buffer_).substr(at_ + kLengthBytes, *length);
  at_ += kLengthBytes + *length;
  return std::optional(frame);
}

std::size_t FrameSplitter::missing() const {
  ByteReader reader(std::string_view(buffer_).substr(at_));
  const auto length = reader.u32();
  const std::size_t whole = length ? kLengthBytes + *length : kLengthBytes;
  return whole - std::min(whole, buffered());
}

Result<std::unique_ptr<Connection>> Channel::release() {
  if (!is_open() || has_output() || splitter_.buffered() > 0 || sealed_ + opened_ > 0) {
    return Error::invalid("the other side has sent more than its introduction");
  }
  return take_connection();
}

std::unique_ptr<Connection> Channel::take_connection() {
  watch_.end();
  return std::move(connection_);
}

Channel::Channel(std::unique_ptr<Connection> connection, Handshake handshake, const ChannelLimits& limits)
    : connection_(std::move(connection)), handshake_(std::move(handshake)), limits_(limits) {}

void Channel::queue(std::string_view frame) {
  output_.push_back(framed(frame));
  queued_bytes_ += output_.back().size();
}

bool Channel::send(std::string_view message) {
  if (message.size() > limits_.message_bytes_max || !has_room_for(message.size())) return false;
  queued_bytes_ += message.size();
  waiting_.emplace_back(message);
  seal_waiting();
  return true;
}

void Channel::beat() {
  if (handshake_.has_keys()) {
    (void)send("");
  } else if (output_.empty()) {
    queue("");
  }
}

// The end that listens sends nothing before its reply.
void Channel::seal_waiting() {
  for (const std::string& frame : handshake_.take_frames()) queue(frame);
  const bool may_send =
      handshake_.has_keys() && handshake_.state() != Handshake::State::kRefused && (is_open() || handshake_.connects());
  if (!may_send) return;
  if (!sealer_) sealer_.emplace(handshake_.keys().send);
  for (std::string& message : std::exchange(waiting_, {})) {
    queued_bytes_ -= message.size();
    const std::uint32_t length = static_cast<std::uint32_t>(message.size() + Aead::kTagBytes);
    const auto head = std::as_bytes(std::span(&length, 1));
    const std::span<std::byte> text = std::as_writable_bytes(std::span(message));
    const bool hides = handshake_.keys().encrypts;
    const std::array<std::span<const std::byte>, 2> shown = {head, hides ? std::span<const std::byte>() : text};
    const Aead::Tag tag = sealer_->seal(sealed_++, shown, hides ? text : std::span<std::byte>());
    message.append(reinterpret_cast<const char*>(tag.data()), tag.size());
    queue(message);
  }
}

Interest Channel::interest() const {
  return !is_connected_ || !output_.empty() ? Interest::kBoth : Interest::kInput;
}

Status Channel::watch_with(Poller& poller) {
  watch_.end();
  ORRERY_TRY(watch_, Watch::on(poller, *connection_, interest()));
  return {};
}

Status Channel::send_handshake() {
  seal_waiting();
  return flush();
}

Status Channel::flush() {
  while (!output_.empty()) {
    const std::string& first = output_.front();
    ORRERY_TRY(const std::size_t sent, connection_->send_some(std::string_view(first).substr(sent_)));
    if (sent == 0) return watch_.set(interest());
    sent_ += sent;
    if (sent_ < first.size()) continue;
    queued_bytes_ -= first.size();
    sent_ = 0;
    output_.pop_front();
  }
  return watch_.set(interest());
}

Status Channel::open(std::string_view frame, std::vector<std::string>& messages) {
  if (frame.size() < Aead::kTagBytes) return Error::invalid("a message without a signature");
  if (!opener_) opener_.emplace(handshake_.keys().receive);
  Aead::Tag tag;
  const std::size_t size = frame.size() - tag.size();
  std::memcpy(tag.data(), frame.data() + size, tag.size());
  std::string message(frame.substr(0, size));
  const auto length = static_cast<std::uint32_t>(frame.size());
  const auto head = std::as_bytes(std::span(&length, 1));
  const bool hides = handshake_.keys().encrypts;
  const std::array<std::span<const std::byte>, 2> shown = {head,
                                                           hides ? std::span<const std::byte>() : bytes_of(message)};
  const std::span<std::byte> hidden = hides ? std::as_writable_bytes(std::span(message)) : std::span<std::byte>();
  if (!opener_->open(opened_++, shown, hidden, tag)) return Error::invalid("a message that the peer has not sent");
  if (!message.empty()) messages.push_back(std::move(message));
  return {};
}

Status Channel::take(std::string_view frame, std::vector<std::string>& messages) {
  using State = Handshake::State;
  const State before = handshake_.state();
  // A connecting end lets our machine answer while it waits.
  if (before == State::kWaits && frame.empty() && !handshake_.connects()) return {};
  if (before == State::kOpen) return open(frame, messages);
  ORRERY_TRY_VOID(handshake_.take(frame));
  if (handshake_.state() != State::kRefused || !handshake_.connects()) return {};
  return Error::invalid(handshake_.problem().empty() ? handshake_.words() : handshake_.problem());
}

Status Channel::receive(std::vector<std::string>& messages) {
  using State = Handshake::State;
  const bool was_open = is_open();
  std::array<char, 64 << 10> buffer;
  for (int i = 0; i < kReadsPerMove; ++i) {
    // Until we have replied, messages wait where they are; after a refusal nothing is read.
    const bool is_due = !handshake_.connects() && handshake_.state() == State::kIntroduced;
    const bool is_refused = handshake_.state() == State::kRefused;
    if (is_refused || is_open() != was_open || (is_due && splitter_.buffered() >= buffer.size())) return {};
    // Of a handshake only what belongs to it.
    std::span<char> room(buffer);
    if (!was_open && !is_due) room = room.first(std::min(room.size(), std::max<std::size_t>(1, splitter_.missing())));
    ORRERY_TRY(const std::optional<std::size_t> got, connection_->receive_some(room));
    if (got) splitter_.push({buffer.data(), *got});
    while (was_open || (!is_open() && (handshake_.connects() || handshake_.state() == State::kWaits))) {
      ORRERY_TRY(const auto frame,
                 splitter_.take(was_open ? limits_.message_bytes_max + Aead::kTagBytes : kHandshakeFrameBytesMax));
      if (!frame) break;
      ORRERY_TRY_VOID(take(*frame, messages));
    }
    if (!got) return {};
    if (*got == 0) return Error::unavailable("the other side has closed the connection");
  }
  return {};
}

Status Channel::move(std::vector<std::string>& messages) {
  if (!is_connected_) {
    ORRERY_TRY(is_connected_, connection_->is_connected());
    if (!is_connected_) return {};
  }
  seal_waiting();
  ORRERY_TRY_VOID(flush());
  const Status received = receive(messages);
  seal_waiting();
  const Status flushed = flush();
  if (!received) return received;
  ORRERY_TRY_VOID(flushed);
  if (handshake_.state() == Handshake::State::kRefused && output_.empty()) {
    return Error::invalid(handshake_.problem().empty() ? "refused" : handshake_.problem());
  }
  return {};
}

}  // namespace orrery::env
