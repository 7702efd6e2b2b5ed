#pragma once
// Tensors in memory that all ranks of the host reach directly: collectives on them copy nothing.
//
// Each process allocates from its own part. A tensor keeps its place over membership changes, until its buffer is
// destroyed.

#include <cstddef>
#include <map>
#include <memory>
#include <optional>

#include "elastic/host/slot_lease.h"

namespace orrery::elastic {

class Arena;

// Owns a piece of an arena, 64-byte aligned and zero at first. The arena outlives it.
class ArenaBuffer {
 public:
  ArenaBuffer() = default;
  ~ArenaBuffer() { reset(); }
  ArenaBuffer(ArenaBuffer&& other) noexcept { *this = std::move(other); }
  ArenaBuffer& operator=(ArenaBuffer&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  void reset();

 private:
  friend class Arena;
  Arena* arena_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Not thread-safe: used by the thread of its slot lease. First fit.
class Arena {
 public:
  explicit Arena(SlotLease& lease);

  // kUnavailable if there is no hole of that size.
  Result<ArenaBuffer> allocate(std::size_t bytes);
  std::uint64_t free_bytes() const;

  // Names a buffer for other ranks of the host, which map the arenas at other addresses.
  std::uint64_t place_of(const ArenaBuffer& buffer) const;
  // The address here of the `bytes` at a place that another rank named. kInvalidArgument outside of all arenas.
  Result<std::byte*> at(std::uint64_t place, std::size_t bytes) const;

 private:
  friend class ArenaBuffer;
  void release(std::byte* data, std::size_t size);

  Segment& segment_;
  std::byte* base_;
  std::uint64_t bytes_;
  std::map<std::uint64_t, std::uint64_t> holes_;  // offset -> bytes; never adjacent
};

}  // namespace orrery::elastic
