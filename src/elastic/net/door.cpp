#include "elastic/net/door.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/epoll.h>

namespace orrery::elastic::net {

Door::Door(std::string secret, env::FileDescriptor socket, env::FileDescriptor poll, env::Clock& clock)
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

Result<std::unique_ptr<Door>> Door::open(const std::string& secret, const env::Address& address, env::Clock& clock,
                                         bool is_reserved) {
  ORRERY_TRY(env::FileDescriptor socket, listen_on(address, is_reserved));
  env::FileDescriptor poll(::epoll_create1(EPOLL_CLOEXEC));
  if (!poll.open()) return env::posix_error(errno, "cannot watch sockets");
  ORRERY_TRY_VOID(watch(poll.get(), socket.get()));
  return std::unique_ptr<Door>(new Door(secret, std::move(socket), std::move(poll), clock));
}

Door::~Door() {
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

void Door::see_off(env::FileDescriptor socket) {
  ::shutdown(socket.get(), SHUT_WR);
  leaving_.push_back(std::move(socket));
  close_leaving();
}

void Door::close_leaving() {
  std::array<std::byte, 4096> nowhere;
  std::erase_if(leaving_, [&](const env::FileDescriptor& socket) {
    ssize_t got = 1;
    while (got > 0) got = ::recv(socket.get(), nowhere.data(), nowhere.size(), 0);
    return got == 0 || (errno != EAGAIN && errno != EINTR);
  });
}

Status Door::answer(const Visitor& visitor, Hello words, Verdict verdict) const {
  words.verdict = verdict;
  words.nonce = visitor.hello.nonce;
  words.proof = proof_of(words, Speaker::kListens, secret_, visitor.challenge);
  return write_at_once(visitor.socket.get(), encode(words));
}

std::size_t Door::count(bool is_proven) const {
  return static_cast<std::size_t>(std::count_if(
      waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) { return waiting.is_proven == is_proven; }));
}

bool Door::drop_oldest(bool is_proven) {
  const auto oldest = std::find_if(waiting_.begin(), waiting_.end(),
                                   [&](const Waiting& waiting) { return waiting.is_proven == is_proven; });
  if (oldest == waiting_.end()) return false;
  waiting_.erase(oldest);
  return true;
}

Status Door::take_in() {
  // As many per call as may wait: strangers that keep on coming do not keep us here.
  for (std::size_t i = 0; i < kUnprovenMax; ++i) {
    ORRERY_TRY(auto socket, accept_or_drop(socket_.get(), [this] { return drop_oldest(false); }));
    if (!socket) break;
    if (count(false) == kUnprovenMax) drop_oldest(false);
    Waiting waiting{.visitor = {std::move(*socket), random_nonce(), {}}, .since = clock_.monotonic()};
    const int one = waiting.visitor.socket.get();
    if (!watch(poll_.get(), one) || !write_at_once(one, encode_challenge(waiting.visitor.challenge))) continue;
    waiting_.push_back(std::move(waiting));
  }
  return {};
}

void Door::hear(Waiting& waiting) {
  const int socket = waiting.visitor.socket.get();
  for (;;) {
    const ReadState heard = read_some(socket, waiting.bytes, waiting.read);
    const auto begin = waiting.bytes.begin(), end = begin + static_cast<std::ptrdiff_t>(waiting.read);
    const auto hello = std::find_if(begin, end, [](std::byte byte) { return byte != std::byte{0}; });
    std::copy(hello, end, begin);
    waiting.read = static_cast<std::size_t>(end - hello);
    if (heard == ReadState::kWhole && waiting.read < kHelloBytes) continue;
    if (heard == ReadState::kWhole) return judge(waiting);
    waiting.is_over = heard == ReadState::kGone || clock_.monotonic() - waiting.since > kHelloMax;
    return;
  }
}

void Door::judge(Waiting& waiting) {
  Visitor& visitor = waiting.visitor;
  const auto hello = decode_hello(waiting.bytes);
  waiting.is_over = !hello || (hello->verdict != Verdict::kHello && hello->verdict != Verdict::kMail);
  if (waiting.is_over) return;
  waiting.is_proven = is_proven(*hello, Speaker::kConnects, secret_, visitor.challenge);
  waiting.is_over = !waiting.is_proven;
  if (waiting.is_proven) {
    visitor.hello = *hello;
  } else {
    (void)write_at_once(visitor.socket.get(), encode(Hello{.verdict = Verdict::kWrongSecret}));
  }
}

void Door::look_at(Waiting& waiting) {
  if (!waiting.is_proven) hear(waiting);
  if (!waiting.is_proven || waiting.is_over) return;
  const Visitor& visitor = waiting.visitor;
  if (visitor.hello.verdict == Verdict::kMail) return;
  if (visitor.hello.epoch < epoch_) {
    (void)answer(visitor, {.epoch = epoch_}, Verdict::kStaleEpoch);
    waiting.is_over = true;
    return;
  }
  // It has nothing to say before it is welcome, so whatever comes is its end, or no rank of ours.
  std::byte next{};
  const ssize_t got = ::recv(visitor.socket.get(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
  waiting.is_over = got >= 0 || (errno != EAGAIN && errno != EINTR);
}

void Door::erase_over() {
  std::erase_if(waiting_, [](const Waiting& waiting) { return waiting.is_over; });
}

Status Door::attend(std::uint64_t epoch) {
  epoch_ = epoch;
  const Status taken = take_in();
  for (Waiting& waiting : waiting_) look_at(waiting);
  erase_over();
  while (count(true) > kVisitorsMax) drop_oldest(true);
  close_leaving();
  return taken;
}

template <class Is>
std::vector<Door::Visitor> Door::take(Is is) {
  std::vector<Visitor> visitors;
  for (Waiting& waiting : waiting_) {
    if (!waiting.is_proven || !is(waiting.visitor.hello)) continue;
    ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, waiting.visitor.socket.get(), nullptr);
    visitors.push_back(std::move(waiting.visitor));
    waiting.is_over = true;
  }
  erase_over();
  return visitors;
}

std::vector<Door::Visitor> Door::visitors_of(std::uint64_t epoch) {
  return take([&](const Hello& hello) { return hello.verdict == Verdict::kHello && hello.epoch == epoch; });
}

std::vector<Door::Visitor> Door::mail() {
  return take([](const Hello& hello) { return hello.verdict == Verdict::kMail; });
}

}  // namespace orrery::elastic::net
