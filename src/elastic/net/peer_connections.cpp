#include "elastic/net/peer_connections.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/epoll.h>

namespace orrery::elastic::net {

namespace {

constexpr Seconds kReconnectAfter{0.02};
constexpr Seconds kFlushMax{1};
constexpr std::size_t kWaitingMax = 64;  // messages to one peer that is being connected to
constexpr std::size_t kIncomingMax = 4 * kRanksMax;

}  // namespace

PeerConnections::PeerConnections(Listener& listener, std::uint64_t self, env::FileDescriptor poll)
    : listener_(listener), self_(self), poll_(std::move(poll)) {}

Result<std::unique_ptr<PeerConnections>> PeerConnections::open(Listener& listener, std::uint64_t self) {
  env::FileDescriptor poll(::epoll_create1(EPOLL_CLOEXEC));
  if (!poll.open()) return env::posix_error(errno, "cannot watch sockets");
  std::unique_ptr<PeerConnections> peers(new PeerConnections(listener, self, std::move(poll)));
  peers->watch_socket(listener.descriptor(), false, true);
  return peers;
}

PeerConnections::~PeerConnections() {
  const Seconds end = listener_.clock().monotonic() + kFlushMax;
  for (auto& [id, peer] : peers_) {
    while (peer.stream != nullptr && peer.stream->has_output() && listener_.clock().monotonic() < end) {
      move(id, peer);
      if (peer.stream != nullptr && peer.stream->has_output()) listener_.clock().sleep(microseconds(100));
    }
    if (peer.stream != nullptr) listener_.see_off(peer.stream->take_socket());
  }
}

void PeerConnections::watch_socket(int socket, bool for_room, bool is_new) {
  epoll_event event{};
  event.events = EPOLLIN | (for_room ? static_cast<std::uint32_t>(EPOLLOUT) : 0u);
  ::epoll_ctl(poll_.get(), is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event);
}

PeerConnections::Peer* PeerConnections::find_or_make(std::uint64_t id, const env::Address& address) {
  const auto found = peers_.find(id);
  if (found != peers_.end()) return &found->second;
  const auto resolved = resolve(address);
  if (!resolved) return nullptr;
  return &peers_.emplace(id, Peer{.resolved = *resolved}).first->second;
}

bool PeerConnections::send(std::uint64_t to, const env::Address& address, std::string_view message) {
  Peer* const peer = find_or_make(to, address);
  if (peer == nullptr) return false;
  if (peer->stream == nullptr) {
    if (peer->waiting.size() == kWaitingMax) return false;
    peer->waiting.emplace_back(message);
    move(to, *peer);
    return true;
  }
  const bool is_queued = peer->stream->send(message);
  flush(*peer);
  return is_queued;
}

void PeerConnections::watch(const std::map<std::uint64_t, env::Address>& peers) {
  for (auto& [id, peer] : peers_) peer.is_watched = false;
  for (const auto& [id, address] : peers) {
    Peer* const peer = find_or_make(id, address);
    if (peer == nullptr) continue;
    peer->is_watched = true;
    move(id, *peer);
  }
}

bool PeerConnections::is_lost(std::uint64_t peer) const {
  const auto found = peers_.find(peer);
  return found != peers_.end() && found->second.is_lost;
}

void PeerConnections::forget_losses() {
  for (auto& [id, peer] : peers_) {
    if (!peer.is_watched) continue;
    peer.is_lost = false;
    peer.next_try = Seconds(0);
  }
}

bool PeerConnections::was_reached(std::uint64_t peer) const {
  const auto found = peers_.find(peer);
  return found != peers_.end() && found->second.was_reached;
}

void PeerConnections::lose(Peer& peer) {
  peer.is_lost = true;
  close(peer);
}

void PeerConnections::close(Peer& peer) {
  peer.stream.reset();
  peer.handshake.reset();
  peer.connecting.close();
  peer.heartbeat = Heartbeat();
  // Messages to it may be meant for the process that it no longer is.
  peer.waiting.clear();
  peer.next_try = listener_.clock().monotonic() + kReconnectAfter;
}

void PeerConnections::begin(Peer& peer) {
  const Seconds now = listener_.clock().monotonic();
  if (now < peer.next_try) return;
  auto socket = begin_connect(peer.resolved);
  if (!socket) return lose(peer);
  peer.connecting = std::move(*socket);
  peer.since = now;
  watch_socket(peer.connecting.get(), true, true);
}

void PeerConnections::finish_connecting(std::uint64_t id, Peer& peer) {
  pollfd look{peer.connecting.get(), POLLOUT, 0};
  if (::poll(&look, 1, 0) == 0) {
    if (listener_.clock().monotonic() < peer.since + kConnectMax) return;
    // It continues to try; by then it is known whether the peer can be reached.
    lose(peer);
    return;
  }
  if (!connected(peer.connecting.get())) return lose(peer);
  prepare(peer.connecting.get(), 0);
  watch_socket(peer.connecting.get(), false, false);
  peer.stream = std::make_unique<Stream>(std::move(peer.connecting), StreamLimits{});
  peer.handshake.emplace(listener_.secret(), Handshake{.generation = id, .verdict = Verdict::kPeerMessages});
  peer.is_lost = false;
  peer.was_reached = true;
  for (const std::string& message : std::exchange(peer.waiting, {})) (void)peer.stream->send(message);
}

bool PeerConnections::shake_hands(Peer& peer) {
  const bool was_answered = peer.handshake->state() == OutgoingHandshake::State::kAnswered;
  const OutgoingHandshake::State state = peer.handshake->move(peer.stream->socket());
  if (state == OutgoingHandshake::State::kGone) {
    // The peer may have been too busy with others. If its process is gone, the next connection is refused.
    close(peer);
    return false;
  }
  if (state != OutgoingHandshake::State::kAnswered) return true;
  // After the answer only the end of the connection can follow.
  std::byte next{};
  const ssize_t got = was_answered ? ::recv(peer.stream->socket(), &next, 1, MSG_DONTWAIT) : -1;
  const bool goes_on = got < 0 && (!was_answered || errno == EAGAIN || errno == EINTR);
  if (goes_on && peer.handshake->answer().verdict == Verdict::kWelcome) return true;
  lose(peer);
  return false;
}

void PeerConnections::flush(Peer& peer) {
  if (peer.handshake->state() == OutgoingHandshake::State::kWaits) return;
  const bool had_output = peer.stream->has_output();
  if (!peer.stream->flush()) return lose(peer);
  if (had_output) watch_socket(peer.stream->socket(), peer.stream->has_output(), false);
}

void PeerConnections::move(std::uint64_t id, Peer& peer) {
  if (peer.stream == nullptr && !peer.connecting.open()) {
    if (!peer.is_watched && peer.waiting.empty()) return;
    begin(peer);
  }
  if (peer.connecting.open()) finish_connecting(id, peer);
  if (peer.stream == nullptr || !shake_hands(peer)) return;
  if (peer.stream->has_output()) flush(peer);
}

void PeerConnections::beat(Peer& peer) {
  if (peer.handshake->state() == OutgoingHandshake::State::kWaits) {
    constexpr std::array kNothing = {std::byte{0}};
    if (!write_at_once(peer.stream->socket(), kNothing)) lose(peer);
    return;
  }
  (void)peer.stream->send("");
  flush(peer);
}

void PeerConnections::beat() {
  const Seconds now = listener_.clock().monotonic();
  next_beat_ = now + Heartbeat::kInterval;
  for (auto& [id, peer] : peers_) {
    if (peer.stream == nullptr) continue;
    const PathState path = path_state(peer.stream->socket());
    peer.heartbeat.look(now, path.in_flight, path.since_answer);
    if (peer.heartbeat.is_silent()) {
      lose(peer);
    } else if (peer.is_watched && path.all_acknowledged) {
      beat(peer);
    }
  }
}

void PeerConnections::take_pending() {
  (void)listener_.attend();
  for (Listener::PendingConnection& pending : listener_.peers()) {
    const bool is_for_us = pending.handshake.generation == self_ && incoming_.size() < kIncomingMax;
    const bool told =
        listener_.answer(pending, pending.handshake, is_for_us ? Verdict::kWelcome : Verdict::kWrongRank).has_value();
    if (!told || !is_for_us) continue;
    watch_socket(pending.socket.get(), false, true);
    incoming_.push_back(std::make_unique<Stream>(std::move(pending.socket), StreamLimits{}));
  }
}

std::vector<std::string> PeerConnections::receive() {
  std::vector<std::string> messages;
  std::array<epoll_event, 1> events;
  const bool is_news = ::epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), 0) > 0;
  const Seconds now = listener_.clock().monotonic();
  if (now >= next_beat_) beat();
  const bool is_connecting = std::any_of(peers_.begin(), peers_.end(), [](const auto& one) {
    return one.second.stream == nullptr && (one.second.is_watched || !one.second.waiting.empty());
  });
  // Pending connections that send nothing are closed in time.
  if (!is_news && !is_connecting && !listener_.has_pending()) return messages;
  take_pending();
  for (auto& [id, peer] : peers_) move(id, peer);
  std::erase_if(incoming_, [&](const std::unique_ptr<Stream>& stream) { return !stream->receive(messages); });
  return messages;
}

}  // namespace orrery::elastic::net
