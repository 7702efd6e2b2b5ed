#include "elastic/collectives/operation.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/check.h"
#include "elastic/collectives/inlined.h"

namespace orrery::elastic {

Operation::Operation(int rank, int ranks)
    : rank_(rank),
      ranks_(ranks),
      all_ranks_(ranks == kSlotsMax ? ~0ULL : (1ULL << ranks) - 1),
      places_(static_cast<std::size_t>(ranks)),
      payloads_(static_cast<std::size_t>(ranks)) {
  static_assert(kSlotsMax == 64);
}

void Operation::reset(OperationKey key) {
  key_ = key;
  mine_.reset();
  first_ = other_rank_ = -1;
  other_.reset();
  announcement_sent_ = ended_ = is_queued = is_awaited = false;
  announced_ = 0;
  for (auto& payload : payloads_) payload.clear();
  mode_ = Mode::kUndecided;
  staged_.reset();
  direct_.reset();
  early_used_ = 0;
}

void Operation::compare(int from, const Descriptor& descriptor) {
  if (first_ < 0) {
    first_ = from;
    descriptor_ = descriptor;
  } else if (!other_ && descriptor != descriptor_) {
    other_ = descriptor;
    other_rank_ = from;
  }
}

void Operation::start(const Descriptor& descriptor, const Buffers& buffers, std::uint64_t place, bool* agreed) {
  ORRERY_CHECK(!mine_);
  mine_ = descriptor;
  compare(rank_, descriptor);
  buffers_ = buffers;
  places_[static_cast<std::size_t>(rank_)] = place;
  agreed_ = agreed;
  if (agreed == nullptr) return;
  std::copy_n(buffers.input, kDigestBytes, digest_.begin());
  buffers_.input = digest_.data();
}

Status Operation::announced(int from, const Frame& frame, std::span<const std::byte> payload,
                            std::uint64_t inline_max) {
  const Descriptor descriptor = {frame.collective, frame.type, frame.op, frame.root, frame.count};
  const std::uint64_t expected = descriptor.bytes() <= inline_max ? inline_bytes(descriptor, from) : 0;
  if (has_announced(from) || payload.size() != expected) {
    return Error::invalid(
        fmt::format("rank {} announced {} with {} bytes", from, to_string(descriptor), payload.size()));
  }
  announced_ |= 1ULL << from;
  compare(from, descriptor);
  places_[static_cast<std::size_t>(from)] = frame.place;
  const bool is_last = announcement_sent_ && all_announced() && !other_ && !ended_;
  if (is_last && descriptor.bytes() <= inline_max) {
    finish_inline(from, payload);
  } else {
    payloads_[static_cast<std::size_t>(from)].assign(payload.begin(), payload.end());
  }
  return {};
}

bool Operation::wants_space() const {
  if (ended_) return false;
  return staged_.wants_blocks() || (mode_ == Mode::kDirect && direct_.wants_space());
}

void Operation::arrived(const Staged::Piece& piece, Endpoint& endpoint) {
  staged_.arrived(piece);
  if (other_) staged_.drop(endpoint);
}

std::uint64_t Operation::inline_held(std::uint64_t inline_max) const {
  return mine_ && mine_->bytes() <= inline_max ? inline_bytes(*mine_, rank_) : 0;
}

Frame Operation::frame() const {
  Frame frame;
  frame.name = key_.name;
  frame.sequence = key_.sequence;
  return frame;
}

bool Operation::announce(Endpoint& endpoint, const Staged::Probe& probe) {
  Frame frame = this->frame();
  frame.kind = FrameKind::kAnnounce;
  frame.collective = mine_->collective;
  frame.type = mine_->type;
  frame.op = mine_->op;
  frame.root = mine_->root;
  frame.count = mine_->count;
  frame.place = places_[static_cast<std::size_t>(rank_)];
  std::span<const std::byte> payload;
  if (mine_->bytes() <= endpoint.limits().inline_bytes) payload = inline_payload(*mine_, rank_, buffers_);
  frame.bytes = static_cast<std::uint32_t>(payload.size());
  if (!endpoint.post(frame, payload)) return false;
  announcement_sent_ = true;
  announced_ |= 1ULL << rank_;
  if (probe) probe(CutPoint::kAnnounced);
  return true;
}

void Operation::return_early(std::uint32_t& early_blocks) {
  early_blocks += early_used_;
  early_used_ = 0;
}

void Operation::decide(Endpoint& endpoint, std::uint32_t& early_blocks) {
  if (all_announced()) return_early(early_blocks);
  if (mode_ != Mode::kUndecided) return;
  // Our tensor is private, so the operation cannot be direct, and its first pieces need not wait for the other ranks.
  const bool surely_staged =
      reduces(descriptor_.collective) && places_[static_cast<std::size_t>(rank_)] == kPrivatePlace;
  if (descriptor_.bytes() <= endpoint.limits().inline_bytes) {
    mode_ = Mode::kInlined;
  } else if (all_announced() && can_be_direct(descriptor_, places_)) {
    mode_ = Mode::kDirect;
    direct_.begin(descriptor_, buffers_, rank_, places_);
  } else if (all_announced() || surely_staged) {
    mode_ = Mode::kStaged;
    staged_.begin(descriptor_, buffers_, rank_, ranks_, endpoint.limits().block_bytes);
  }
}

Result<bool> Operation::advance(Endpoint& endpoint, std::uint32_t& early_blocks, const Staged::Probe& probe) {
  if (!announcement_sent_ || ended_) return false;
  if (other_) {
    staged_.drop(endpoint);
    return_early(early_blocks);
    ended_ = true;
    return true;
  }
  decide(endpoint, early_blocks);
  switch (mode_) {
    case Mode::kUndecided:
      return false;
    case Mode::kInlined:
      if (!all_announced()) return false;
      finish_inline(rank_, inline_payload(descriptor_, rank_, buffers_));
      return true;
    case Mode::kDirect: {
      const bool moved = direct_.advance(endpoint, frame(), probe);
      ended_ = direct_.complete();
      return moved || ended_;
    }
    case Mode::kStaged:
      break;
  }
  const std::uint32_t before = early_blocks;
  std::uint32_t* const early = all_announced() ? nullptr : &early_blocks;
  ORRERY_TRY(const bool staged_moved, staged_.advance(endpoint, frame(), early, probe));
  early_used_ += before - early_blocks;
  ended_ = early == nullptr && staged_.complete();
  return staged_moved || ended_;
}

// The payload of rank `last` is not among the kept ones.
void Operation::finish_inline(int last, std::span<const std::byte> payload) {
  std::array<std::span<const std::byte>, kSlotsMax> all;
  const auto payloads = std::span(all).first(static_cast<std::size_t>(ranks_));
  std::copy(payloads_.begin(), payloads_.end(), payloads.begin());
  payloads[static_cast<std::size_t>(rank_)] = inline_payload(descriptor_, rank_, buffers_);
  payloads[static_cast<std::size_t>(last)] = payload;
  if (agreed_ != nullptr) {
    *agreed_ = std::all_of(payloads.begin(), payloads.end(), [&](const auto& one) {
      return std::equal(one.begin(), one.end(), payloads[0].begin(), payloads[0].end());
    });
  }
  finish_inlined(descriptor_, rank_, payloads, buffers_);
  ended_ = true;
}

Status Operation::outcome(std::string_view name) const {
  if (!other_) return {};
  return Error::invalid(fmt::format("\"{}\" is not the same operation everywhere: rank {} started {}, rank {} {}", name,
                                    first_, to_string(descriptor_), other_rank_, to_string(*other_)));
}

}  // namespace orrery::elastic
