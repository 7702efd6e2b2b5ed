#pragma once
// One rank's connections to all other ranks of a generation, and whether all are still alive: what Endpoint
// (host/endpoint.h) is on one host, between hosts.
//
// Opening is a rendezvous: rank i connects to every rank j < i and all higher ranks connect to it; it returns when all
// connections of this rank are made. Every generation has connections of its own, so nothing that was sent in one can
// be read in another: bytes of an older generation end with their connections, those of a newer one wait at the
// listener (listener.h).
//
// All work is done inside calls, by polling the sockets; there are no threads.
//
// How the end of a rank is noticed:
//   - its process ends: its machine closes the connections, at once
//   - its machine is silent: heartbeats are not acknowledged in time (heartbeat.h)
//   - another rank has noticed: a revocation arrives
// The first rank that notices revokes the generation: it tells all ranks and closes its connections, which tells those
// that the message does not reach. A process that is busy or stopped is not silent, because its machine answers;
// quiet() returns how long nothing has come from it.

#include <functional>
#include <memory>
#include <vector>

#include "elastic/host/backoff.h"
#include "elastic/net/link.h"
#include "elastic/net/listener.h"
#include "env/posix.h"

namespace orrery::elastic::net {

struct MeshOptions {
  std::uint64_t generation = 1;         // above every earlier one
  int rank = 0;                         // ours
  std::vector<env::Address> addresses;  // of the listeners of all ranks; ours may be empty
  Seconds open_max{30};                 // the longest time to wait for the others
  std::function<Status()> meanwhile{};  // called now and then while waiting for them; its error ends the wait
  int ranks_here = 1;                   // that share the cores of this host; decides how to wait

  // Bytes that the machine keeps of a connection to itself until they are read. A small buffer stays in the processor's
  // caches, which is worth more than a long queue. 0: the machine's default, which connections to other machines get: a
  // link must not run dry while we compute.
  std::uint32_t send_buffer_bytes = 256 << 10;

  // The same on all ranks, or they refuse each other.
  std::uint32_t data_bytes = 1 << 20;     // longest payload of a frame
  std::uint32_t early_bytes = 256 << 10;  // that a rank takes of each other before it has asked for them
  std::uint64_t others = 0;               // digest of all other settings that must be the same
};

class Mesh {
 public:
  // kUnavailable if a rank has not come in time, or the generation is over already; kInvalidArgument if settings
  // differ.
  static Result<std::unique_ptr<Mesh>> open(Listener& listener, const MeshOptions& options);
  // Sends goodbye. The listener ensures that everything that was sent arrives.
  ~Mesh();
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(links_.size()); }
  std::uint64_t generation() const { return limits_.generation; }
  const WireLimits& limits() const { return limits_; }
  Seconds now() const { return listener_.clock().monotonic(); }

  // Puts a frame into the queue to a rank; flush() or progress() sends it, long ones are sent at once. Does nothing if
  // the rank has left or the generation is over.
  void post(int to, const FrameHeader& header, std::span<const std::byte> payload, FrameOwner* owner,
            std::shared_ptr<const void> keeper = nullptr);
  void post_copy(int to, const FrameHeader& header, std::span<const std::byte> payload, FrameOwner* owner);
  void flush();
  bool spend_credit(int to, std::uint32_t bytes) { return link(to) != nullptr && link(to)->spend_credit(bytes); }
  void return_credit(int from, std::uint32_t bytes);

  // Passes on what has arrived and sends what can be sent, without waiting. Returns whether anything moved.
  bool progress(Receiver& receiver);
  // Waits a moment after `looks` looks without news; wakes up when a socket has some, at the latest for the next
  // heartbeat.
  void rest(std::uint32_t looks);
  // The same, but never longer than `longest`.
  void rest_at_most(std::uint32_t looks, Seconds longest);

  bool revoked() const { return revoked_; }
  // Ends the generation for all ranks. `because_of`: a rank, or kRankUnknown.
  void revoke(const std::string& reason, std::uint16_t because_of = kRankUnknown);
  Error revoked_error() const;
  // It has closed its mesh in order; what it has sent before was passed on.
  bool has_left(int rank) const { return rank != rank_ && left_[static_cast<std::size_t>(rank)]; }
  // How long no frame has come from a rank, as of the last heartbeat: a straggler, or a process that is stopped.
  Seconds quiet(int rank) const;

  // Bytes that were written to connections.
  std::uint64_t bytes_written() const;
  bool has_output() const;

 private:
  class Opening;

  Mesh(Listener& listener, const MeshOptions& options);
  Link* link(int rank) const { return links_[static_cast<std::size_t>(rank)].get(); }
  void watch(int rank);
  void want_room(int rank, bool wanted);
  bool receive_from(int rank, Receiver& receiver);
  bool flush_link(int rank);
  // Once per heartbeat interval: sends heartbeats, and checks which ranks answer.
  void beat();
  void take_leave();

  Listener& listener_;
  WireLimits limits_;
  int rank_;
  Backoff backoff_;
  env::FileDescriptor poll_;
  std::vector<std::unique_ptr<Link>> links_;  // by rank; none for ourselves and for ranks that left
  std::vector<bool> left_;
  std::vector<bool> wants_room_;
  std::vector<std::uint32_t> dirty_;  // ranks with frames that were not yet tried to send
  Seconds next_beat_{0};
  struct Life {
    std::uint64_t written = 0, read = 0;  // as of the last heartbeat
    Seconds heard{0};
  };
  std::vector<Life> lives_;
  bool revoked_ = false;
  std::string reason_;
};

}  // namespace orrery::elastic::net
