#include "elastic/net/listener.h"

#include <algorithm>
#include <array>

#include "env/entropy.h"

namespace orrery::elastic::net {

Result<std::unique_ptr<Listener>> Listener::open(env::Env env, const env::Credentials& credentials,
                                                 const env::Address& address, bool is_reserved) {
  ORRERY_TRY(auto poller, env.pollers.make());
  std::unique_ptr<Listener> listener(new Listener(env, credentials, std::move(poller)));
  ORRERY_TRY(listener->listener_,
             env::ChannelListener::open(env, *listener->poller_, address, credentials,
                                        {.is_reserved = is_reserved, .handshake_max = kHandshakeMax}));
  return listener;
}

Listener::~Listener() {
  const Seconds end = clock().monotonic() + kLeaveMax;
  for (;;) {
    close_leaving();
    const bool all_there = std::all_of(leaving_.begin(), leaving_.end(),
                                       [](const auto& connection) { return connection->path().all_acknowledged; });
    if (all_there || clock().monotonic() > end) return;
    clock().sleep(microseconds(100));
  }
}

Result<std::unique_ptr<env::Channel>> Listener::connect(const env::Address& address, const Introduction& introduction) {
  ORRERY_TRY(auto connection, env_.sockets.begin_connect(address));
  return std::make_unique<env::Channel>(
      std::move(connection), env::Handshake::of_connecting(credentials_, env_.entropy.bytes(env::kChallengeBytes),
                                                           orrery::encode(introduction)));
}

void Listener::see_off(std::unique_ptr<env::Connection> connection) {
  connection->finish();
  leaving_.push_back(std::move(connection));
  close_leaving();
}

void Listener::close_leaving() {
  std::array<char, 4096> nowhere;
  std::erase_if(leaving_, [&](const std::unique_ptr<env::Connection>& connection) {
    for (;;) {
      const auto got = connection->receive_some(nowhere);
      if (!got || (*got && **got == 0)) return true;
      if (!*got) return false;
    }
  });
}

Status Listener::PendingConnection::reply(const Answer& answer) {
  channel->reply(answer.verdict == Verdict::kWelcome, orrery::encode(answer));
  // A reply fits the buffer of a new connection.
  return channel->send_handshake();
}

bool Listener::look_at(PendingConnection& pending) {
  if (pending.introduction.is_for_messages) return false;
  if (pending.introduction.generation < generation_) {
    (void)pending.reply({.verdict = Verdict::kStaleGeneration, .generation = generation_});
    return true;
  }
  // It has nothing to send before it is welcome, so any input is its end, or comes from no rank of ours.
  std::vector<std::string> none;
  return !pending.channel->move(none) || pending.channel->has_input();
}

void Listener::attend(std::uint64_t generation) {
  generation_ = generation;
  for (auto& channel : listener_->receive()) {
    const auto introduction = decode<Introduction>(channel->handshake().about());
    if (introduction && channel->watch_with(*poller_)) proven_.push_back({std::move(channel), *introduction});
  }
  std::erase_if(proven_, [this](PendingConnection& pending) { return look_at(pending); });
  while (proven_.size() > kPendingMax) proven_.erase(proven_.begin());
  close_leaving();
}

template <class Is>
std::vector<Listener::PendingConnection> Listener::take(Is is) {
  std::vector<PendingConnection> taken;
  for (PendingConnection& pending : proven_) {
    if (!is(pending.introduction)) continue;
    pending.channel->watch_no_more();
    taken.push_back(std::move(pending));
  }
  std::erase_if(proven_, [](const PendingConnection& pending) { return pending.channel == nullptr; });
  return taken;
}

std::vector<Listener::PendingConnection> Listener::pending_of(std::uint64_t generation) {
  return take([&](const Introduction& introduction) {
    return !introduction.is_for_messages && introduction.generation == generation;
  });
}

std::vector<Listener::PendingConnection> Listener::peers() {
  return take([](const Introduction& introduction) { return introduction.is_for_messages; });
}

}  // namespace orrery::elastic::net
