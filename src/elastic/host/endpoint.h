#pragma once
// One rank's connection to the other ranks of a generation on one host: frames out and in, blocks that are lent,
// tensors in arenas, and whether all ranks are still alive.
//
// Opening is a rendezvous: it returns when all workers have opened the same generation and none is in an older one any
// more. From then on no memory of an older generation is touched, so rings, blocks and arenas need no second copy.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "elastic/host/backoff.h"
#include "elastic/host/frame_ring.h"
#include "elastic/host/slot_lease.h"

namespace orrery::elastic {

struct EndpointOptions {
  std::uint64_t generation = 1;         // above every earlier one
  std::vector<int> workers;             // slots in rank order; ours is among them
  Seconds open_max{30};                 // the longest time to wait for the other workers
  std::function<Status()> meanwhile{};  // called now and then while waiting for them; its error ends the wait
};

enum class Peer {
  kHere,
  kLeft,  // has closed its endpoint; what it has sent can still be read
  kDead,
};

class Endpoint {
 public:
  // kUnavailable if the generation is or gets revoked, or if a worker has not come in time.
  static Result<std::unique_ptr<Endpoint>> open(SlotLease& lease, const EndpointOptions& options);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(workers_.size()); }
  std::uint64_t generation() const { return generation_; }
  const FrameLimits& limits() const { return limits_; }

  // Sends to all other ranks. Returns false if a slow reader leaves no space now; try again after reading. The
  // generation is filled in.
  bool send(Frame frame, std::span<const std::byte> payload = {});
  // The same, but sleeping ranks are woken only by the receive() that must follow: until then the lines of the frame
  // can travel while we read.
  bool post(Frame frame, std::span<const std::byte> payload);
  // Passes frames that have arrived to `take`, a bounded number per call. Returns their number; an error of `take` or a
  // damaged frame ends it.
  using Take = std::function<Status(int from, const Frame& frame, std::span<const std::byte> payload)>;
  Result<int> receive(const Take& take);

  // A block of ours that no rank reads, if there is one; if there was none, there is none until receive(). It is ours
  // again when all `readers` have released it; a block that is never lent is free at once.
  std::optional<std::uint32_t> free_block();
  std::byte* block(std::uint32_t index) { return segment_.block(slot(), index); }
  void lend(std::uint32_t index, int readers);
  const std::byte* peer_block(int from, std::uint32_t index) { return segment_.block(slot_of(from), index); }
  void release(int from, std::uint32_t index);

  // The place of memory in the arenas, the same number for all ranks; kPrivatePlace for other memory.
  std::uint64_t place_of(const void* data, std::uint64_t bytes) const;
  std::byte* at_place(std::uint64_t place) { return segment_.arenas() + place; }

  bool revoked() const { return is_revoked(segment_, generation_); }
  void revoke() { elastic::revoke(segment_, generation_); }
  Peer peer(int rank) const;

  // Whether rest() would sleep.
  bool would_sleep(std::uint32_t looks) const { return backoff_.is_over(looks); }
  // Waits a moment after `looks` looks without news. `wants_space`: also wakes up when others have read or released.
  // `look` is called once more before sleeping and returns whether there is news.
  void rest(std::uint32_t looks, bool wants_space, const std::function<bool()>& look);

 private:
  Endpoint(SlotLease& lease, const EndpointOptions& options, int rank);
  Status wait_for_the_past();
  Status wait_for_workers();
  template <class Ready>
  Status wait_until(const char* what, Ready ready);
  int slot() const { return workers_[static_cast<std::size_t>(rank_)]; }
  int slot_of(int rank) const { return workers_[static_cast<std::size_t>(rank)]; }
  void tell_all(Sleep news);
  void wake_all();

  Segment& segment_;
  std::uint64_t generation_;
  std::vector<int> workers_;
  int rank_;
  Seconds open_max_;
  std::function<Status()> meanwhile_;
  FrameLimits limits_;
  Backoff backoff_;
  std::optional<FrameRingWriter> writer_;
  std::vector<std::optional<FrameRingReader>> readers_;  // by rank; none for ourselves
  bool has_no_block_ = false;                            // when last looked, since receive()
  bool has_posted_ = false;                              // frames for which no rank was woken yet
};

}  // namespace orrery::elastic
