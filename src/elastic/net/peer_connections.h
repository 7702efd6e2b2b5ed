#pragma once
// Messages between processes of a job on different hosts, and which of them can be reached: what the mailbox
// (host/mailbox.h) is on one host. A message arrives whole or not at all; it may be lost with its connection, so a
// process that needs an answer asks again.
//
// Every process has one channel (env/channel) to each peer that it watches or writes to, on which only it writes; its
// introduction names the receiver, so that no process takes the place of one that has ended. Messages wait until the
// receiver has greeted. Broken connections are made again.
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
  // Ready when there may be something to receive.
  env::Poller& poller() { return *poller_; }

  bool is_lost(std::uint64_t peer) const;
  // All watched peers have just been reached in another way: earlier failures no longer count.
  void forget_losses();
  // It could be reached before.
  bool was_reached(std::uint64_t peer) const;

 private:
  struct Peer {
    env::Address address{};
    bool is_watched = false, is_lost = false, was_reached = false;
    Seconds since{0};                    // that it is being connected to
    Seconds next_try{0};                 // to connect
    std::vector<std::string> waiting{};  // until then
    std::unique_ptr<env::Channel> channel{};
    bool is_made = false;  // it is connected
    Heartbeat heartbeat{};
  };

  PeerConnections(Listener& listener, std::uint64_t self, std::unique_ptr<env::Poller> poller)
      : listener_(listener), self_(self), poller_(std::move(poller)) {}
  Peer& find_or_make(std::uint64_t id, const env::Address& address);
  void move(std::uint64_t id, Peer& peer);
  void begin(std::uint64_t id, Peer& peer);
  void lose(Peer& peer);
  void close(Peer& peer);
  void beat();
  void take_pending();

  Listener& listener_;
  std::uint64_t self_;
  std::unique_ptr<env::Poller> poller_;
  env::Watch listener_watch_;
  std::map<std::uint64_t, Peer> peers_;
  std::vector<std::unique_ptr<env::Channel>> incoming_;
  Seconds next_beat_{0};
};

}  // namespace orrery::elastic::net
