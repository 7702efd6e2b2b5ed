#include "elastic/net/listener.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/epoll.h>

namespace orrery::elastic::net {

Listener::Listener(std::string secret, env::FileDescriptor socket, env::FileDescriptor poll, env::Clock& clock)
    : secret_(std::move(secret)),
      socket_(std::move(socket)),
      poll_(std::move(poll)),
      address_(local_address(socket_.get())),
      clock_(clock) {}

namespace {

Status watch(int poll, int socket) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(poll, EPOLL_CTL_ADD, socket, &event) != 0) return env::posix_error(errno, "cannot watch a socket");
  return {};
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::open(const std::string& secret, const env::Address& address,
                                                 env::Clock& clock, bool is_reserved) {
  ORRERY_TRY(env::FileDescriptor socket, listen_on(address, is_reserved));
  env::FileDescriptor poll(::epoll_create1(EPOLL_CLOEXEC));
  if (!poll.open()) return env::posix_error(errno, "cannot watch sockets");
  ORRERY_TRY_VOID(watch(poll.get(), socket.get()));
  return std::unique_ptr<Listener>(new Listener(secret, std::move(socket), std::move(poll), clock));
}

Listener::~Listener() {
  const Seconds end = clock_.monotonic() + kLeaveMax;
  for (;;) {
    close_leaving();
    const bool all_there = std::all_of(leaving_.begin(), leaving_.end(), [](const env::FileDescriptor& socket) {
      return path_state(socket.get()).all_acknowledged;
    });
    if (all_there || clock_.monotonic() > end) return;
    clock_.sleep(microseconds(100));
  }
}

void Listener::see_off(env::FileDescriptor socket) {
  ::shutdown(socket.get(), SHUT_WR);
  leaving_.push_back(std::move(socket));
  close_leaving();
}

void Listener::close_leaving() {
  std::array<std::byte, 4096> nowhere;
  std::erase_if(leaving_, [&](const env::FileDescriptor& socket) {
    ssize_t got = 1;
    while (got > 0) got = ::recv(socket.get(), nowhere.data(), nowhere.size(), 0);
    return got == 0 || (errno != EAGAIN && errno != EINTR);
  });
}

Status Listener::answer(const PendingConnection& pending, Handshake words, Verdict verdict) const {
  words.verdict = verdict;
  words.nonce = pending.handshake.nonce;
  words.proof = proof_of(words, Speaker::kListens, secret_, pending.challenge);
  return write_at_once(pending.socket.get(), encode(words));
}

std::size_t Listener::count(bool is_proven) const {
  return static_cast<std::size_t>(std::count_if(
      waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) { return waiting.is_proven == is_proven; }));
}

bool Listener::drop_oldest(bool is_proven) {
  const auto oldest = std::find_if(waiting_.begin(), waiting_.end(),
                                   [&](const Waiting& waiting) { return waiting.is_proven == is_proven; });
  if (oldest == waiting_.end()) return false;
  waiting_.erase(oldest);
  return true;
}

Status Listener::take_in() {
  // At most as many per call as may wait, so that a stream of unauthenticated clients does not keep us here.
  for (std::size_t i = 0; i < kUnprovenMax; ++i) {
    ORRERY_TRY(auto socket, accept_or_drop(socket_.get(), [this] { return drop_oldest(false); }));
    if (!socket) break;
    if (count(false) == kUnprovenMax) drop_oldest(false);
    Waiting waiting{.pending = {std::move(*socket), random_nonce(), {}}, .since = clock_.monotonic()};
    const int one = waiting.pending.socket.get();
    if (!watch(poll_.get(), one) || !write_at_once(one, encode_challenge(waiting.pending.challenge))) continue;
    waiting_.push_back(std::move(waiting));
  }
  return {};
}

void Listener::hear(Waiting& waiting) {
  const int socket = waiting.pending.socket.get();
  for (;;) {
    const ReadState heard = read_some(socket, waiting.bytes, waiting.read);
    const auto begin = waiting.bytes.begin(), end = begin + static_cast<std::ptrdiff_t>(waiting.read);
    const auto handshake = std::find_if(begin, end, [](std::byte byte) { return byte != std::byte{0}; });
    std::copy(handshake, end, begin);
    waiting.read = static_cast<std::size_t>(end - handshake);
    if (heard == ReadState::kWhole && waiting.read < kHandshakeBytes) continue;
    if (heard == ReadState::kWhole) return judge(waiting);
    waiting.is_over = heard == ReadState::kGone || clock_.monotonic() - waiting.since > kHandshakeMax;
    return;
  }
}

void Listener::judge(Waiting& waiting) {
  PendingConnection& pending = waiting.pending;
  const auto handshake = decode_handshake(waiting.bytes);
  waiting.is_over =
      !handshake || (handshake->verdict != Verdict::kHandshake && handshake->verdict != Verdict::kPeerMessages);
  if (waiting.is_over) return;
  waiting.is_proven = is_proven(*handshake, Speaker::kConnects, secret_, pending.challenge);
  waiting.is_over = !waiting.is_proven;
  if (waiting.is_proven) {
    pending.handshake = *handshake;
  } else {
    (void)write_at_once(pending.socket.get(), encode(Handshake{.verdict = Verdict::kWrongSecret}));
  }
}

void Listener::look_at(Waiting& waiting) {
  if (!waiting.is_proven) hear(waiting);
  if (!waiting.is_proven || waiting.is_over) return;
  const PendingConnection& pending = waiting.pending;
  if (pending.handshake.verdict == Verdict::kPeerMessages) return;
  if (pending.handshake.generation < generation_) {
    (void)answer(pending, {.generation = generation_}, Verdict::kStaleGeneration);
    waiting.is_over = true;
    return;
  }
  // It has nothing to send before it is welcome, so any input is its end, or comes from no rank of ours.
  std::byte next{};
  const ssize_t got = ::recv(pending.socket.get(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
  waiting.is_over = got >= 0 || (errno != EAGAIN && errno != EINTR);
}

void Listener::erase_over() {
  std::erase_if(waiting_, [](const Waiting& waiting) { return waiting.is_over; });
}

Status Listener::attend(std::uint64_t generation) {
  generation_ = generation;
  const Status taken = take_in();
  for (Waiting& waiting : waiting_) look_at(waiting);
  erase_over();
  while (count(true) > kPendingMax) drop_oldest(true);
  close_leaving();
  return taken;
}

template <class Is>
std::vector<Listener::PendingConnection> Listener::take(Is is) {
  std::vector<PendingConnection> pending;
  for (Waiting& waiting : waiting_) {
    if (!waiting.is_proven || !is(waiting.pending.handshake)) continue;
    ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, waiting.pending.socket.get(), nullptr);
    pending.push_back(std::move(waiting.pending));
    waiting.is_over = true;
  }
  erase_over();
  return pending;
}

std::vector<Listener::PendingConnection> Listener::pending_of(std::uint64_t generation) {
  return take([&](const Handshake& handshake) {
    return handshake.verdict == Verdict::kHandshake && handshake.generation == generation;
  });
}

std::vector<Listener::PendingConnection> Listener::peers() {
  return take([](const Handshake& handshake) { return handshake.verdict == Verdict::kPeerMessages; });
}

}  // namespace orrery::elastic::net
