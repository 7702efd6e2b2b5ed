#include "base/codec.h"

#include <fmt/format.h>

namespace orrery {

void Codec::expect(bool holds, std::string_view what) {
  if (is_reading_ && !holds && is_ok()) mistake_ = fmt::format("byte {} of {}: {}", at_, bytes_.size(), what);
}

Status Codec::error() const {
  if (!is_ok()) return Error::invalid(mistake_);
  if (is_reading_ && at_ != bytes_.size()) {
    return Error::invalid(fmt::format("byte {} of {}: the message ends here", at_, bytes_.size()));
  }
  return {};
}

void Codec::integer(std::uint64_t& number, std::size_t bytes) {
  if (!is_reading_) {
    for (std::size_t i = 0; i < bytes; ++i) written_.push_back(static_cast<char>(number >> (8 * i) & 0xff));
    return;
  }
  number = 0;
  expect(bytes <= bytes_.size() - at_, "the bytes end too early");
  if (!is_ok()) return;
  for (std::size_t i = 0; i < bytes; ++i) {
    number |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[at_ + i])) << (8 * i);
  }
  at_ += bytes;
}

void Codec::field(std::string& text) {
  std::uint64_t size = text.size();
  integer(size, 4);
  if (!is_reading_) {
    written_ += text;
    return;
  }
  text.clear();
  expect(size <= bytes_.size() - at_, "a text that is longer than the bytes");
  if (!is_ok()) return;
  text = bytes_.substr(at_, size);
  at_ += size;
}

}  // namespace orrery
