#pragma once
// Where other workers of a job connect: one listening port of a process, for all generations.
//
// A connection has to introduce itself and to prove that it knows the secret of the job (env/channel/handshake.h); before
// that, nothing that it sends is accepted and it is told nothing about the job (env/channel/channel_listener.h).
//
// A proven connection of a generation that is over is told so and closed; one of a generation that has not begun here
// waits until it does or its peer closes it, at most kPendingMax of them. A connection for peer messages is passed to
// peers(), in any generation.
//
// Connections of a generation that was left in order stay here until their other ends are closed: closing them while
// the other side still sends would reset them, and bytes in flight would be lost.

#include <memory>
#include <optional>
#include <vector>

#include "elastic/net/wire.h"
#include "env/channel/channel_listener.h"
#include "env/clock.h"
#include "env/env.h"

namespace orrery::elastic::net {

class Listener {
 public:
  static constexpr std::size_t kPendingMax = 2 * kRanksMax;
  // A peer introduces itself when its process calls us again: a training may compute for seconds between calls.
  static constexpr Seconds kHandshakeMax{30};
  static constexpr Seconds kLeaveMax{2};

  // Port 0 takes a free one; one that this user has reserved (env::Sockets::reserve) is taken if `is_reserved`. What is
  // in `env` must outlive the listener.
  static Result<std::unique_ptr<Listener>> open(env::Env env, const env::Credentials& credentials,
                                                const env::Address& address, bool is_reserved = false);
  // Waits until what was sent last has reached the other machines, at most kLeaveMax.
  ~Listener();

  const env::Address& address() const { return listener_->address(); }
  // A channel to another worker, with the secret of this job. It is being made.
  Result<std::unique_ptr<env::Channel>> connect(const env::Address& address, const Introduction& introduction);
  // Ready when attend() may have something to do.
  const env::Poller& poller() const { return *poller_; }
  env::Clock& clock() { return env_.clock; }
  const env::Env& env() const { return env_; }

  // Accepts new connections, lets them introduce themselves, and closes those of generations before `generation`. Never
  // waits.
  void attend(std::uint64_t generation);
  // The same, for the generation of the last call.
  void attend() { attend(generation_); }

  // Whether there is a connection that has not been asked for yet.
  bool has_pending() const { return listener_->has_pending() || !proven_.empty(); }

  struct PendingConnection {
    std::unique_ptr<env::Channel> channel;
    Introduction introduction{};

    // Whether it is welcome. The reply is sent at once.
    Status reply(const Answer& answer);
  };
  // The pending connections of `generation`.
  std::vector<PendingConnection> pending_of(std::uint64_t generation);
  // The pending connections for peer messages.
  std::vector<PendingConnection> peers();
  // Takes a connection on which nothing more will be sent or read.
  void see_off(std::unique_ptr<env::Connection> connection);

 private:
  Listener(env::Env env, const env::Credentials& credentials, std::unique_ptr<env::Poller> poller)
      : env_(env), credentials_(credentials), poller_(std::move(poller)) {}
  // Returns whether it is over.
  bool look_at(PendingConnection& pending);
  template <class Is>
  std::vector<PendingConnection> take(Is is);
  // Closes those whose other ends are closed.
  void close_leaving();

  env::Env env_;
  env::Credentials credentials_;
  std::unique_ptr<env::Poller> poller_;
  std::unique_ptr<env::ChannelListener> listener_;
  std::uint64_t generation_ = 0;
  std::vector<PendingConnection> proven_;  // the oldest first
  std::vector<std::unique_ptr<env::Connection>> leaving_;
};

}  // namespace orrery::elastic::net
