#pragma once
// Indices that cannot be mixed up: a JobIndex is no MachineIndex and no number. Each kind declares a type:
//
//   using JobIndex = Index<struct JobKind>;
//
// IndexedVector<JobIndex, T> is a vector that only a JobIndex reads, so that no call site needs a cast.

#include <compare>
#include <concepts>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

namespace orrery {

// 32 bits: tables of indices are read millions of times a second, and none has 2^31 rows.
template <class Kind>
class Index {
 public:
  constexpr Index() = default;  // no index: -1
  template <std::integral Number>
  constexpr explicit Index(Number value) : value_(static_cast<std::int32_t>(value)) {}

  constexpr std::int32_t value() const { return value_; }
  constexpr bool valid() const { return value_ >= 0; }
  // The place in a table; the index must be valid.
  constexpr std::size_t place() const { return static_cast<std::size_t>(value_); }

  constexpr Index& operator++() {
    ++value_;
    return *this;
  }
  constexpr Index& operator--() {
    --value_;
    return *this;
  }
  friend constexpr auto operator<=>(Index, Index) = default;
  friend constexpr std::int32_t operator-(Index a, Index b) { return a.value_ - b.value_; }

 private:
  std::int32_t value_ = -1;
};

// The indices first, first + 1, …, last - 1, for range-based loops; reversed() gives them from last - 1 to first.
template <class AnIndex, bool kForward = true>
class IndexRange {
 public:
  class Iterator {
   public:
    constexpr explicit Iterator(AnIndex at) : at_(at) {}
    constexpr AnIndex operator*() const { return at_; }
    constexpr Iterator& operator++() {
      kForward ? ++at_ : --at_;
      return *this;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    AnIndex at_;
  };

  template <std::integral Number>
  constexpr explicit IndexRange(Number count) : IndexRange(AnIndex(0), AnIndex(count)) {}
  constexpr IndexRange(AnIndex first, AnIndex end) : first_(first), end_(end) {}
  constexpr Iterator begin() const { return Iterator(first_); }
  constexpr Iterator end() const { return Iterator(end_); }
  constexpr IndexRange<AnIndex, false> reversed() const requires kForward {
    AnIndex first = end_, end = first_;
    return {--first, --end};
  }

 private:
  AnIndex first_, end_;
};

// A std::vector whose operator[] takes one kind of index.
template <class AnIndex, class T>
class IndexedVector : public std::vector<T> {
  using Base = std::vector<T>;

 public:
  using Base::Base;
  explicit IndexedVector(Base values) : Base(std::move(values)) {}

  decltype(auto) operator[](AnIndex index) { return Base::operator[](index.place()); }
  decltype(auto) operator[](AnIndex index) const { return Base::operator[](index.place()); }
  IndexRange<AnIndex> indices() const { return IndexRange<AnIndex>(Base::size()); }
};

}  // namespace orrery

template <class Kind>
struct std::hash<orrery::Index<Kind>> {
  std::size_t operator()(orrery::Index<Kind> index) const { return std::hash<std::int32_t>()(index.value()); }
};

template <class Kind>
struct fmt::formatter<orrery::Index<Kind>> : fmt::formatter<std::int32_t> {
  auto format(orrery::Index<Kind> index, format_context& context) const {
    return fmt::formatter<std::int32_t>::format(index.value(), context);
  }
};
