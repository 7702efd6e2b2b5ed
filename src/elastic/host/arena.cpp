#include "elastic/host/arena.h"

#include <cstring>
#include <fmt/format.h>
#include <iterator>

#include "base/check.h"

namespace orrery::elastic {

namespace {

std::uint64_t rounded(std::size_t bytes) {
  return (std::max<std::uint64_t>(bytes, 1) + kLine - 1) / kLine * kLine;
}

}  // namespace

ArenaBuffer& ArenaBuffer::operator=(ArenaBuffer&& other) noexcept {
  if (this == &other) return *this;
  reset();
  arena_ = std::exchange(other.arena_, nullptr);
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

void ArenaBuffer::reset() {
  if (arena_ != nullptr) arena_->release(data_, size_);
  arena_ = nullptr;
  data_ = nullptr;
  size_ = 0;
}

Arena::Arena(SlotLease& lease)
    : segment_(lease.segment()), base_(segment_.arena(lease.slot())), bytes_(segment_.options().arena_bytes) {
  if (bytes_ > 0) holes_[0] = bytes_;
}

Result<ArenaBuffer> Arena::allocate(std::size_t bytes) {
  const std::uint64_t need = bytes <= bytes_ ? rounded(bytes) : bytes;
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    const auto [at, size] = *hole;
    if (size < need) continue;
    holes_.erase(hole);
    if (size > need) holes_[at + need] = size - need;
    ArenaBuffer buffer;
    buffer.arena_ = this;
    buffer.data_ = base_ + at;
    buffer.size_ = bytes;
    std::memset(buffer.data_, 0, need);
    return buffer;
  }
  return Error::unavailable(
      fmt::format("no space for {} bytes in the arena; {} are free in {} holes", bytes, free_bytes(), holes_.size()));
}

std::uint64_t Arena::free_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [at, size] : holes_) sum += size;
  return sum;
}

std::uint64_t Arena::place_of(const ArenaBuffer& buffer) const {
  return static_cast<std::uint64_t>(buffer.data() - segment_.arenas());
}

Result<std::byte*> Arena::at(std::uint64_t place, std::size_t bytes) const {
  const std::uint64_t all = segment_.arenas_bytes();
  if (place > all || bytes > all - place) {
    return Error::invalid(fmt::format("{} bytes at {} are outside of arenas of {} bytes", bytes, place, all));
  }
  return segment_.arenas() + place;
}

void Arena::release(std::byte* data, std::size_t size) {
  const auto at = static_cast<std::uint64_t>(data - base_);
  auto hole = holes_.emplace(at, rounded(size)).first;
  const auto next = std::next(hole);
  if (next != holes_.end() && hole->first + hole->second == next->first) {
    hole->second += next->second;
    holes_.erase(next);
  }
  if (hole == holes_.begin()) return;
  const auto before = std::prev(hole);
  ORRERY_CHECK(before->first + before->second <= hole->first);
  if (before->first + before->second != hole->first) return;
  before->second += hole->second;
  holes_.erase(hole);
}

}  // namespace orrery::elastic
