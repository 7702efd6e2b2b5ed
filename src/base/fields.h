#pragma once
// The fields of a request: option records bound to the members of a struct. One list of fields reads the struct from
// the words of a command line, from YAML and from JSON; help, reference page and schema come from the same records.
//
//   struct ChooseRequest {
//     FieldNames names;
//     std::string model;
//     std::vector<int> machines;
//     std::optional<Seconds> deadline;
//     Setting<std::int64_t> steps;
//   };
//   const Fields<ChooseRequest>& fields_of(const ChooseRequest*) {
//     static const auto kFields = Fields<ChooseRequest>()
//         .add(&ChooseRequest::model, text_option("model", "", "model or job file").word())
//         .add(&ChooseRequest::machines, integer_option("machines", 1, "machines to rent").bounds(1, 4096).list())
//         .add(&ChooseRequest::deadline, optional_duration("deadline", "finish within this time"))
//         .add(&ChooseRequest::steps, integer_option("steps", 1000, "steps to train").bounds(1, 1e15));
//     return kFields;
//   }
//
// A default stands in the record and is applied when the request is read. A member that must know whether its value was
// given is a Setting; one without a default is an optional.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/options.h"

namespace orrery {

// A value with a default, and whether it was given.
template <class T>
class Setting {
 public:
  Setting() = default;
  explicit Setting(T value) : value_(std::move(value)) {}

  const T& operator*() const { return value_; }
  const T* operator->() const { return &value_; }
  bool given() const { return given_; }

  void give(T value) {
    value_ = std::move(value);
    given_ = true;
  }
  // Another source knows better than the default: a job file, for example. A value that was given stays.
  void complete(T value) {
    if (!given_) value_ = std::move(value);
  }

  friend bool operator==(const Setting&, const Setting&) = default;

 private:
  T value_{};
  bool given_ = false;
};

// The parse function of a choice whose values have names by to_string().
template <class Value, std::size_t N>
auto named_values(const Value (&values)[N]) {
  return [&values](const std::string& name) -> Result<Value> {
    for (const Value value : values) {
      if (to_string(value) == name) return value;
    }
    return Error::invalid("unknown value " + name);
  };
}

// How text becomes a value. The record has checked it already, so only types with rules of their own can fail.
bool flag_value(const std::string& text);
std::int64_t integer_value(const std::string& text);
double number_value(const std::string& text);
std::string number_text(double value);
Seconds duration_value(const std::string& text);
Bytes size_value(const std::string& text);

template <class T>
Result<T> read_value(const std::string& text) {
  if constexpr (std::same_as<T, bool>) {
    return flag_value(text);
  } else if constexpr (std::integral<T>) {
    return static_cast<T>(integer_value(text));
  } else if constexpr (std::same_as<T, double>) {
    return number_value(text);
  } else if constexpr (std::same_as<T, Seconds>) {
    return duration_value(text);
  } else if constexpr (std::same_as<T, Bytes>) {
    return size_value(text);
  } else if constexpr (std::same_as<T, Dollars> || std::same_as<T, DollarsPerHour>) {
    return T(number_value(text));
  } else {
    return T(text);
  }
}

template <class T>
concept WritableValue = std::integral<T> || std::same_as<T, double> || std::convertible_to<T, std::string> ||
    requires(const T& value) {
  to_string(value);
} || requires(const T& value) {
  { value.value() } -> std::same_as<double>;
};

// The text that read_value reads as this value: one for equal values, however they were spelled.
template <WritableValue T>
std::string write_value(const T& value) {
  if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::integral<T>) {
    return std::to_string(value);
  } else if constexpr (std::same_as<T, double>) {
    return number_text(value);
  } else if constexpr (std::same_as<T, Seconds>) {
    return duration_text(value);
  } else if constexpr (std::same_as<T, Bytes>) {
    return size_text(value);
  } else if constexpr (std::convertible_to<T, std::string>) {
    return value;
  } else if constexpr (requires { to_string(value); }) {
    return std::string(to_string(value));
  } else {
    return number_text(value.value());
  }
}

template <class T>
struct FieldItem {  // what one word of the field becomes
  using Type = T;
};
template <class T>
struct FieldItem<std::vector<T>> : FieldItem<T> {};
template <class T>
struct FieldItem<std::optional<T>> : FieldItem<T> {};
template <class T>
struct FieldItem<Setting<T>> : FieldItem<T> {};

template <class Request>
class Fields {
 public:
  template <class Member>
  Fields add(Member Request::*member, OptionRecord record) && {
    return std::move(*this).add(member, std::move(record), read_value<typename FieldItem<Member>::Type>);
  }

  // `parse` turns one word into a value: Result<Value>(const std::string&). Its error needs no name.
  template <class Member, class Parse>
  Fields add(Member Request::*member, OptionRecord record, Parse parse) && {
    entries_.push_back({std::move(record),
                        [member, parse](Request& request, const OptionValues::Value& value) {
                          return assign(request.*member, value, parse);
                        },
                        {}});
    if constexpr (WritableValue<typename FieldItem<Member>::Type>) {
      entries_.back().text = [member](const Request& request) { return text_of(request.*member); };
    }
    return std::move(*this);
  }

  // The fields of a part of the request, under their own names.
  template <class Part>
  Fields add(Part Request::*part, const Fields<Part>& fields) && {
    for (const auto& entry : fields.entries()) {
      entries_.push_back({entry.record,
                          [part, assign = entry.assign](Request& request, const OptionValues::Value& v) {
                            return assign(request.*part, v);
                          },
                          {}});
      if (!entry.text) continue;
      entries_.back().text = [part, text = entry.text](const Request& request) { return text(request.*part); };
    }
    return std::move(*this);
  }

  std::vector<OptionRecord> records() const {
    std::vector<OptionRecord> records;
    for (const Entry& entry : entries_) records.push_back(entry.record);
    return records;
  }

  // The request of values that were read against these records, and possibly others.
  Result<Request> read(const OptionValues& values) const {
    Request request{};
    if constexpr (requires { request.names = values.names(); }) request.names = values.names();
    for (const Entry& entry : entries_) {
      const OptionValues::Value* value = values.find_value(entry.record.name);
      if (value == nullptr) continue;
      const Status status = entry.assign(request, *value);
      if (!status) return values.names().error(entry.record.name, status.error().message());
    }
    return request;
  }

  // The request of somebody who gave nothing.
  Result<Request> defaults() const {
    const std::vector<OptionRecord> all = records();
    return read(OptionValues(all));
  }

  // Gives one field, by its name or key, another value. Errors name it as `names` spells it.
  Status set(Request& request, std::string_view name, std::string_view text, const FieldNames& names) const {
    const std::vector<OptionRecord> all = records();
    OptionValues values(all, names);
    const auto is_it = [&](const Entry& entry) { return key_of(entry.record.name) == key_of(name); };
    const auto found = std::find_if(entries_.begin(), entries_.end(), is_it);
    const std::string known = found == entries_.end() ? std::string(name) : found->record.name;
    ORRERY_TRY_VOID(values.set(known, text));
    const Status status = found->assign(request, *values.find_value(known));
    if (!status) return names.error(known, status.error().message());
    return {};
  }

  // "name=text", a line per field in the order of the records; an optional without a value has an empty text. Equal
  // requests give equal lines. Precondition: every field has a type with a text (WritableValue).
  std::string text(const Request& request) const {
    std::string lines;
    for (const Entry& entry : entries_) {
      ORRERY_CHECK(entry.text != nullptr);
      lines += (lines.empty() ? "" : "\n") + entry.record.name + "=" + entry.text(request);
    }
    return lines;
  }

  struct Entry {
    OptionRecord record;
    std::function<Status(Request&, const OptionValues::Value&)> assign;
    std::function<std::string(const Request&)> text;  // of the value; empty for types that have none
  };
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  template <class T, class Parse>
  static Status assign(T& member, const OptionValues::Value& value, const Parse& parse) {
    ORRERY_TRY(member, parse(value.parts.front()));
    return {};
  }
  template <class T, class Parse>
  static Status assign(std::optional<T>& member, const OptionValues::Value& value, const Parse& parse) {
    return assign(member.emplace(), value, parse);
  }
  template <class T, class Parse>
  static Status assign(std::vector<T>& member, const OptionValues::Value& value, const Parse& parse) {
    member.clear();
    for (const std::string& part : value.parts) {
      ORRERY_TRY(T item, parse(part));
      member.push_back(std::move(item));
    }
    return {};
  }
  template <class T, class Parse>
  static Status assign(Setting<T>& member, const OptionValues::Value& value, const Parse& parse) {
    T read{};
    ORRERY_TRY_VOID(assign(read, value, parse));
    value.given ? member.give(std::move(read)) : member.complete(std::move(read));
    return {};
  }

  template <class T>
  static std::string text_of(const T& member) {
    return write_value(member);
  }
  template <class T>
  static std::string text_of(const std::optional<T>& member) {
    return member ? text_of(*member) : std::string();
  }
  template <class T>
  static std::string text_of(const std::vector<T>& member) {
    std::string text;
    for (const auto& item : member) text += (text.empty() ? "" : ",") + text_of(static_cast<const T&>(item));
    return text;
  }
  template <class T>
  static std::string text_of(const Setting<T>& member) {
    return text_of(*member);
  }

  std::vector<Entry> entries_;
};

}  // namespace orrery
