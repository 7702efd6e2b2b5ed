#pragma once
// One connection to another rank in a generation: frames out of a queue, frames in to a receiver. It never waits.
//
// Payloads are written from and read to their final place; only the few bytes around headers are copied, and payloads
// that are encrypted. Frames that cannot wait behind tensors (credit, heartbeats, revocation) go before them. A frame is
// signed shortly before it is sent, because its place among the others is signed too.
//
// Early data, which its receiver may not have asked for, is paid for with credit: a sender has `early_bytes` of it and
// gets it back as the receiver processes the data. So however late a receiver reads, it never has to keep more.

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "elastic/net/heartbeat.h"
#include "elastic/net/wire.h"
#include "env/channel/handshake.h"
#include "env/sockets.h"

namespace orrery::elastic::net {

// Is told when a frame has left our memory.
class FrameOwner {
 public:
  virtual ~FrameOwner() = default;
  virtual void written(std::uint32_t part) = 0;
};

// Gets the frames that arrive.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // The memory for the payload of a tensor's frame: `header.length` bytes that stay until arrived().
  virtual Result<std::byte*> place(int from, const FrameHeader& header) = 0;
  // The frame is complete. An error ends the generation.
  virtual Status arrived(int from, const FrameHeader& header, std::byte* payload) = 0;
};

struct Outgoing {
  FrameHeader header{};
  std::span<const std::byte> payload{};               // borrowed until written, unless it is `copy` or kept by `keeper`
  std::vector<std::byte> copy{};                      // of a payload whose memory may change
  std::array<std::byte, kControlBytesMax> control{};  // of a payload that is no tensor
  std::shared_ptr<const void> keeper{};               // of the payload's memory
  FrameOwner* owner = nullptr;
  bool is_sealed = false;
  std::size_t written = 0;  // of header and payload

  std::span<const std::byte> body() const {
    return payload.empty() ? std::span(control).first(header.length) : payload;
  }
};

class Link {
 public:
  Link(std::unique_ptr<env::Connection> connection, const env::ChannelKeys& keys, int peer, const WireLimits& limits);

  int socket() const { return connection_->descriptor(); }
  int peer() const { return peer_; }
  env::PathState path() const { return connection_->path(); }

  // Puts a frame into the queue.
  void post(const FrameHeader& header, std::span<const std::byte> payload, FrameOwner* owner,
            std::shared_ptr<const void> keeper = nullptr);
  void post_copy(const FrameHeader& header, std::span<const std::byte> payload, FrameOwner* owner);
  // Goes before all tensors. It has no payload.
  void post_urgent(const FrameHeader& header);

  // Writes what the socket takes. Returns whether anything was written; an error if the peer is gone.
  Result<bool> flush();
  bool has_output() const { return !queue_.empty(); }
  // Whether the socket took less than was offered the last time.
  bool is_blocked() const { return blocked_; }

  // Reads what is there, a bounded amount per call. Returns whether anything was read; an error if the peer is gone
  // without goodbye, or sent what it must not.
  Result<bool> receive(Receiver& receiver);
  // Gives the connection away; the link is of no further use.
  std::unique_ptr<env::Connection> take_connection() { return std::move(connection_); }
  // The peer has sent goodbye.
  bool has_left() const { return left_; }

  // Takes credit for early data, if there is enough.
  bool spend_credit(std::uint32_t bytes);
  // Early data of the peer has been processed.
  void return_credit(std::uint32_t bytes) {
    owed_ += bytes;
    early_ -= bytes;
  }
  // Whether the owed credit deserves a frame of its own.
  bool owes_much() const { return owed_ > limits_.early_bytes / 2; }

  Heartbeat& heartbeat() { return heartbeat_; }
  std::uint64_t bytes_written() const { return bytes_written_; }
  std::uint64_t frames_read() const { return frames_read_; }

 private:
  void finish(Outgoing& frame, std::size_t length);
  void seal(Outgoing& frame);
  Status open(const FrameHeader& header);
  Status take_header(Receiver& receiver);
  Status take_payload(Receiver& receiver);
  Result<std::size_t> read_more();

  std::unique_ptr<env::Connection> connection_;
  int peer_;
  WireLimits limits_;
  bool encrypts_;
  Aead sealer_, opener_;
  std::uint64_t sealed_ = 0, opened_ = 0;  // frames

  std::deque<Outgoing> queue_;
  bool blocked_ = false;
  std::uint32_t credit_;     // for early data of ours
  std::uint32_t owed_ = 0;   // for early data of the peer that was processed
  std::uint32_t early_ = 0;  // data of the peer that was not
  std::uint64_t bytes_written_ = 0;

  // Bytes that were read beyond what was asked for: headers, and beginnings of payloads.
  std::vector<std::byte> stage_;
  std::size_t stage_begin_ = 0, stage_end_ = 0;
  std::optional<FrameHeader> header_{};  // whose payload is being read
  std::byte* payload_ = nullptr;
  std::size_t payload_read_ = 0;
  std::array<std::byte, kControlBytesMax> control_{};
  bool left_ = false;
  std::uint64_t frames_read_ = 0;

  Heartbeat heartbeat_;
};

}  // namespace orrery::elastic::net
