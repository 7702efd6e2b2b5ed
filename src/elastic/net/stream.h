#pragma once
// Messages over one connection, for seldom messages: four bytes of length, little-endian, then the message. A message
// of length 0 is empty; it only lets the peer's machine answer. It never waits.

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "env/posix.h"

namespace orrery::elastic::net {

// Cuts bytes into messages. Pure.
class Splitter {
 public:
  explicit Splitter(std::size_t message_bytes_max) : message_bytes_max_(message_bytes_max) {}

  void push(std::string_view bytes) { buffer_ += bytes; }
  // The next whole message that is not empty, if there is one. An error for a length above the limit: nothing after it
  // can be decoded.
  Result<std::optional<std::string>> take();

 private:
  std::size_t message_bytes_max_;
  std::string buffer_;
  std::size_t at_ = 0;  // what is before was taken
};

std::string framed(std::string_view message);

struct StreamLimits {
  std::size_t message_bytes_max = 1 << 20;
  std::size_t queue_bytes_max = 4 << 20;  // that wait for a peer that reads slowly
};

// Owned by one thread.
class Stream {
 public:
  Stream(env::FileDescriptor socket, const StreamLimits& limits)
      : socket_(std::move(socket)), limits_(limits), splitter_(limits.message_bytes_max) {}

  int socket() const { return socket_.get(); }
  // Gives the connection away; the stream is of no further use.
  env::FileDescriptor take_socket() { return std::move(socket_); }

  // Puts a message into the queue. Returns false if it is too long, or too much waits already; it will not be sent.
  bool send(std::string_view message);
  // Writes what the socket takes. An error if the peer is gone.
  Status flush();
  bool has_output() const { return !queue_.empty(); }
  bool has_room_for(std::size_t bytes) const { return queued_bytes_ + bytes <= limits_.queue_bytes_max; }

  // Appends the messages that have arrived, a bounded amount per call. An error if the peer is gone or violates the
  // protocol; messages from before that are appended.
  Status receive(std::vector<std::string>& messages);

 private:
  env::FileDescriptor socket_;
  StreamLimits limits_;
  Splitter splitter_;
  std::deque<std::string> queue_;
  std::size_t queued_bytes_ = 0;
  std::size_t written_ = 0;  // of the first in the queue
};

}  // namespace orrery::elastic::net
