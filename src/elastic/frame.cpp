#include "elastic/frame.h"

#include <fmt/format.h>

namespace orrery::elastic {

namespace {

Status check_announce(const Frame& frame, const FrameLimits& limits) {
  if (frame.bytes > limits.inline_bytes) {
    return Error::invalid(fmt::format("a frame carries {} bytes; at most {}", frame.bytes, limits.inline_bytes));
  }
  ORRERY_TRY_VOID(check({frame.collective, frame.type, frame.op, frame.root, frame.count}, limits.ranks));
  if (frame.place == kPrivatePlace) return {};
  const std::uint64_t bytes = frame.count * element_bytes(frame.type);
  if (frame.place > limits.arenas_bytes || bytes > limits.arenas_bytes - frame.place) {
    return Error::invalid(fmt::format("a tensor of {} bytes at {} is outside the arenas", bytes, frame.place));
  }
  return {};
}

Status check_piece(const Frame& frame, const FrameLimits& limits) {
  if (frame.place >= limits.blocks) return Error::invalid(fmt::format("block {} of {}", frame.place, limits.blocks));
  if (frame.bytes == 0 || frame.bytes > limits.block_bytes) {
    return Error::invalid(fmt::format("a piece of {} bytes in blocks of {}", frame.bytes, limits.block_bytes));
  }
  if (frame.offset > kTensorBytesMax) return Error::invalid(fmt::format("a piece at {}", frame.offset));
  return {};
}

}  // namespace

Status check(const Frame& frame, const FrameLimits& limits) {
  if (frame.generation != limits.generation) {
    return Error::invalid(
        fmt::format("a frame of generation {} in generation {}", frame.generation, limits.generation));
  }
  if (frame.target != kToAll && frame.target >= limits.ranks) {
    return Error::invalid(fmt::format("a frame for rank {} of {}", frame.target, limits.ranks));
  }
  switch (frame.kind) {
    case FrameKind::kAnnounce:
      return check_announce(frame, limits);
    case FrameKind::kScatter:
    case FrameKind::kPublish:
      return check_piece(frame, limits);
    case FrameKind::kDone:
      return {};
  }
  return Error::invalid(fmt::format("unknown kind of frame {}", static_cast<int>(frame.kind)));
}

}  // namespace orrery::elastic
