#pragma once
// Runs the schedule of one rank on its memory. It is pure: messages come in and go out through arguments, in any order;
// the result does not depend on that order.
//
// A message that arrives before its step is parked. Only messages that the schedule expects are taken, so an operation
// never parks more than it receives in all.

#include <span>
#include <vector>

#include "elastic/collectives/buffers.h"
#include "elastic/net/blocks.h"
#include "elastic/net/schedule.h"

namespace orrery::elastic::net {

// Points at which a test may stop a rank for good.
enum class Moment { kAnnounced, kSent, kTook, kFolded, kCopied };
inline constexpr int kMoments = 5;

class Executor {
 public:
  class Outlet {
   public:
    virtual ~Outlet() = default;
    // Sends a part. It stays as it is until written() is called for it.
    virtual void send(int to, std::uint32_t part, std::span<const std::byte> bytes) = 0;
    // The same, before the others have announced the operation. Returns false if that is not possible now.
    virtual bool send_early(int to, std::uint32_t part, std::span<const std::byte> bytes) = 0;
    virtual void reached(Moment) {}
  };

  // Of rank `rank`, whose tensors are where the descriptor says; blocks go back to `blocks`.
  void begin(const Plan& plan, const Buffers& buffers, const Schedule& schedule, Blocks& blocks);
  // Forgets everything and gives blocks back.
  void reset();

  // Sends what needs nothing from other ranks, as far as the outlet can.
  void run_early(Outlet& outlet);
  // All steps may be taken from now on.
  void run(Outlet& outlet);

  // Whether the schedule still expects this message.
  bool expects(int from, std::uint32_t part, std::size_t bytes) const;
  // Where the message can be written in place; null if it has to wait in a block. Precondition: expects(), run().
  std::byte* place(int from, std::uint32_t part);
  // The message was written in place.
  void arrived_in_place(std::uint32_t part, Outlet& outlet);
  // The message is in a block. May be called before run(). Precondition: expects().
  void arrived(int from, std::uint32_t part, Block block, Outlet& outlet);
  // One sending of the part has left our memory.
  void written(std::uint32_t part) { parts_[part].sending -= 1; }
  // Advances a part.
  void advance(std::uint32_t part, Outlet& outlet);

  bool complete() const { return finished_ == parts_.size(); }

 private:
  struct Held {
    int from = 0;
    Block block{};
  };
  struct Part {
    std::uint32_t at = 0;       // step
    std::uint32_t sending = 0;  // sends that are not written
    bool in_place = false;      // a copy is being written in place
    bool finished = false;
    std::vector<Held> parked{}, taken{};
  };

  std::byte* address(std::uint32_t part) const { return base_ + (schedule_->range(part).begin - origin_); }
  std::span<const std::byte> bytes(std::uint32_t part) const { return {address(part), schedule_->range(part).size()}; }
  // Moves a parked message of `from` out; a block without memory if there is none.
  static Block unpark(Part& part, int from);
  void fold(Part& part, std::uint32_t index);

  const Schedule* schedule_ = nullptr;
  Blocks* blocks_ = nullptr;
  Descriptor descriptor_{};
  int rank_ = 0;
  std::byte* base_ = nullptr;
  std::uint64_t origin_ = 0;  // what of the schedule's bytes is at base_
  bool running_ = false;
  std::vector<Part> parts_;
  std::size_t finished_ = 0;
};

}  // namespace orrery::elastic::net
