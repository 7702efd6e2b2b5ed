#pragma once
// Frames: how processes of one training job talk over a byte stream.
//
//   bytes 0–3   "ORRF"
//   bytes 4–7   kind, little endian
//   bytes 8–15  length of the payload in bytes, little endian
//   then        the payload
//
// Parameters and gradients are 32-bit floats as the machine has them; all processes of a job run on the same kind.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace orrery::profile {

inline constexpr std::size_t kFrameHeaderBytes = 16;

enum class FrameKind : std::uint32_t { kHello = 1, kParameters, kGradients, kDone };
std::string_view to_string(FrameKind kind);

struct FrameHeader {
  FrameKind kind = FrameKind::kHello;
  std::uint64_t length = 0;

  friend bool operator==(const FrameHeader&, const FrameHeader&) = default;
};

using FrameHeaderBytes = std::array<char, kFrameHeaderBytes>;

FrameHeaderBytes encode(const FrameHeader& header);
// Refuses what is not a frame, an unknown kind, and a payload longer than `length_max`.
Result<FrameHeader> decode(const FrameHeaderBytes& bytes, std::uint64_t length_max);

// The first frame of a worker.
struct Hello {
  std::uint32_t rank = 0;
  std::uint32_t workers = 0;
  std::uint64_t parameters = 0;  // of the shard the server keeps

  friend bool operator==(const Hello&, const Hello&) = default;
};

using HelloBytes = std::array<char, 16>;

HelloBytes encode(const Hello& hello);
Hello decode_hello(const HelloBytes& bytes);

}  // namespace orrery::profile
