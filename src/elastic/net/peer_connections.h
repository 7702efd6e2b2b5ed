#pragma once
// Messages between processes of a job on different hosts, and which of them can be reached: what the mailbox
// (host/mailbox.h) is on one host. A message arrives whole or not at all; it may be lost with its connection, so a
// process that needs an answer asks again.
//
// Every process has one connection to each peer that it watches or writes to, on which only it writes; it begins with a
// handshake (handshake.h) that names the receiver, so that no process takes the place of one that has ended. Messages
// wait until the receiver has sent its challenge. Broken connections are made again.
//
// A process is lost when its machine refuses connections or does not answer (heartbeat.h), or when it closes a
// connection on which it was proven. Acknowledgements of the machine count, not those of the process: one that computes
// or is stopped is not lost. If only one direction is cut, acknowledgements are missing at both ends, so each finds the
// other lost.
//
// All work is done inside calls; there are no threads.

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "elastic/net/heartbeat.h"
#include "elastic/net/listener.h"
#include "elastic/net/stream.h"

namespace orrery::elastic::net {

class PeerConnections {
 public:
  static constexpr Seconds kConnectMax{1};

  // `self` is the receiver that peers must name. The listener must outlive this object.
  static Result<std::unique_ptr<PeerConnections>> open(Listener& listener, std::uint64_t self);
  // Waits a moment for what others have yet to read.
  ~PeerConnections();
  PeerConnections(const PeerConnections&) = delete;
  PeerConnections& operator=(const PeerConnections&) = delete;

  // Never waits. Returns whether the message was queued. The address is looked up once.
  bool send(std::uint64_t to, const env::Address& address, std::string_view message);
  // It stays connected to these from now on; to others only until their messages are sent.
  void watch(const std::map<std::uint64_t, env::Address>& peers);
  // Advances all connections and returns what has arrived. Never waits.
  std::vector<std::string> receive();
  // Readable when there may be something to receive.
  int descriptor() const { return poll_.get(); }

  bool is_lost(std::uint64_t peer) const;
  // All watched peers have just been reached in another way: earlier failures no longer count.
  void forget_losses();
  // It could be reached before.
  bool was_reached(std::uint64_t peer) const;

 private:
  struct Peer {
    ResolvedAddress resolved{};
    bool is_watched = false, is_lost = false, was_reached = false;
    env::FileDescriptor connecting{};
    Seconds since{0};     // that it is being connected to
    Seconds next_try{0};  // to connect
    std::unique_ptr<Stream> stream{};
    std::vector<std::string> waiting{};            // for the connection
    std::optional<OutgoingHandshake> handshake{};  // of the stream
    Heartbeat heartbeat{};
  };

  PeerConnections(Listener& listener, std::uint64_t self, env::FileDescriptor poll);
  Peer* find_or_make(std::uint64_t id, const env::Address& address);
  void watch_socket(int socket, bool for_room, bool is_new);
  void move(std::uint64_t id, Peer& peer);
  void begin(Peer& peer);
  void finish_connecting(std::uint64_t id, Peer& peer);
  void lose(Peer& peer);
  void close(Peer& peer);
  // Returns whether the connection continues. Otherwise it is closed.
  bool shake_hands(Peer& peer);
  void beat();
  void beat(Peer& peer);
  void take_pending();
  void flush(Peer& peer);

  Listener& listener_;
  std::uint64_t self_;
  env::FileDescriptor poll_;
  std::map<std::uint64_t, Peer> peers_;
  std::vector<std::unique_ptr<Stream>> incoming_;
  Seconds next_beat_{0};
};

}  // namespace orrery::elastic::net
