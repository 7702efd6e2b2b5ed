#include "elastic/net/stream.h"

#include <array>
#include <cerrno>
#include <fmt/format.h>
#include <sys/socket.h>

#include "base/bytes.h"

namespace orrery::elastic::net {

namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr int kReadsPerCall = 16;

}  // namespace

std::string framed(std::string_view message) {
  ByteWriter writer;
  writer.text(message);
  return std::move(writer).take();
}

Result<std::optional<std::string>> Splitter::take() {
  for (;;) {
    ByteReader reader(std::string_view(buffer_).substr(at_));
    const auto length = reader.u32();
    if (!length) break;
    if (*length > message_bytes_max_) {
      return Error::invalid(fmt::format("a message of {} bytes; at most {}", *length, message_bytes_max_));
    }
    if (buffer_.size() - at_ - kLengthBytes < *length) break;
    std::string message = buffer_.substr(at_ + kLengthBytes, *length);
    at_ += kLengthBytes + *length;
    if (!message.empty()) return std::optional(std::move(message));
  }
  buffer_.erase(0, at_);
  at_ = 0;
  return std::optional<std::string>();
}

bool Stream::send(std::string_view message) {
  if (message.size() > limits_.message_bytes_max || !has_room_for(message.size())) return false;
  queue_.push_back(framed(message));
  queued_bytes_ += queue_.back().size();
  return true;
}

Status Stream::flush() {
  while (!queue_.empty()) {
    const std::string& first = queue_.front();
    const ssize_t sent =
        ::send(socket_.get(), first.data() + written_, first.size() - written_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return {};
    if (sent < 0) return env::posix_error(errno, "cannot send");
    written_ += static_cast<std::size_t>(sent);
    if (written_ < first.size()) continue;
    queued_bytes_ -= first.size();
    written_ = 0;
    queue_.pop_front();
  }
  return {};
}

Status Stream::receive(std::vector<std::string>& messages) {
  std::array<char, 64 << 10> buffer;
  for (int i = 0; i < kReadsPerCall; ++i) {
    const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return {};
    if (got < 0) return env::posix_error(errno, "cannot receive");
    if (got == 0) return Error::unavailable("the other side has closed the connection");
    splitter_.push({buffer.data(), static_cast<std::size_t>(got)});
    for (;;) {
      ORRERY_TRY(std::optional<std::string> message, splitter_.take());
      if (!message) break;
      messages.push_back(std::move(*message));
    }
  }
  return {};
}

}  // namespace orrery::elastic::net
