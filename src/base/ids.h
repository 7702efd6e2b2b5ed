#pragma once
// Integer ids that cannot be confused: an OperatorId does not convert to a TensorId.

#include <compare>
#include <cstdint>
#include <functional>

namespace orrery {

template <class Kind>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::int64_t value) : value_(value) {}
  constexpr std::int64_t value() const { return value_; }
  constexpr bool valid() const { return value_ >= 0; }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  std::int64_t value_ = -1;
};

}  // namespace orrery

template <class Kind>
struct std::hash<orrery::Id<Kind>> {
  std::size_t operator()(orrery::Id<Kind> id) const { return std::hash<std::int64_t>()(id.value()); }
};
