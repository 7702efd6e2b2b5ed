#pragma once
// Frames: the messages between ranks of one generation. Every frame names its generation and its operation.
//
//   announce   "I have started this operation": its description, where my tensor is, and small tensors themselves
//   scatter    a piece of my tensor for the rank that combines it
//   publish    a piece of a result (or of a tensor that is only copied)
//   done       I no longer need your tensor
//
// A frame is 56 bytes and comes through memory that other processes write, so it is checked before it is used.

#include <cstdint>

#include "base/result.h"
#include "elastic/collectives/descriptor.h"

namespace orrery::elastic {

enum class FrameKind : std::uint8_t { kAnnounce = 1, kScatter, kPublish, kDone };

inline constexpr std::uint16_t kToAll = 0xffff;
inline constexpr std::uint64_t kPrivatePlace = ~0ULL;  // the tensor is not in the arena

struct Frame {
  std::uint64_t generation = 0;
  std::uint64_t name = 0;      // hash64 of the operation's name
  std::uint32_t sequence = 0;  // how many operations of that name came before
  std::uint32_t bytes = 0;     // that follow the frame (announce), or of the piece in the block
  FrameKind kind = FrameKind::kAnnounce;
  Collective collective = Collective::kBarrier;
  DataType type = DataType::kF32;
  ReduceOp op = ReduceOp::kSum;
  std::uint16_t root = 0;
  std::uint16_t target = kToAll;        // the rank it is for
  std::uint64_t count = 0;              // elements
  std::uint64_t place = kPrivatePlace;  // announce: in the arenas; pieces: number of the block
  std::uint64_t offset = 0;             // of a piece in what its sender scatters to the target, or publishes

  friend bool operator==(const Frame&, const Frame&) = default;
};
static_assert(sizeof(Frame) == 56);

struct FrameLimits {
  std::uint64_t generation = 0;
  int ranks = 1;
  std::uint64_t inline_bytes = 0;
  std::uint64_t block_bytes = 0;
  std::uint32_t blocks = 0;
  std::uint64_t arenas_bytes = 0;
};

// Whether a frame is valid: known kinds, ranks that exist, sizes and places inside their memory.
Status check(const Frame& frame, const FrameLimits& limits);

}  // namespace orrery::elastic
