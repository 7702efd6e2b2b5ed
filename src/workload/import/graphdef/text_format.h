#pragma once
// The text form of Protocol Buffers: fields `name: value` and `name { … }`, comments from `#` to the end of the line.
//
// A reader walks once over a text that outlives it. Errors give the line. Messages and lists that nest deeper than
// `depth_max` are an error, so that reading recurses no deeper.

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <string_view>

#include "base/result.h"

namespace orrery::workload::import {

class TextReader {
 public:
  TextReader(std::string_view text, int depth_max) : text_(text), depth_max_(depth_max) {}

  std::size_t line() const { return line_; }

  // Skips space and comments; true if a message or the text ends here.
  bool at_end() {
    skip_space();
    return at_ >= text_.size() || text_[at_] == '}';
  }
  bool at_end_of_text() {
    skip_space();
    return at_ >= text_.size();
  }

  Result<std::string_view> field_name() {
    skip_space();
    const std::size_t start = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (at_ == start) return error("expected a field name");
    return text_.substr(start, at_ - start);
  }

  // True if the field just named holds a message; its `{` is passed.
  Result<bool> opens_message() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == ':') {
      ++at_;
      skip_space();
    }
    if (at_ >= text_.size() || text_[at_] != '{') return false;
    ++at_;
    if (++depth_ > depth_max_) return error(fmt::format("nested more than {} deep", depth_max_));
    return true;
  }

  Status close_message() {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != '}') return error("expected }");
    ++at_;
    --depth_;
    skip_separator();
    return {};
  }

  // A string, number or word; strings are unescaped.
  Result<std::string> scalar() {
    skip_space();
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) return quoted();
    const std::size_t start = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '-' || text_[at_] == '+')) ++at_;
    if (at_ == start) return error("expected a value");
    std::string value(text_.substr(start, at_ - start));
    skip_separator();
    return value;
  }

  // Skips the value of a field whose name was read.
  Status skip_value() {
    ORRERY_TRY(const bool is_message, opens_message());
    if (!is_message) return skip_scalar_or_list();
    while (!at_end()) {
      ORRERY_TRY_VOID(field_name());
      ORRERY_TRY_VOID(skip_value());
    }
    return close_message();
  }

  // Calls `read` once for the value of a field, or for each in brackets.
  template <class Read>
  Status each(Read&& read) {
    skip_space();
    if (at_ < text_.size() && text_[at_] == ':') ++at_;
    skip_space();
    if (at_ >= text_.size() || text_[at_] != '[') return read();
    ++at_;
    for (skip_space(); at_ < text_.size() && text_[at_] != ']'; skip_space()) ORRERY_TRY_VOID(read());
    if (at_ >= text_.size()) return error("list is never closed");
    ++at_;
    skip_separator();
    return {};
  }

  Error error(std::string what) const { return Error::invalid(fmt::format("line {}: {}", line_, what)); }

 private:
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  }

  void skip_space() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        if (at_ == text_.size()) return;
      }
      if (text_[at_] == '\n')
        ++line_;
      else if (text_[at_] != ' ' && text_[at_] != '\t' && text_[at_] != '\r')
        return;
    }
  }

  void skip_separator() {
    skip_space();
    if (at_ < text_.size() && (text_[at_] == ',' || text_[at_] == ';')) ++at_;
  }

  // Neighbouring texts are one.
  Result<std::string> quoted() {
    std::string value;
    while (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
      ORRERY_TRY_VOID(quoted_part(value));
      skip_space();
    }
    skip_separator();
    return value;
  }

  Status quoted_part(std::string& value) {
    const char quote = text_[at_++];
    for (; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == quote) {
        ++at_;
        return {};
      }
      if (text_[at_] != '\\') {
        value += text_[at_];
      } else if (++at_ >= text_.size() || text_[at_] == '\n') {
        break;
      } else {
        value += escaped();
      }
    }
    return error("text is never closed");
  }

  // The byte of an escape sequence; leaves the last character of it.
  char escaped() {
    const char c = text_[at_];
    if (is_digit(c, 8)) return number_escape(8, 3);
    if ((c == 'x' || c == 'X') && at_ + 1 < text_.size() && is_digit(text_[at_ + 1], 16)) {
      ++at_;
      return number_escape(16, 2);
    }
    constexpr std::string_view kNames = "abfnrtv", kBytes = "\a\b\f\n\r\t\v";
    const std::size_t named = kNames.find(c);
    return named == std::string_view::npos ? c : kBytes[named];
  }

  char number_escape(int base, int most) {
    int value = 0;
    for (int digits = 0; digits < most && at_ < text_.size() && is_digit(text_[at_], base); ++digits, ++at_) {
      value = value * base + digit(text_[at_]);
    }
    --at_;
    return static_cast<char>(value);
  }

  static int digit(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }
  static bool is_digit(char c, int base) {
    const bool is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    return is_hex && digit(c) < base;
  }

  Status skip_scalar_or_list() {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != '[') {
      ORRERY_TRY_VOID(scalar());
      return {};
    }
    ++at_;
    if (++depth_ > depth_max_) return error(fmt::format("nested more than {} deep", depth_max_));
    while (true) {
      skip_space();
      if (at_ >= text_.size()) return error("list is never closed");
      if (text_[at_] == ']') break;
      ORRERY_TRY_VOID(skip_value());
    }
    ++at_;
    --depth_;
    skip_separator();
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  int depth_ = 0;
  int depth_max_;
};

}  // namespace orrery::workload::import
