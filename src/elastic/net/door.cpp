#include "elastic/net/door.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/random.h"

namespace orrery::elastic::net {

Door::Door(std::uint64_t job, env::FileDescriptor socket, env::Clock& clock)
    : job_(job), socket_(std::move(socket)), address_(local_address(socket_.get())), clock_(clock) {}

Result<std::unique_ptr<Door>> Door::open(const std::string& job, const env::Address& address, env::Clock& clock,
                                         bool is_reserved) {
  ORRERY_TRY(env::FileDescriptor socket, listen_on(address, is_reserved));
  return std::unique_ptr<Door>(new Door(hash64(job), std::move(socket), clock));
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

Status Door::say(int socket, Hello words, Verdict verdict) {
  words.verdict = verdict;
  const HelloBytes bytes = encode(words);
  // So few bytes always fit the empty buffer of a new connection.
  if (::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
    return env::posix_error(errno, "cannot say hello");
  }
  return {};
}

void Door::listen_to(Waiting& visitor) {
  while (visitor.read < kHelloBytes) {
    const ssize_t got =
        ::recv(visitor.socket.get(), visitor.bytes.data() + visitor.read, kHelloBytes - visitor.read, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      visitor.over = clock_.monotonic() - visitor.since > kHelloMax;
      return;
    }
    if (got <= 0) {
      visitor.over = true;
      return;
    }
    visitor.read += static_cast<std::size_t>(got);
  }
  auto hello = decode_hello(visitor.bytes);
  const bool is_mail = hello && hello->verdict == Verdict::kMail;
  visitor.over = !hello || (hello->verdict != Verdict::kHello && !is_mail);
  if (visitor.over) return;
  visitor.hello = *hello;
  const bool wrong_job = hello->job != job_;
  if (!wrong_job && (is_mail || hello->epoch >= epoch_)) return;
  Hello refusal = *hello;
  refusal.job = job_;
  refusal.epoch = epoch_;
  (void)say(visitor.socket.get(), refusal, wrong_job ? Verdict::kWrongJob : Verdict::kStaleEpoch);
  visitor.over = true;
}

Status Door::attend(std::uint64_t epoch) {
  epoch_ = epoch;
  while (waiting_.size() < kVisitorsMax) {
    ORRERY_TRY(auto socket, accept_from(socket_.get()));
    if (!socket) break;
    waiting_.push_back({.socket = std::move(*socket), .since = clock_.monotonic()});
  }
  for (Waiting& visitor : waiting_) {
    const bool is_mail = visitor.hello.verdict == Verdict::kMail;
    if (visitor.read < kHelloBytes || (!is_mail && visitor.hello.epoch < epoch_)) listen_to(visitor);
  }
  std::erase_if(waiting_, [](const Waiting& visitor) { return visitor.over; });
  close_leaving();
  return {};
}

template <class Is>
std::vector<Door::Visitor> Door::take(Is is) {
  std::vector<Visitor> visitors;
  for (Waiting& visitor : waiting_) {
    if (visitor.read < kHelloBytes || !is(visitor.hello)) continue;
    visitors.push_back({std::move(visitor.socket), visitor.hello});
    visitor.over = true;
  }
  std::erase_if(waiting_, [](const Waiting& visitor) { return visitor.over; });
  return visitors;
}

std::vector<Door::Visitor> Door::visitors_of(std::uint64_t epoch) {
  return take([&](const Hello& hello) { return hello.verdict == Verdict::kHello && hello.epoch == epoch; });
}

std::vector<Door::Visitor> Door::mail() {
  return take([](const Hello& hello) { return hello.verdict == Verdict::kMail; });
}

}  // namespace orrery::elastic::net
