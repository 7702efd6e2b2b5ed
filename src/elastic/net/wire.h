#pragma once
// What a channel between two workers is about, and the bytes on the connection of two ranks once both ends have proven
// the secret of their job (env/channel): frames. Numbers are little-endian.
//
//   announce   "I have started this operation": its description
//   data       a part of a tensor, of an operation that its receiver has announced, or early (see session.h)
//   credit     only the credit that every frame can give back
//   heartbeat  empty: its receiver's machine answers it (heartbeat.h)
//   revoke     the generation is over; because of which rank
//   goodbye    the sender leaves in order: nothing comes after this
//   pull, pull answer, pull data    a published tensor is asked for and sent (store.h)
//
// Every frame is signed with the connection's keys and its number on it, so that frames that were forged, changed,
// repeated or left out end the generation. Everything that arrives is checked first: lengths before memory is
// allocated, values before they are used.

#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "base/codec.h"
#include "base/crypto.h"
#include "base/result.h"
#include "elastic/collectives/descriptor.h"

namespace orrery::elastic::net {

static_assert(std::endian::native == std::endian::little, "frames are sent as they lie in memory");

inline constexpr int kRanksMax = 64;

// Of the end that connects.
struct Introduction {
  // Messages of workers, in any generation (peer_connections.h), instead of the frames of one.
  bool is_for_messages = false;
  std::uint64_t generation = 0;       // of frames; for messages: the worker that is to receive them
  std::uint16_t rank = 0, ranks = 1;  // of the end that sends it
  std::uint32_t settings = 0;         // digest of the settings that both ends must share

  void exchange(Codec& fields) {
    fields(is_for_messages, generation, rank, ranks, settings);
    fields.expect(ranks > 0 && ranks <= kRanksMax && rank < ranks, "a rank that cannot be");
  }
  friend bool operator==(const Introduction&, const Introduction&) = default;
};

enum class Verdict : std::uint8_t { kWelcome, kStaleGeneration, kWrongRank, kWrongSettings };

// The words of the reply.
struct Answer {
  Verdict verdict = Verdict::kWelcome;
  std::uint64_t generation = 0;  // of the end that listens
  std::uint16_t rank = 0;

  void exchange(Codec& fields) {
    fields(generation, rank);
    fields.choice(verdict, Verdict::kWrongSettings);
  }
  friend bool operator==(const Answer&, const Answer&) = default;
};

enum class FrameKind : std::uint8_t {
  kAnnounce = 1,
  kData,
  kCredit,
  kHeartbeat,
  kRevoke,
  kGoodbye,
  kPull,
  kPullAnswer,
  kPullData,
};

inline constexpr std::uint16_t kFrameMagic = 0x4f52;
inline constexpr std::uint8_t kFlagEarly = 1;        // data that its receiver may not have asked for yet
inline constexpr std::uint32_t kNoPart = ~0u;        // of frames about a whole operation
inline constexpr std::uint16_t kRankUnknown = 0xff;  // in a revoke: no particular rank

struct FrameHeader {
  std::uint16_t magic = kFrameMagic;
  FrameKind kind = FrameKind::kHeartbeat;
  std::uint8_t flags = 0;
  std::uint32_t length = 0;  // bytes that follow the header
  std::uint64_t generation = 0;
  std::uint64_t name = 0;                // hash64 of the operation's or tensor's name
  std::uint32_t sequence = 0;            // operations of that name before it; number of a pull
  std::uint32_t part = 0;                // of the tensor; revoke: the rank it is because of
  std::uint32_t credit = 0;              // bytes of early data that the sender has processed and can take again
  std::array<std::uint32_t, 3> zeros{};  // to whole blocks of the signature
  Aead::Tag tag{};                       // of all before it, and the payload

  friend bool operator==(const FrameHeader&, const FrameHeader&) = default;
};
inline constexpr std::size_t kHeaderBytes = sizeof(FrameHeader);
inline constexpr std::size_t kSignedHeaderBytes = kHeaderBytes - Aead::kTagBytes;
static_assert(kHeaderBytes == 64);

struct WireLimits {
  std::uint64_t generation = 0;
  int ranks = 1;
  std::uint32_t data_bytes = 0;   // of one frame
  std::uint32_t early_bytes = 0;  // that a sender may have on its way
};

// Whether a header is valid.
Status check(const FrameHeader& header, const WireLimits& limits);

// The payload of an announcement.
struct Announcement {
  Descriptor descriptor{};
  std::uint8_t algorithm = 0;

  friend bool operator==(const Announcement&, const Announcement&) = default;
};
inline constexpr std::size_t kAnnouncementBytes = 16;
using AnnouncementBytes = std::array<std::byte, kAnnouncementBytes>;
AnnouncementBytes encode(const Announcement& announcement);
Result<Announcement> decode_announcement(std::span<const std::byte> bytes, int ranks, int algorithms);

// The payload of a pull answer: what follows, or that there is no such version.
struct PullAnswer {
  bool found = false;
  DataType type = DataType::kF32;
  std::uint64_t version = 0;  // not found: the latest one, 0 if there is none
  std::uint64_t count = 0;    // elements

  friend bool operator==(const PullAnswer&, const PullAnswer&) = default;
};
inline constexpr std::size_t kPullAnswerBytes = 24;
using PullAnswerBytes = std::array<std::byte, kPullAnswerBytes>;
PullAnswerBytes encode(const PullAnswer& answer);
Result<PullAnswer> decode_pull_answer(std::span<const std::byte> bytes);

// The payload of a pull: what is asked for. An answer of another type or count comes without data.
struct PullRequest {
  DataType type = DataType::kF32;
  std::uint64_t version = 0;  // kLatest: whatever is there
  std::uint64_t count = 0;    // elements

  friend bool operator==(const PullRequest&, const PullRequest&) = default;
};
inline constexpr std::uint64_t kLatest = ~0ULL;
inline constexpr std::size_t kPullBytes = 24;
using PullBytes = std::array<std::byte, kPullBytes>;
PullBytes encode(const PullRequest& request);
Result<PullRequest> decode_pull(std::span<const std::byte> bytes);

// The longest payload of a frame that carries no tensor.
inline constexpr std::size_t kControlBytesMax = 24;

}  // namespace orrery::elastic::net
