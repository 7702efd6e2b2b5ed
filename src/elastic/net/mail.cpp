#include "elastic/net/mail.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/epoll.h>

namespace orrery::elastic::net {

namespace {

constexpr Seconds kRetryAfter{0.02};
constexpr Seconds kLeaveMax{1};
constexpr std::size_t kWaitingMax = 64;  // messages to one peer that is being connected to
constexpr std::size_t kIncomingMax = 4 * kRanksMax;

}  // namespace

Mail::Mail(Door& door, std::uint64_t self, env::FileDescriptor poll)
    : door_(door), self_(self), poll_(std::move(poll)) {}

Result<std::unique_ptr<Mail>> Mail::open(Door& door, std::uint64_t self) {
  env::FileDescriptor poll(::epoll_create1(EPOLL_CLOEXEC));
  if (!poll.open()) return env::posix_error(errno, "cannot watch sockets");
  std::unique_ptr<Mail> mail(new Mail(door, self, std::move(poll)));
  mail->watch_socket(door.descriptor(), false, true);
  return mail;
}

Mail::~Mail() {
  const Seconds end = door_.clock().monotonic() + kLeaveMax;
  for (auto& [id, peer] : peers_) {
    while (peer.stream != nullptr && peer.stream->has_output() && door_.clock().monotonic() < end) {
      move(id, peer);
      if (peer.stream != nullptr && peer.stream->has_output()) door_.clock().sleep(microseconds(100));
    }
    if (peer.stream != nullptr) door_.see_off(peer.stream->take_socket());
  }
}

void Mail::watch_socket(int socket, bool for_room, bool is_new) {
  epoll_event event{};
  event.events = EPOLLIN | (for_room ? static_cast<std::uint32_t>(EPOLLOUT) : 0u);
  ::epoll_ctl(poll_.get(), is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event);
}

Mail::Peer* Mail::find_or_make(std::uint64_t id, const env::Address& address) {
  const auto found = peers_.find(id);
  if (found != peers_.end()) return &found->second;
  const auto endpoint = resolve(address);
  if (!endpoint) return nullptr;
  return &peers_.emplace(id, Peer{.endpoint = *endpoint}).first->second;
}

bool Mail::send(std::uint64_t to, const env::Address& address, std::string_view message) {
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

void Mail::watch(const std::map<std::uint64_t, env::Address>& peers) {
  for (auto& [id, peer] : peers_) peer.is_watched = false;
  for (const auto& [id, address] : peers) {
    Peer* const peer = find_or_make(id, address);
    if (peer == nullptr) continue;
    peer->is_watched = true;
    move(id, *peer);
  }
}

bool Mail::is_lost(std::uint64_t peer) const {
  const auto found = peers_.find(peer);
  return found != peers_.end() && found->second.is_lost;
}

void Mail::forget_losses() {
  for (auto& [id, peer] : peers_) {
    if (!peer.is_watched) continue;
    peer.is_lost = false;
    peer.next_try = Seconds(0);
  }
}

bool Mail::was_reached(std::uint64_t peer) const {
  const auto found = peers_.find(peer);
  return found != peers_.end() && found->second.was_reached;
}

void Mail::lose(Peer& peer) {
  peer.is_lost = true;
  close(peer);
}

void Mail::close(Peer& peer) {
  peer.stream.reset();
  peer.greeting.reset();
  peer.connecting.close();
  peer.pulse = Pulse();
  // What was said to it may be meant for what it no longer is.
  peer.waiting.clear();
  peer.next_try = door_.clock().monotonic() + kRetryAfter;
}

void Mail::begin(Peer& peer) {
  const Seconds now = door_.clock().monotonic();
  if (now < peer.next_try) return;
  auto socket = begin_connect(peer.endpoint);
  if (!socket) return lose(peer);
  peer.connecting = std::move(*socket);
  peer.since = now;
  watch_socket(peer.connecting.get(), true, true);
}

void Mail::finish_connecting(std::uint64_t id, Peer& peer) {
  pollfd look{peer.connecting.get(), POLLOUT, 0};
  if (::poll(&look, 1, 0) == 0) {
    if (door_.clock().monotonic() < peer.since + kConnectMax) return;
    // It goes on trying; whether it can be reached is said by then.
    lose(peer);
    return;
  }
  if (!connected(peer.connecting.get())) return lose(peer);
  prepare(peer.connecting.get(), 0);
  watch_socket(peer.connecting.get(), false, false);
  peer.stream = std::make_unique<Stream>(std::move(peer.connecting), StreamLimits{});
  peer.greeting.emplace(door_.secret(), Hello{.epoch = id, .verdict = Verdict::kMail});
  peer.is_lost = false;
  peer.was_reached = true;
  for (const std::string& message : std::exchange(peer.waiting, {})) (void)peer.stream->send(message);
}

bool Mail::greet(Peer& peer) {
  const bool was_answered = peer.greeting->state() == Greeting::State::kAnswered;
  const Greeting::State state = peer.greeting->move(peer.stream->socket());
  if (state == Greeting::State::kGone) {
    // It may have been too busy with others. If its process is gone, the next connection is refused.
    close(peer);
    return false;
  }
  if (state != Greeting::State::kAnswered) return true;
  // Nothing comes after the answer but the end of the connection.
  std::byte next{};
  const ssize_t got = was_answered ? ::recv(peer.stream->socket(), &next, 1, MSG_DONTWAIT) : -1;
  const bool goes_on = got < 0 && (!was_answered || errno == EAGAIN || errno == EINTR);
  if (goes_on && peer.greeting->answer().verdict == Verdict::kWelcome) return true;
  lose(peer);
  return false;
}

void Mail::flush(Peer& peer) {
  if (peer.greeting->state() == Greeting::State::kWaits) return;
  const bool had_output = peer.stream->has_output();
  if (!peer.stream->flush()) return lose(peer);
  if (had_output) watch_socket(peer.stream->socket(), peer.stream->has_output(), false);
}

void Mail::move(std::uint64_t id, Peer& peer) {
  if (peer.stream == nullptr && !peer.connecting.open()) {
    if (!peer.is_watched && peer.waiting.empty()) return;
    begin(peer);
  }
  if (peer.connecting.open()) finish_connecting(id, peer);
  if (peer.stream == nullptr || !greet(peer)) return;
  if (peer.stream->has_output()) flush(peer);
}

void Mail::beat(Peer& peer) {
  if (peer.greeting->state() == Greeting::State::kWaits) {
    constexpr std::array kNothing = {std::byte{0}};
    if (!write_at_once(peer.stream->socket(), kNothing)) lose(peer);
    return;
  }
  (void)peer.stream->send("");
  flush(peer);
}

void Mail::beat() {
  const Seconds now = door_.clock().monotonic();
  next_beat_ = now + Pulse::kInterval;
  for (auto& [id, peer] : peers_) {
    if (peer.stream == nullptr) continue;
    const PathState path = path_state(peer.stream->socket());
    peer.pulse.look(now, path.in_flight, path.since_answer);
    if (peer.pulse.is_silent()) {
      lose(peer);
    } else if (peer.is_watched && path.all_acknowledged) {
      beat(peer);
    }
  }
}

void Mail::take_visitors() {
  (void)door_.attend();
  for (Door::Visitor& visitor : door_.mail()) {
    const bool is_for_us = visitor.hello.epoch == self_ && incoming_.size() < kIncomingMax;
    const bool told =
        door_.answer(visitor, visitor.hello, is_for_us ? Verdict::kWelcome : Verdict::kWrongRank).has_value();
    if (!told || !is_for_us) continue;
    watch_socket(visitor.socket.get(), false, true);
    incoming_.push_back(std::make_unique<Stream>(std::move(visitor.socket), StreamLimits{}));
  }
}

std::vector<std::string> Mail::receive() {
  std::vector<std::string> messages;
  std::array<epoll_event, 1> events;
  const bool is_news = ::epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), 0) > 0;
  const Seconds now = door_.clock().monotonic();
  if (now >= next_beat_) beat();
  const bool is_connecting = std::any_of(peers_.begin(), peers_.end(), [](const auto& one) {
    return one.second.stream == nullptr && (one.second.is_watched || !one.second.waiting.empty());
  });
  // Visitors that say nothing are sent away in time.
  if (!is_news && !is_connecting && !door_.has_visitors()) return messages;
  take_visitors();
  for (auto& [id, peer] : peers_) move(id, peer);
  std::erase_if(incoming_, [&](const std::unique_ptr<Stream>& stream) { return !stream->receive(messages); });
  return messages;
}

}  // namespace orrery::elastic::net
