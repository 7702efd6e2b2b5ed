#pragma once
// The key that distinguishes one operation of a session from all others.

#include <cstddef>
#include <cstdint>

namespace orrery::elastic {

struct OperationKey {
  std::uint64_t name = 0;      // hash64
  std::uint32_t sequence = 0;  // operations of that name before it

  friend bool operator==(const OperationKey&, const OperationKey&) = default;
};

struct OperationKeyHash {
  std::size_t operator()(const OperationKey& key) const { return key.name * 31 + key.sequence; }
};

// An operation that was started. Every ticket must be waited for exactly once.
struct Ticket {
  OperationKey key{};
};

}  // namespace orrery::elastic
