#include "elastic/net/peer_connections.h"

#include <algorithm>
#include <utility>

namespace orrery::elastic::net {

namespace {

constexpr Seconds kReconnectAfter{0.02};
constexpr Seconds kFlushMax{1};
constexpr std::size_t kWaitingMax = 64;  // messages to one peer that is connected to later
constexpr std::size_t kIncomingMax = 4 * kRanksMax;

}  // namespace

Result<std::unique_ptr<PeerConnections>> PeerConnections::open(Listener& listener, std::uint64_t self) {
  ORRERY_TRY(auto poller, listener.env().pollers.make());
  std::unique_ptr<PeerConnections> peers(new PeerConnections(listener, self, std::move(poller)));
  ORRERY_TRY(peers->listener_watch_, env::Watch::on(*peers->poller_, listener.poller()));
  return peers;
}

PeerConnections::~PeerConnections() {
  const Seconds end = listener_.clock().monotonic() + kFlushMax;
  for (auto& [id, peer] : peers_) {
    while (peer.channel != nullptr && peer.channel->has_output() && listener_.clock().monotonic() < end) {
      move(id, peer);
      if (peer.channel != nullptr && peer.channel->has_output()) listener_.clock().sleep(microseconds(100));
    }
    if (peer.channel != nullptr) listener_.see_off(peer.channel->take_connection());
  }
}

PeerConnections::Peer& PeerConnections::find_or_make(std::uint64_t id, const env::Address& address) {
  return peers_.try_emplace(id, Peer{.address = address}).first->second;
}

bool PeerConnections::send(std::uint64_t to, const env::Address& address, std::string_view message) {
  Peer& peer = find_or_make(to, address);
  bool is_queued = true;
  if (peer.channel != nullptr) {
    is_queued = peer.channel->send(message);
  } else if (peer.waiting.size() < kWaitingMax) {
    peer.waiting.emplace_back(message);
  } else {
    return false;
  }
  move(to, peer);
  return is_queued;
}

void PeerConnections::watch(const std::map<std::uint64_t, env::Address>& peers) {
  for (auto& [id, peer] : peers_) peer.is_watched = false;
  for (const auto& [id, address] : peers) {
    Peer& peer = find_or_make(id, address);
    peer.is_watched = true;
    move(id, peer);
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
  peer.channel.reset();
  peer.heartbeat = Heartbeat();
  // Messages to it may be meant for the process that it no longer is.
  peer.waiting.clear();
  peer.next_try = listener_.clock().monotonic() + kReconnectAfter;
}

void PeerConnections::begin(std::uint64_t id, Peer& peer) {
  const Seconds now = listener_.clock().monotonic();
  if (now < peer.next_try || (!peer.is_watched && peer.waiting.empty())) return;
  auto channel = listener_.connect(peer.address, {.is_for_messages = true, .generation = id});
  if (!channel || !(*channel)->watch_with(*poller_)) return lose(peer);
  peer.channel = std::move(*channel);
  peer.is_made = false;
  peer.since = now;
  for (const std::string& message : std::exchange(peer.waiting, {})) (void)peer.channel->send(message);
}

void PeerConnections::move(std::uint64_t id, Peer& peer) {
  using State = env::Handshake::State;
  if (peer.channel == nullptr) begin(id, peer);
  if (peer.channel == nullptr) return;
  std::vector<std::string> none;
  const Status moved = peer.channel->move(none);
  if (!peer.channel->is_connected()) {
    // It continues to try; by then it is known whether the peer can be reached.
    const bool is_late = listener_.clock().monotonic() >= peer.since + kConnectMax;
    if (!moved || is_late) lose(peer);
    return;
  }
  if (!std::exchange(peer.is_made, true)) {
    peer.is_lost = false;
    peer.was_reached = true;
  }
  if (moved && none.empty()) return;
  // One that never replied may have been too busy with others. If its process is gone, the next connection is refused.
  const State state = peer.channel->handshake().state();
  if (state == State::kWaits || state == State::kIntroduced) return close(peer);
  lose(peer);
}

void PeerConnections::beat() {
  const Seconds now = listener_.clock().monotonic();
  next_beat_ = now + Heartbeat::kInterval;
  for (auto& [id, peer] : peers_) {
    if (peer.channel == nullptr || !peer.channel->is_connected()) continue;
    const env::PathState path = peer.channel->connection().path();
    peer.heartbeat.look(now, path.in_flight, path.since_answer);
    if (peer.heartbeat.is_silent()) {
      lose(peer);
    } else if (peer.is_watched && path.all_acknowledged) {
      peer.channel->beat();
      move(id, peer);
    }
  }
}

void PeerConnections::take_pending() {
  listener_.attend();
  for (Listener::PendingConnection& pending : listener_.peers()) {
    const bool is_for_us = pending.introduction.generation == self_ && incoming_.size() < kIncomingMax;
    const bool is_told =
        pending.reply({.verdict = is_for_us ? Verdict::kWelcome : Verdict::kWrongRank, .generation = self_})
            .has_value();
    if (!is_told || !is_for_us || !pending.channel->watch_with(*poller_)) continue;
    incoming_.push_back(std::move(pending.channel));
  }
}

std::vector<std::string> PeerConnections::receive() {
  std::vector<std::string> messages;
  const bool is_news = poller_->is_anything_ready();
  const Seconds now = listener_.clock().monotonic();
  if (now >= next_beat_) beat();
  const bool is_connecting = std::any_of(peers_.begin(), peers_.end(), [](const auto& one) {
    const Peer& peer = one.second;
    return peer.channel == nullptr ? peer.is_watched || !peer.waiting.empty() : !peer.channel->is_connected();
  });
  // Pending connections that send nothing are closed in time.
  if (!is_news && !is_connecting && !listener_.has_pending()) return messages;
  take_pending();
  for (auto& [id, peer] : peers_) move(id, peer);
  std::erase_if(incoming_, [&](const std::unique_ptr<env::Channel>& channel) { return !channel->move(messages); });
  return messages;
}

}  // namespace orrery::elastic::net
