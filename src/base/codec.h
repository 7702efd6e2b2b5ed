#pragma once
// Messages as bytes, little-endian. A codec either writes or reads, so that a message names its fields once:
//
//   struct Vote {
//     std::uint64_t generation = 0, step = 0;
//     void exchange(Codec& fields) { fields(generation, step); }
//   };
//
// Numbers, flags, texts, optionals, vectors, sets, maps, variants and types with a member exchange(Codec&) are fields.
// Bytes may come from anywhere: reading never takes more memory than the bytes justify, and after the first mistake all
// fields read as they are when new. Bytes that are read without a mistake are those that the message is written to:
// flags are 0 or 1, and sets and maps are in order.

#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/list_item.h"
#include "base/result.h"

namespace orrery {

class Codec {
 public:
  Codec() = default;                                                            // writes
  explicit Codec(std::string_view bytes) : is_reading_(true), bytes_(bytes) {}  // reads; the bytes must outlive it

  template <class... Fields>
  void operator()(Fields&... fields) {
    (field(fields), ...);
  }
  // An enumeration that counts from 0 to `last`.
  template <class Enum>
  void choice(Enum& value, Enum last) {
    auto number = static_cast<std::uint64_t>(value);
    integer(number, 1);
    expect(number <= static_cast<std::uint64_t>(last), "an unknown kind");
    if (is_ok()) value = static_cast<Enum>(number);
  }

  bool is_reading() const { return is_reading_; }
  bool is_ok() const { return mistake_.empty(); }
  // What reading must find; while writing it does nothing.
  void expect(bool holds, std::string_view what);
  // After reading: the first mistake, or bytes that are left.
  Status error() const;
  std::string take() && { return std::move(written_); }

 private:
  template <class Field>
  void field(Field& value) {
    if constexpr (requires { value.exchange(*this); }) {
      value.exchange(*this);
    } else if constexpr (std::is_same_v<Field, bool>) {
      std::uint64_t number = value ? 1 : 0;
      integer(number, 1);
      expect(number <= 1, "a flag that is neither 0 nor 1");
      value = number == 1;
    } else if constexpr (std::is_integral_v<Field>) {
      auto number = static_cast<std::uint64_t>(value);
      integer(number, sizeof(Field));
      value = static_cast<Field>(number);
    } else if constexpr (std::is_same_v<Field, double>) {
      auto number = std::bit_cast<std::uint64_t>(value);
      integer(number, sizeof number);
      value = std::bit_cast<double>(number);
    } else {
      list(value);
    }
  }
  void field(std::string& text);
  template <class A, class B>
  void field(std::pair<A, B>& value) {
    (*this)(value.first, value.second);
  }
  template <class Value>
  void field(std::optional<Value>& value) {
    bool has_value = value.has_value();
    field(has_value);
    if (is_reading_) value = has_value && is_ok() ? std::optional<Value>(std::in_place) : std::nullopt;
    if (value) field(*value);
  }
  template <class... Kinds>
  void field(std::variant<Kinds...>& value) {
    std::uint64_t kind = value.index();
    integer(kind, 1);
    expect(kind < sizeof...(Kinds), "an unknown kind");
    if (is_reading_ && is_ok()) value = nth_kind<std::variant<Kinds...>>(kind, std::index_sequence_for<Kinds...>());
    std::visit([this](auto& one) { field(one); }, value);
  }
  template <class Variant, std::size_t... kIndexes>
  static Variant nth_kind(std::uint64_t kind, std::index_sequence<kIndexes...>) {
    using Make = Variant (*)();
    static constexpr Make kMakers[] = {[] { return Variant(std::in_place_index<kIndexes>); }...};
    return kMakers[kind]();
  }

  // Every item takes at least one byte.
  template <class List>
  void list(List& items) {
    std::uint64_t count = items.size();
    integer(count, 4);
    if (!is_reading_) {
      // The elements of sets and the keys of maps cannot be changed, so they are copied.
      for (const auto& item : items) {
        ListItem<List> copy = item;
        field(copy);
      }
      return;
    }
    items.clear();
    expect(count <= bytes_.size() - at_, "a list that is longer than the bytes");
    for (std::uint64_t i = 0; i < count && is_ok(); ++i) {
      ListItem<List> item{};
      field(item);
      if constexpr (requires { items.key_comp(); }) {
        expect(items.empty() || items.key_comp()(key_of(*items.rbegin()), key_of(item)), "items out of order");
      }
      if (is_ok()) items.insert(items.end(), std::move(item));
    }
    if (!is_ok()) items.clear();
  }
  template <class Key, class Value>
  static const auto& key_of(const std::pair<Key, Value>& item) {
    return item.first;
  }
  template <class Key>
  static const Key& key_of(const Key& item) {
    return item;
  }

  void integer(std::uint64_t& number, std::size_t bytes);

  bool is_reading_ = false;
  std::string written_;
  std::string_view bytes_;
  std::size_t at_ = 0;
  std::string mistake_;
};

template <class Message>
std::string encode(Message message) {
  Codec codec;
  codec(message);
  return std::move(codec).take();
}

// Any bytes give a message that is written to the same bytes, or an error.
template <class Message>
Result<Message> decode(std::string_view bytes) {
  Codec codec(bytes);
  Message message{};
  codec(message);
  ORRERY_TRY_VOID(codec.error());
  return message;
}

}  // namespace orrery
