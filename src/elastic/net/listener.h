#pragma once
// Where other ranks of a job connect: one listening socket of a process, for all generations.
//
// A pending connection has to prove that it knows the secret of the job (handshake.h); before that, nothing that it
// sends is accepted and it is told nothing about the job. At most kUnprovenMax connections may be unproven, none longer
// than kHandshakeMax: when more come, the oldest of them is closed, so unauthenticated clients never keep a rank out.
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

#include "elastic/net/handshake.h"
#include "elastic/net/socket.h"
#include "elastic/net/wire.h"
#include "env/clock.h"

namespace orrery::elastic::net {

class Listener {
 public:
  static constexpr std::size_t kUnprovenMax = 64;
  static constexpr std::size_t kPendingMax = 2 * kRanksMax;
  // A peer answers the challenge when its process calls us again: a training may compute for seconds between calls.
  static constexpr Seconds kHandshakeMax{30};
  static constexpr Seconds kLeaveMax{2};

  // Port 0 takes a free one; one that this user has reserved (socket.h) is taken if `is_reserved`. The clock must
  // outlive the listener.
  static Result<std::unique_ptr<Listener>> open(const std::string& secret, const env::Address& address,
                                                env::Clock& clock, bool is_reserved = false);
  // Waits until what was sent last has reached the other machines, at most kLeaveMax.
  ~Listener();

  const env::Address& address() const { return address_; }
  const std::string& secret() const { return secret_; }
  // Readable when attend() may have something to do.
  int descriptor() const { return poll_.get(); }
  env::Clock& clock() { return clock_; }

  // Accepts new connections, reads their handshakes, and closes those of generations before `generation`. Never waits.
  Status attend(std::uint64_t generation);
  // The same, for the generation of the last call.
  Status attend() { return attend(generation_); }

  // Whether a connection was accepted that has not been asked for yet.
  bool has_pending() const { return !waiting_.empty(); }

  struct PendingConnection {
    env::FileDescriptor socket;
    Nonce challenge{};
    Handshake handshake{};
  };
  // The pending connections of `generation`.
  std::vector<PendingConnection> pending_of(std::uint64_t generation);
  // The pending connections for peer messages.
  std::vector<PendingConnection> peers();
  // Tells a pending connection whether it is welcome. `words` are of this end.
  Status answer(const PendingConnection& pending, Handshake words, Verdict verdict) const;
  // Takes a connection on which nothing more will be written or read.
  void see_off(env::FileDescriptor socket);

 private:
  struct Waiting {
    PendingConnection pending;
    HandshakeBytes bytes{};
    std::size_t read = 0;
    Seconds since{0};
    bool is_proven = false, is_over = false;
  };

  Listener(std::string secret, env::FileDescriptor socket, env::FileDescriptor poll, env::Clock& clock);
  Status take_in();
  // Returns whether there was one.
  bool drop_oldest(bool is_proven);
  std::size_t count(bool is_proven) const;
  void look_at(Waiting& waiting);
  void hear(Waiting& waiting);
  void judge(Waiting& waiting);
  void erase_over();
  template <class Is>
  std::vector<PendingConnection> take(Is is);
  // Closes those whose other ends are closed.
  void close_leaving();

  std::string secret_;
  env::FileDescriptor socket_, poll_;
  env::Address address_;
  env::Clock& clock_;
  std::uint64_t generation_ = 0;
  std::vector<Waiting> waiting_;  // the oldest first
  std::vector<env::FileDescriptor> leaving_;
};

}  // namespace orrery::elastic::net
