#pragma once
// One rank's connection to the other ranks of an epoch on one host: frames out and in, blocks that are lent, tensors in
// arenas, and whether everyone is still there.
//
// Opening is a rendezvous: it returns when all members have opened the same epoch and nobody is in an older one any
// more. From then on no memory of an older epoch is touched, so rings, blocks and arenas need no second copy.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "elastic/host/outbox.h"
#include "elastic/host/patience.h"
#include "elastic/host/seat.h"

namespace orrery::elastic {

struct PortOptions {
  std::uint64_t epoch = 1;              // above every earlier one
  std::vector<int> members;             // slots in rank order; ours is among them
  Seconds open_max{30};                 // the longest time to wait for the other members
  std::function<Status()> meanwhile{};  // called now and then while waiting for them; its error ends the waiting
};

enum class Peer {
  kHere,
  kLeft,  // has closed its port; what it has sent can still be read
  kDead,
};

class Port {
 public:
  // kUnavailable if the epoch is or gets revoked, or if not everyone has come in time.
  static Result<std::unique_ptr<Port>> open(Seat& seat, const PortOptions& options);
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  std::uint64_t epoch() const { return epoch_; }
  const FrameLimits& limits() const { return limits_; }

  // To all other ranks. False if a slow reader leaves no room now; try again after reading. The epoch is filled in.
  bool send(Frame frame, std::span<const std::byte> payload = {});
  // The same, but those who sleep are woken only by the receive() that must follow: until then the lines of the frame
  // can travel while we read.
  bool post(Frame frame, std::span<const std::byte> payload);
  // Hands frames that have come to `take`, a bounded number per call. Returns how many; an error of `take` or a damaged
  // frame ends it.
  using Take = std::function<Status(int from, const Frame& frame, std::span<const std::byte> payload)>;
  Result<int> receive(const Take& take);

  // A block of ours that nobody reads, if there is one; when there was none, there is none until receive(). It is ours
  // again when all `readers` have released it; a block that is never lent is free at once.
  std::optional<std::uint32_t> free_block();
  std::byte* block(std::uint32_t index) { return segment_.block(slot(), index); }
  void lend(std::uint32_t index, int readers);
  const std::byte* peer_block(int from, std::uint32_t index) { return segment_.block(slot_of(from), index); }
  void release(int from, std::uint32_t index);

  // The place of memory in the arenas, the same number for all ranks; kPrivatePlace if it is elsewhere.
  std::uint64_t place_of(const void* data, std::uint64_t bytes) const;
  std::byte* at_place(std::uint64_t place) { return segment_.arenas() + place; }

  bool revoked() const { return is_revoked(segment_, epoch_); }
  void revoke() { elastic::revoke(segment_, epoch_); }
  Peer peer(int rank) const;

  // Whether rest() would sleep.
  bool would_sleep(std::uint32_t looks) const { return patience_.is_over(looks); }
  // Spends a moment after `looks` looks without news. `wants_room`: also wakes up when others have read or released.
  // `look` is called once more before sleeping and says whether there is news.
  void rest(std::uint32_t looks, bool wants_room, const std::function<bool()>& look);

 private:
  Port(Seat& seat, const PortOptions& options, int rank);
  Status wait_for_the_past();
  Status wait_for_members();
  template <class Ready>
  Status wait_until(const char* what, Ready ready);
  int slot() const { return members_[static_cast<std::size_t>(rank_)]; }
  int slot_of(int rank) const { return members_[static_cast<std::size_t>(rank)]; }
  void tell_all(Sleep news);
  void wake_all();

  Segment& segment_;
  std::uint64_t epoch_;
  std::vector<int> members_;
  int rank_;
  Seconds open_max_;
  std::function<Status()> meanwhile_;
  FrameLimits limits_;
  Patience patience_;
  std::optional<OutboxWriter> writer_;
  std::vector<std::optional<OutboxReader>> readers_;  // by rank; none for ourselves
  bool has_no_block_ = false;                         // when last looked, since receive()
  bool has_posted_ = false;                           // frames for which nobody was woken yet
};

}  // namespace orrery::elastic
