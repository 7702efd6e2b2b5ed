#include "trace/json_window.h"

#include <array>
#include <cstring>
#include <fmt/format.h>

#include "base/text.h"

namespace orrery::trace {

namespace {

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

bool ends_scalar(char c) {
  return is_space(c) || c == ',' || c == ']' || c == '}' || c == ':';
}

enum Class : std::uint8_t { kPlain, kQuote, kOpen, kClose };

constexpr std::array<std::uint8_t, 256> kClasses = [] {
  std::array<std::uint8_t, 256> classes{};
  classes['"'] = kQuote;
  classes['{'] = classes['['] = kOpen;
  classes['}'] = classes[']'] = kClose;
  return classes;
}();

// Whether any of the eight bytes equals `c`: the carry of a byte that became zero reaches its top bit.
bool has_byte(std::uint64_t word, char c) {
  const std::uint64_t x = word ^ (0x0101010101010101u * static_cast<std::uint8_t>(c));
  return ((x - 0x0101010101010101u) & ~x & 0x8080808080808080u) != 0;
}

}  // namespace

Error JsonWindow::error(std::string_view what) const {
  return Error::invalid(fmt::format("byte {}: {}", offset(), what));
}

Result<bool> JsonWindow::refill(std::size_t keep_from) {
  const std::size_t kept = filled_ - keep_from;
  std::memmove(buffer_.data(), buffer_.data() + keep_from, kept);
  buffer_offset_ += keep_from;
  at_ -= std::min(at_, keep_from);
  filled_ = kept;
  if (kept + kPadding == buffer_.size()) buffer_.resize(2 * kept + kPadding);
  const std::span<char> room(buffer_.data() + filled_, buffer_.size() - kPadding - filled_);
  ORRERY_TRY(const std::size_t got, stream_.read(room));
  filled_ += got;
  return got > 0;
}

Result<char> JsonWindow::peek() {
  while (true) {
    while (at_ < filled_ && is_space(buffer_[at_])) ++at_;
    if (at_ < filled_) return buffer_[at_];
    ORRERY_TRY(const bool more, refill(at_));
    if (!more) return '\0';
  }
}

Status JsonWindow::expect(char wanted) {
  ORRERY_TRY(const char found, peek());
  if (at_ == filled_) return error(fmt::format("the file ends where '{}' was expected", wanted));
  if (found != wanted) return error(fmt::format("expected '{}', found {}", wanted, quote({&found, 1})));
  ++at_;
  return {};
}

// Eight bytes at a time while none of them ends the string.
void JsonWindow::scan_string(Scan& scan) const {
  const char* data = buffer_.data();
  if (scan.escaped && scan.at < filled_) {
    scan.escaped = false;
    ++scan.at;
  }
  while (scan.at < filled_) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + scan.at, sizeof word);  // within the padding
    if (!has_byte(word, '"') && !has_byte(word, '\\')) {
      scan.at = std::min(scan.at + sizeof word, filled_);
      continue;
    }
    while (data[scan.at] != '"' && data[scan.at] != '\\') {
      if (++scan.at >= filled_) return;
    }
    if (data[scan.at] == '"') {
      scan.in_string = false;
      ++scan.at;
      return;
    }
    scan.at += 2;
    if (scan.at > filled_) {
      scan.at = filled_;
      scan.escaped = true;
    }
  }
}

// Advances to the end of the value or of the window.
Status JsonWindow::scan_on(Scan& scan) const {
  const char* data = buffer_.data();
  while (scan.at < filled_ && !scan.done) {
    if (scan.in_string) {
      scan_string(scan);
      scan.done = !scan.in_string && scan.depth == 0;
      continue;
    }
    const std::uint8_t kind = kClasses[static_cast<std::uint8_t>(data[scan.at++])];
    if (kind == kPlain) continue;
    if (kind == kQuote) scan.in_string = true;
    if (kind == kOpen && ++scan.depth > kDepthMax) {
      return error(fmt::format("the value that starts here nests deeper than {}", kDepthMax));
    }
    if (kind == kClose) scan.done = --scan.depth == 0;
  }
  return {};
}

Status JsonWindow::scan_scalar(bool keep, std::size_t& begin, std::size_t& end) {
  begin = end = at_;
  while (true) {
    while (end < filled_ && !ends_scalar(buffer_[end])) ++end;
    if (end < filled_ || end - begin > kValueMax) break;
    const std::size_t from = keep ? begin : end;
    ORRERY_TRY(const bool more, refill(from));
    begin -= std::min(begin, from);
    end -= from;
    if (!more) break;
  }
  if (end - begin > kValueMax) return error("a value is too long");
  return {};
}

// begin and end are places in the buffer; begin means nothing unless the value is kept.
Status JsonWindow::scan_value(bool keep, std::size_t& begin, std::size_t& end) {
  ORRERY_TRY(const char first, peek());
  if (at_ == filled_) return error("the file ends where a value was expected");
  if (ends_scalar(first)) return error(fmt::format("expected a value, found {}", quote({&first, 1})));
  if (first != '"' && first != '{' && first != '[') return scan_scalar(keep, begin, end);
  const std::uint64_t value_offset = offset();
  Scan scan{at_};
  begin = at_;
  ORRERY_TRY_VOID(scan_on(scan));
  while (!scan.done) {
    const std::size_t from = keep ? begin : filled_;
    if (keep && filled_ - begin >= kValueMax) {
      return error(fmt::format("the value that starts here is longer than {} bytes", kValueMax));
    }
    ORRERY_TRY(const bool more, refill(from));
    if (!more) {
      return Error::invalid(fmt::format("byte {}: the file ends in the middle of the value that starts at byte {}",
                                        offset() + filled_ - at_, value_offset));
    }
    scan.at -= from;
    begin -= std::min(begin, from);
    ORRERY_TRY_VOID(scan_on(scan));
  }
  end = scan.at;
  return {};
}

Result<std::string_view> JsonWindow::take_value() {
  std::size_t begin = 0, end = 0;
  ORRERY_TRY_VOID(scan_value(true, begin, end));
  at_ = end;
  return std::string_view(buffer_.data() + begin, end - begin);
}

Result<std::string_view> JsonWindow::take_string() {
  ORRERY_TRY(const char first, peek());
  if (first != '"') return error("expected a string");
  ORRERY_TRY(const std::string_view text, take_value());
  return text.substr(1, text.size() - 2);
}

Status JsonWindow::skip_value() {
  std::size_t begin = 0, end = 0;
  ORRERY_TRY_VOID(scan_value(false, begin, end));
  at_ = end;
  return {};
}

}  // namespace orrery::trace
