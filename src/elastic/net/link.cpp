#include "elastic/net/link.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/check.h"
#include "env/posix.h"

namespace orrery::elastic::net {

namespace {

constexpr std::size_t kStageBytes = 8 << 10;
constexpr std::size_t kReadBytesPerCall = 4 << 20;  // before the next link's turn
constexpr std::size_t kFramesPerWrite = 32;
// Bytes that are signed before they are offered to the socket: what waits there cannot be overtaken.
constexpr std::size_t kSealAhead = 64 << 10;

bool carries_tensor(FrameKind kind) {
  return kind == FrameKind::kData || kind == FrameKind::kPullData;
}

}  // namespace

Link::Link(std::unique_ptr<env::Connection> connection, const env::ChannelKeys& keys, int peer,
           const WireLimits& limits)
    : connection_(std::move(connection)),
      peer_(peer),
      limits_(limits),
      encrypts_(keys.encrypts),
      sealer_(keys.send),
      opener_(keys.receive),
      credit_(limits.early_bytes),
      stage_(kStageBytes) {}

// Adds what every frame carries: its length and the credit that is owed.
void Link::finish(Outgoing& frame, std::size_t length) {
  frame.header.generation = limits_.generation;
  frame.header.length = static_cast<std::uint32_t>(length);
  frame.header.credit = owed_;
  owed_ = 0;
}

void Link::seal(Outgoing& frame) {
  const auto head = std::as_bytes(std::span(&frame.header, 1)).first(kSignedHeaderBytes);
  if (encrypts_) {
    std::span<std::byte> hidden = std::span(frame.control).first(frame.payload.empty() ? frame.header.length : 0);
    if (!frame.payload.empty()) {
      frame.copy.assign(frame.payload.begin(), frame.payload.end());
      frame.payload = hidden = frame.copy;
    }
    const std::array<std::span<const std::byte>, 1> shown = {head};
    frame.header.tag = sealer_.seal(sealed_++, shown, hidden);
  } else {
    const std::array<std::span<const std::byte>, 2> shown = {head, frame.body()};
    frame.header.tag = sealer_.seal(sealed_++, shown);
  }
  frame.is_sealed = true;
}

Status Link::open(const FrameHeader& header) {
  const auto head = std::as_bytes(std::span(&header, 1)).first(kSignedHeaderBytes);
  const std::span<std::byte> payload(payload_, header.length);
  const std::array<std::span<const std::byte>, 2> shown = {head, encrypts_ ? std::span<const std::byte>() : payload};
  if (opener_.open(opened_++, shown, encrypts_ ? payload : std::span<std::byte>(), header.tag)) return {};
  return Error::invalid(fmt::format("a frame that rank {} has not sent", peer_));
}

void Link::post(const FrameHeader& header, std::span<const std::byte> payload, FrameOwner* owner,
                std::shared_ptr<const void> keeper) {
  Outgoing& frame = queue_.emplace_back();
  frame.header = header;
  frame.payload = payload;
  frame.owner = owner;
  frame.keeper = std::move(keeper);
  finish(frame, payload.size());
}

void Link::post_copy(const FrameHeader& header, std::span<const std::byte> payload, FrameOwner* owner) {
  Outgoing& frame = queue_.emplace_back();
  frame.header = header;
  frame.owner = owner;
  if (payload.size() <= frame.control.size()) {
    std::copy(payload.begin(), payload.end(), frame.control.begin());
  } else {
    frame.copy.assign(payload.begin(), payload.end());
    frame.payload = frame.copy;
  }
  finish(frame, payload.size());
}

void Link::post_urgent(const FrameHeader& header) {
  // Signed frames have their place.
  const auto first = std::find_if(queue_.begin(), queue_.end(), [](const Outgoing& frame) { return !frame.is_sealed; });
  Outgoing frame;
  frame.header = header;
  finish(frame, 0);
  queue_.insert(first, std::move(frame));
}

Result<bool> Link::flush() {
  bool any = false;
  blocked_ = false;
  while (!queue_.empty() && !blocked_) {
    std::array<iovec, 2 * kFramesPerWrite> pieces;
    std::size_t count = 0, wanted = 0;
    const auto add = [&](std::span<const std::byte> bytes, std::size_t skip) {
      if (bytes.size() <= skip) return;
      pieces[count++] = {const_cast<std::byte*>(bytes.data() + skip), bytes.size() - skip};
      wanted += bytes.size() - skip;
    };
    for (std::size_t i = 0; i < std::min(queue_.size(), kFramesPerWrite); ++i) {
      Outgoing& frame = queue_[i];
      if (!frame.is_sealed && wanted >= kSealAhead) break;
      if (!frame.is_sealed) seal(frame);
      add(std::as_bytes(std::span(&frame.header, 1)), frame.written);
      add(frame.body(), frame.written > kHeaderBytes ? frame.written - kHeaderBytes : 0);
    }
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(socket(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return env::posix_error(errno, fmt::format("cannot send to rank {}", peer_));
    auto left = static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
    blocked_ = left < wanted;
    any = any || left > 0;
    bytes_written_ += left;
    while (!queue_.empty()) {
      Outgoing& frame = queue_.front();
      const std::size_t rest = kHeaderBytes + frame.header.length - frame.written;
      if (left < rest) {
        frame.written += left;
        break;
      }
      left -= rest;
      FrameOwner* const owner = frame.owner;
      const std::uint32_t part = frame.header.part;
      queue_.pop_front();
      if (owner != nullptr) owner->written(part);
    }
  }
  return any;
}

bool Link::spend_credit(std::uint32_t bytes) {
  if (bytes > credit_) return false;
  credit_ -= bytes;
  return true;
}

// Reads the rest of the payload, and after it what fits the stage; between frames only the latter.
Result<std::size_t> Link::read_more() {
  ORRERY_CHECK(stage_begin_ == stage_end_ || !header_);
  if (stage_begin_ == stage_end_) stage_begin_ = stage_end_ = 0;
  if (stage_begin_ > 0) {
    std::memmove(stage_.data(), stage_.data() + stage_begin_, stage_end_ - stage_begin_);
    stage_end_ -= stage_begin_;
    stage_begin_ = 0;
  }
  std::array<iovec, 2> pieces;
  std::size_t count = 0, wanted = 0;
  if (header_) {
    wanted = header_->length - payload_read_;
    pieces[count++] = {payload_ + payload_read_, wanted};
  }
  pieces[count++] = {stage_.data() + stage_end_, stage_.size() - stage_end_};
  for (;;) {
    const ssize_t got = ::readv(socket(), pieces.data(), static_cast<int>(count));
    if (got > 0) {
      const auto bytes = static_cast<std::size_t>(got), of_payload = std::min(bytes, wanted);
      payload_read_ += of_payload;
      stage_end_ += bytes - of_payload;
      return bytes;
    }
    if (got == 0) return Error::unavailable(fmt::format("rank {} closed its connection", peer_));
    if (errno == EAGAIN) return std::size_t{0};
    if (errno != EINTR) {
      return Error::unavailable(fmt::format("rank {} is gone: {}", peer_, std::strerror(errno)));
    }
  }
}

Status Link::take_header(Receiver& receiver) {
  FrameHeader header;
  std::memcpy(&header, stage_.data() + stage_begin_, kHeaderBytes);
  stage_begin_ += kHeaderBytes;
  ORRERY_TRY_VOID(check(header, limits_));
  if (left_) return Error::invalid(fmt::format("rank {} sent a frame after its goodbye", peer_));
  if (header.credit > limits_.early_bytes - credit_) {
    return Error::invalid(fmt::format("rank {} gave back {} bytes of credit that were not owed", peer_, header.credit));
  }
  credit_ += header.credit;
  if ((header.flags & kFlagEarly) != 0) {
    if (header.length > limits_.early_bytes - early_) {
      return Error::invalid(fmt::format("rank {} sent more early data than it had credit for", peer_));
    }
    early_ += header.length;
  }
  header_ = header;
  payload_read_ = 0;
  payload_ = control_.data();
  if (carries_tensor(header.kind)) {
    ORRERY_TRY(payload_, receiver.place(peer_, header));
  }
  const std::size_t staged = std::min<std::size_t>(header.length, stage_end_ - stage_begin_);
  if (staged > 0) std::memcpy(payload_, stage_.data() + stage_begin_, staged);
  stage_begin_ += staged;
  payload_read_ = staged;
  return {};
}

Status Link::take_payload(Receiver& receiver) {
  const FrameHeader header = *header_;
  header_.reset();
  frames_read_ += 1;
  ORRERY_TRY_VOID(open(header));
  if (header.kind == FrameKind::kGoodbye) {
    left_ = true;
    return {};
  }
  return receiver.arrived(peer_, header, payload_);
}

Result<bool> Link::receive(Receiver& receiver) {
  std::size_t total = 0;
  bool stopped = false;
  for (;;) {
    while (header_ ? payload_read_ == header_->length : stage_end_ - stage_begin_ >= kHeaderBytes) {
      if (header_) {
        ORRERY_TRY_VOID(take_payload(receiver));
      } else {
        ORRERY_TRY_VOID(take_header(receiver));
      }
    }
    if (stopped || total >= kReadBytesPerCall) return total > 0;
    const std::size_t room =
        (header_ ? header_->length - payload_read_ : 0) + stage_.size() - (header_ ? 0 : stage_end_ - stage_begin_);
    auto got = read_more();
    if (!got && left_) return total > 0;  // it has sent goodbye before
    if (!got) return std::move(got).error();
    stopped = *got < room;
    total += *got;
    if (*got == 0) return total > 0;
  }
}

}  // namespace orrery::elastic::net
