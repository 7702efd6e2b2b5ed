#include "profile/distributed/frame.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"

namespace orrery::profile {

namespace {

constexpr std::string_view kMagic = "ORRF";

template <class Number>
void put(char* at, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) at[i] = static_cast<char>((number >> (8 * i)) & 0xff);
}

template <class Number>
Number get(const char* at) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number |= static_cast<Number>(static_cast<unsigned char>(at[i])) << (8 * i);
  }
  return number;
}

}  // namespace

std::string_view to_string(FrameKind kind) {
  switch (kind) {
    case FrameKind::kHello:
      return "hello";
    case FrameKind::kParameters:
      return "parameters";
    case FrameKind::kGradients:
      return "gradients";
    case FrameKind::kDone:
      return "done";
  }
  return "?";
}

FrameHeaderBytes encode(const FrameHeader& header) {
  FrameHeaderBytes bytes{};
  std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
  put(bytes.data() + 4, static_cast<std::uint32_t>(header.kind));
  put(bytes.data() + 8, header.length);
  return bytes;
}

Result<FrameHeader> decode(const FrameHeaderBytes& bytes, std::uint64_t length_max) {
  const std::string_view magic(bytes.data(), kMagic.size());
  if (magic != kMagic) return Error::invalid(fmt::format("not a frame: it begins with {}", quote(magic)));
  const auto kind = get<std::uint32_t>(bytes.data() + 4);
  if (kind < static_cast<std::uint32_t>(FrameKind::kHello) || kind > static_cast<std::uint32_t>(FrameKind::kDone)) {
    return Error::invalid(fmt::format("unknown kind of frame {}", kind));
  }
  const auto length = get<std::uint64_t>(bytes.data() + 8);
  if (length > length_max) {
    return Error::invalid(fmt::format("a frame of {} bytes; at most {} are allowed here", length, length_max));
  }
  return FrameHeader{static_cast<FrameKind>(kind), length};
}

HelloBytes encode(const Hello& hello) {
  HelloBytes bytes{};
  put(bytes.data(), hello.rank);
  put(bytes.data() + 4, hello.workers);
  put(bytes.data() + 8, hello.parameters);
  return bytes;
}

Hello decode_hello(const HelloBytes& bytes) {
  return {get<std::uint32_t>(bytes.data()), get<std::uint32_t>(bytes.data() + 4), get<std::uint64_t>(bytes.data() + 8)};
}

}  // namespace orrery::profile
