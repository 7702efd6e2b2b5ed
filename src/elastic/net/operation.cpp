#include "elastic/net/operation.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/check.h"

namespace orrery::elastic::net {

void Operation::reset(OperationKey key) {
  for (Early& early : early_) blocks_.give_back(std::move(early.block));
  early_.clear();
  if (mine_) executor_.reset();
  key_ = key;
  mine_.reset();
  other_.reset();
  first_rank_ = other_rank_ = -1;
  announced_ = 0;
  begun_ = ended_ = is_queued = is_awaited = false;
  ready_.clear();
  frames_ = 0;
  agreed_ = nullptr;
}

void Operation::compare(int from, const Announcement& announcement) {
  announced_ |= 1ULL << from;
  if (first_rank_ < 0) {
    first_rank_ = from;
    first_ = announcement;
  } else if (!other_ && announcement != first_) {
    other_ = announcement;
    other_rank_ = from;
  }
}

FrameHeader Operation::header(FrameKind kind, std::uint32_t part) const {
  FrameHeader header;
  header.kind = kind;
  header.name = key_.name;
  header.sequence = key_.sequence;
  header.part = part;
  return header;
}

Status Operation::start(const Announcement& announcement, const Plan& plan, const Buffers& buffers, bool* agreed,
                        std::uint64_t early_max) {
  ORRERY_CHECK(!mine_);
  mine_ = announcement;
  const AnnouncementBytes bytes = encode(announcement);
  for (int i = 1; i < mesh_.size(); ++i) {
    frames_ += 1;
    const int to = (mesh_.rank() + i) % mesh_.size();
    if (mesh_.has_left(to)) {
      frames_ -= 1;
    } else {
      mesh_.post_copy(to, header(FrameKind::kAnnounce, kNoPart), bytes, this);
    }
  }
  reached(Moment::kAnnounced);
  compare(mesh_.rank(), announcement);
  agreed_ = agreed;
  Buffers memory = buffers;
  if (agreed != nullptr) {
    digests_.resize(kDigestBytes * static_cast<std::size_t>(mesh_.size()));
    std::byte* const own = digests_.data() + kDigestBytes * static_cast<std::size_t>(mesh_.rank());
    std::copy_n(buffers.input, kDigestBytes, own);
    memory = {own, digests_.data()};
  }
  schedule_.clear();
  if (plan.descriptor.collective != Collective::kBarrier) {
    make_schedule(static_cast<Algorithm>(announcement.algorithm), plan, schedule_);
  }
  executor_.begin(plan, memory, schedule_, blocks_);
  if (!other_ && plan.descriptor.bytes() <= early_max) executor_.run_early(*this);
  return take_early();
}

Status Operation::announced(int from, const Announcement& announcement) {
  if (has_announced(from)) return Error::invalid(fmt::format("rank {} announced an operation twice", from));
  compare(from, announcement);
  return {};
}

Status Operation::check_expected(int from, std::uint32_t part, std::uint32_t bytes) const {
  if (executor_.expects(from, part, bytes)) return {};
  return Error::invalid(fmt::format("rank {} sent {} bytes of part {}, which is not expected", from, bytes, part));
}

Result<std::byte*> Operation::place(int from, const FrameHeader& header) {
  if (!has_announced(from)) return Error::invalid(fmt::format("rank {} sent a tensor before it announced it", from));
  if (!mine_) {
    if ((header.flags & kFlagEarly) != 0) return nullptr;
    return Error::invalid(fmt::format("rank {} sent a tensor that was not asked for", from));
  }
  if (other_ || ended_) return nullptr;
  ORRERY_TRY_VOID(check_expected(from, header.part, header.length));
  return executor_.place(from, header.part);
}

void Operation::arrived_in_place(std::uint32_t part) {
  executor_.arrived_in_place(part, *this);
}

Status Operation::arrived(int from, std::uint32_t part, std::uint32_t bytes, std::uint32_t credit, Block block) {
  if (!mine_) {
    early_.push_back({from, part, bytes, credit, std::move(block)});
    return {};
  }
  if (credit > 0) mesh_.return_credit(from, credit);
  if (other_ || ended_) {
    blocks_.give_back(std::move(block));
    return {};
  }
  ORRERY_TRY_VOID(check_expected(from, part, bytes));
  executor_.arrived(from, part, std::move(block), *this);
  return {};
}

Status Operation::take_early() {
  std::vector<Early> early;
  early.swap(early_);
  Status status{};
  for (Early& one : early) {
    const Status taken = arrived(one.from, one.part, one.bytes, one.credit, std::move(one.block));
    if (status) status = taken;
  }
  return status;
}

Status Operation::advance() {
  if (ended_ || !mine_) return {};
  if (other_) {
    ended_ = true;
    return {};
  }
  if (!is_running()) return {};
  if (!begun_) {
    begun_ = true;
    executor_.run(*this);
  }
  for (std::size_t i = 0; i < ready_.size(); ++i) executor_.advance(ready_[i], *this);
  ready_.clear();
  if (executor_.complete() && frames_ == 0) finish();
  return {};
}

void Operation::finish() {
  ended_ = true;
  if (agreed_ == nullptr) return;
  *agreed_ = true;
  for (std::size_t at = kDigestBytes; at < digests_.size(); at += kDigestBytes) {
    *agreed_ = *agreed_ && std::equal(digests_.begin(), digests_.begin() + kDigestBytes,
                                      digests_.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

void Operation::written(std::uint32_t part) {
  frames_ -= 1;
  if (part != kNoPart) {
    executor_.written(part);
    ready_.push_back(part);
  }
  if (!is_queued && on_written) on_written(*this);
}

void Operation::send(int to, std::uint32_t part, std::span<const std::byte> bytes) {
  frames_ += 1;
  mesh_.post(to, header(FrameKind::kData, part), bytes, this);
}

bool Operation::send_early(int to, std::uint32_t part, std::span<const std::byte> bytes) {
  if (mesh_.has_left(to) || !mesh_.spend_credit(to, static_cast<std::uint32_t>(bytes.size()))) return false;
  FrameHeader frame = header(FrameKind::kData, part);
  frame.flags |= kFlagEarly;
  frames_ += 1;
  mesh_.post_copy(to, frame, bytes, this);
  return true;
}

void Operation::reached(Moment moment) {
  if (probe_) probe_(moment);
}

Status Operation::outcome(std::string_view name) const {
  if (!other_) return {};
  const auto text = [](const Announcement& announcement) {
    return fmt::format("{} by {}", to_string(announcement.descriptor),
                       to_string(static_cast<Algorithm>(announcement.algorithm)));
  };
  return Error::invalid(fmt::format("\"{}\" is not the same operation everywhere: rank {} started {}, rank {} {}", name,
                                    first_rank_, text(first_), other_rank_, text(*other_)));
}

}  // namespace orrery::elastic::net
