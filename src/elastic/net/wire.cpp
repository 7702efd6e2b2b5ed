#include "elastic/net/wire.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace orrery::elastic::net {

namespace {

// Values one after the other, in and out of bytes.
class Packer {
 public:
  explicit Packer(std::span<std::byte> bytes) : bytes_(bytes) {}
  template <class Value>
  Packer& put(const Value& value) {
    std::memcpy(bytes_.data() + at_, &value, sizeof value);
    at_ += sizeof value;
    return *this;
  }

 private:
  std::span<std::byte> bytes_;
  std::size_t at_ = 0;
};

class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class Value>
  Unpacker& get(Value& value) {
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return *this;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

Status check_length(const FrameHeader& header, std::uint32_t least, std::uint32_t most) {
  if (header.length >= least && header.length <= most) return {};
  return Error::invalid(fmt::format("a frame of kind {} with {} bytes; expected {} to {}",
                                    static_cast<int>(header.kind), header.length, least, most));
}

}  // namespace

Status check(const FrameHeader& header, const WireLimits& limits) {
  if (header.magic != kFrameMagic) return Error::invalid("bytes that are no frame");
  if (header.generation != limits.generation) {
    return Error::invalid(
        fmt::format("a frame of generation {} in generation {}", header.generation, limits.generation));
  }
  if ((header.flags & ~kFlagEarly) != 0 || header.zeros != decltype(header.zeros){}) {
    return Error::invalid(fmt::format("a frame with unknown flags {:#x}", header.flags));
  }
  if ((header.flags & kFlagEarly) != 0 && header.kind != FrameKind::kData) {
    return Error::invalid("a frame without data that is early");
  }
  if (header.credit > limits.early_bytes) {
    return Error::invalid(fmt::format("a credit of {} bytes; at most {}", header.credit, limits.early_bytes));
  }
  switch (header.kind) {
    case FrameKind::kAnnounce:
      return check_length(header, kAnnouncementBytes, kAnnouncementBytes);
    case FrameKind::kData:
      return check_length(
          header, 1,
          (header.flags & kFlagEarly) != 0 ? std::min(limits.early_bytes, limits.data_bytes) : limits.data_bytes);
    case FrameKind::kPullData:
      return check_length(header, 1, limits.data_bytes);
    case FrameKind::kCredit:
    case FrameKind::kHeartbeat:
    case FrameKind::kGoodbye:
      return check_length(header, 0, 0);
    case FrameKind::kRevoke:
      if (header.part != kRankUnknown && header.part >= static_cast<std::uint32_t>(limits.ranks)) {
        return Error::invalid(fmt::format("a revocation because of rank {} of {}", header.part, limits.ranks));
      }
      return check_length(header, 0, 0);
    case FrameKind::kPull:
      return check_length(header, kPullBytes, kPullBytes);
    case FrameKind::kPullAnswer:
      return check_length(header, kPullAnswerBytes, kPullAnswerBytes);
  }
  return Error::invalid(fmt::format("unknown kind of frame {}", static_cast<int>(header.kind)));
}

AnnouncementBytes encode(const Announcement& announcement) {
  AnnouncementBytes bytes{};
  const Descriptor& what = announcement.descriptor;
  Packer(bytes)
      .put(what.collective)
      .put(what.type)
      .put(what.op)
      .put(announcement.algorithm)
      .put(what.root)
      .put(std::uint16_t{0})
      .put(what.count);
  return bytes;
}

Result<Announcement> decode_announcement(std::span<const std::byte> bytes, int ranks, int algorithms) {
  if (bytes.size() != kAnnouncementBytes) return Error::invalid("an announcement of the wrong length");
  Announcement announcement;
  std::uint16_t zero = 0;
  Descriptor& what = announcement.descriptor;
  Unpacker(bytes)
      .get(what.collective)
      .get(what.type)
      .get(what.op)
      .get(announcement.algorithm)
      .get(what.root)
      .get(zero)
      .get(what.count);
  ORRERY_TRY_VOID(check(what, ranks));
  if (announcement.algorithm >= algorithms || zero != 0) {
    return Error::invalid(fmt::format("an announcement with the unknown algorithm {}", announcement.algorithm));
  }
  return announcement;
}

namespace {

// A pull and its answer look alike: a mark, a type, a version, a number of elements.
std::array<std::byte, 24> pack_pull(std::uint8_t mark, DataType type, std::uint64_t version, std::uint64_t count) {
  std::array<std::byte, 24> bytes{};
  Packer(bytes).put(mark).put(type).put(std::array<std::uint8_t, 6>{}).put(version).put(count);
  return bytes;
}

Result<std::uint8_t> unpack_pull(std::span<const std::byte> bytes, DataType& type, std::uint64_t& version,
                                 std::uint64_t& count) {
  if (bytes.size() != 24) return Error::invalid("a pull of the wrong length");
  std::uint8_t mark = 0;
  std::array<std::uint8_t, 6> zeros{};
  Unpacker(bytes).get(mark).get(type).get(zeros).get(version).get(count);
  if (mark > 1 || type > DataType::kI64 || zeros != std::array<std::uint8_t, 6>{} ||
      count > kTensorBytesMax / element_bytes(type)) {
    return Error::invalid("a pull that cannot be meant");
  }
  return mark;
}

}  // namespace

PullBytes encode(const PullRequest& request) {
  return pack_pull(0, request.type, request.version, request.count);
}

Result<PullRequest> decode_pull(std::span<const std::byte> bytes) {
  PullRequest request;
  ORRERY_TRY(const std::uint8_t mark, unpack_pull(bytes, request.type, request.version, request.count));
  if (mark != 0) return Error::invalid("an answer where a pull was expected");
  return request;
}

PullAnswerBytes encode(const PullAnswer& answer) {
  return pack_pull(answer.found ? 1 : 0, answer.type, answer.version, answer.count);
}

Result<PullAnswer> decode_pull_answer(std::span<const std::byte> bytes) {
  PullAnswer answer;
  ORRERY_TRY(const std::uint8_t mark, unpack_pull(bytes, answer.type, answer.version, answer.count));
  answer.found = mark == 1;
  return answer;
}

}  // namespace orrery::elastic::net
