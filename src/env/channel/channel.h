#pragma once
// Messages over one connection, between two ends that know the same secret (handshake.h). Every message is signed with
// the connection's keys and its number, so that one that was forged, changed, repeated, left out or moved ends the
// connection; it is encrypted if the end that connects wants that.
//
// On the wire: four bytes of length, little-endian, then a frame of the handshake, or a message and its tag of 16
// bytes. A message is at most `message_bytes_max` long, and at most `queue_bytes_max` wait for a peer that reads
// slowly. Nothing here ever waits.

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/crypto.h"
#include "env/channel/handshake.h"
#include "env/sockets.h"

namespace orrery::env {

// Cuts bytes into frames. Pure.
class FrameSplitter {
 public:
  void push(std::string_view bytes) { buffer_ += bytes; }
  // The next whole frame, if there is one; valid until push(). An error for one that is longer than allowed: nothing
  // after it can be read.
  Result<std::optional<std::string_view>> take(std::size_t bytes_max);
  std::size_t buffered() const { return buffer_.size() - at_; }
  // How many bytes are missing until a frame may be whole; the rest of its length first.
  std::size_t missing() const;

 private:
  std::string buffer_;
  std::size_t at_ = 0;  // what is before was taken
};

std::string framed(std::string_view frame);

struct ChannelLimits {
  std::size_t message_bytes_max = 1 << 20;
  std::size_t queue_bytes_max = 4 << 20;
};

// Owned by one thread.
class Channel {
 public:
  Channel(std::unique_ptr<Connection> connection, Handshake handshake, const ChannelLimits& limits = {});

  const Handshake& handshake() const { return handshake_; }
  Connection& connection() { return *connection_; }
  bool is_connected() const { return is_connected_; }
  bool is_open() const { return handshake_.state() == Handshake::State::kOpen; }
  // Gives the connection away, for those who sign with its keys themselves: it is open, everything was sent, and nothing
  // was received after the handshake. The channel is of no further use.
  Result<std::unique_ptr<Connection>> release();
  // The same for those who only wait for its end.
  std::unique_ptr<Connection> take_connection();

  // Of the end that listens, once the other has introduced itself. After a refusal the connection closes when the reply
  // is sent: move() says so.
  void reply(bool is_welcome, std::string_view words = "") { handshake_.reply(is_welcome, words); }

  // Puts a message into the queue; it is sent when the handshake allows. Returns false if it is too long, or too much
  // waits already: it will not be sent.
  bool send(std::string_view message);
  // An empty message, which its receiver drops: it lets the peer's machine answer, also before the handshake.
  void beat();
  // Bytes have come that move() has not taken yet.
  bool has_input() const { return splitter_.buffered() > 0; }
  bool has_output() const { return !output_.empty() || !waiting_.empty(); }
  bool has_room_for(std::size_t bytes) const { return queued_bytes_ + bytes <= limits_.queue_bytes_max; }
  // From now on the poller waits for what this channel can do. It must outlive the channel; the last one counts.
  Status watch_with(Poller& poller);
  void watch_no_more() { watch_.end(); }

  // Sends what the connection takes.
  Status flush();
  // The same, and the frames of the handshake first: a reply.
  Status send_handshake();
  // The same, and appends the messages that have come, a bounded amount per call. An error if
  // the peer is gone, violates the protocol, or is refused; messages from before that are appended. The call in which it
  // opens reads nothing beyond the handshake.
  Status move(std::vector<std::string>& messages);

 private:
  void seal_waiting();
  void queue(std::string_view frame);
  Status receive(std::vector<std::string>& messages);
  Interest interest() const;
  Status take(std::string_view frame, std::vector<std::string>& messages);
  Status open(std::string_view frame, std::vector<std::string>& messages);

  std::unique_ptr<Connection> connection_;
  Watch watch_;  // ends before the connection
  Handshake handshake_;
  ChannelLimits limits_;
  bool is_connected_ = false;
  FrameSplitter splitter_;
  std::deque<std::string> waiting_;  // messages, until there are keys
  std::deque<std::string> output_;   // frames
  std::size_t queued_bytes_ = 0;
  std::size_t sent_ = 0;  // of the first frame
  std::optional<Aead> sealer_, opener_;
  std::uint64_t sealed_ = 0, opened_ = 0;
};

}  // namespace orrery::env
