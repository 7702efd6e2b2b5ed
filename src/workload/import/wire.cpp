#include "workload/import/wire.h"

#include <algorithm>
#include <fmt/format.h>

namespace orrery::workload::import {

Result<std::string_view> ByteSource::bytes_at(std::uint64_t offset, std::size_t most) {
  if (offset >= size_) return Error::invalid(fmt::format("offset {}: the file ends here", offset));
  const bool inside = offset >= window_begin_ && offset - window_begin_ < window_.size();
  if (!inside) {
    buffer_.resize(kWindow);
    ORRERY_TRY(const std::size_t got, file_->read_at(offset, buffer_));
    if (got == 0) return Error::io(fmt::format("offset {}: the file became shorter while it was read", offset));
    window_ = std::string_view(buffer_.data(), got);
    window_begin_ = offset;
    bytes_read_ += got;
  }
  return window_.substr(static_cast<std::size_t>(offset - window_begin_), most);
}

Error Message::broken(std::string_view what) const {
  return Error::invalid(fmt::format("offset {}: {}", at_, what));
}

Result<std::uint8_t> Message::next_byte() {
  if (at_ >= end_) return broken("the message is cut off");
  ORRERY_TRY(const std::string_view bytes, source_->bytes_at(at_, 1));
  ++at_;
  return static_cast<std::uint8_t>(bytes[0]);
}

Result<std::uint64_t> Message::next_varint() {
  constexpr int kLongest = 10;
  std::uint64_t value = 0;
  int shift = 0;
  while (shift < 7 * kLongest) {
    if (at_ >= end_) return broken("the message is cut off");
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(kLongest - shift / 7, end_ - at_));
    ORRERY_TRY(const std::string_view bytes, source_->bytes_at(at_, most));
    for (const char c : bytes) {
      const auto byte = static_cast<std::uint8_t>(c);
      ++at_;
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return value;
      shift += 7;
    }
  }
  return broken("a number is longer than ten bytes");
}

Result<std::uint64_t> Message::next_fixed(int bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) {
    ORRERY_TRY(const std::uint8_t byte, next_byte());
    value |= static_cast<std::uint64_t>(byte) << (8 * i);
  }
  return value;
}

Result<Field> Message::next() {
  ORRERY_TRY(const std::uint64_t tag, next_varint());
  Field field;
  if (tag >> 3 == 0 || tag >> 32 != 0) return broken(fmt::format("{} is not the tag of a field", tag));
  field.number = static_cast<std::uint32_t>(tag >> 3);
  field.type = static_cast<WireType>(tag & 7);
  switch (field.type) {
    case WireType::kVarint: {
      ORRERY_TRY(field.number_value, next_varint());
      return field;
    }
    case WireType::kFixed64: {
      ORRERY_TRY(field.number_value, next_fixed(8));
      return field;
    }
    case WireType::kFixed32: {
      ORRERY_TRY(field.number_value, next_fixed(4));
      return field;
    }
    case WireType::kBytes: {
      ORRERY_TRY(field.length, next_varint());
      if (field.length > end_ - at_) {
        return broken(fmt::format("field {} says it is {} bytes long, but only {} are left", field.number, field.length,
                                  end_ - at_));
      }
      field.begin = at_;
      at_ += field.length;
      return field;
    }
  }
  return broken(fmt::format("field {} has wire type {}, which this format does not use", field.number, tag & 7));
}

Result<std::string> read_text(ByteSource& source, const Field& field, std::size_t limit) {
  if (field.type != WireType::kBytes) {
    return Error::invalid(fmt::format("field {} is a number; expected text", field.number));
  }
  if (field.length > limit) {
    return Error::invalid(
        fmt::format("offset {}: a text of {} bytes; at most {} are allowed", field.begin, field.length, limit));
  }
  std::string text;
  while (text.size() < field.length) {
    ORRERY_TRY(const std::string_view bytes,
               source.bytes_at(field.begin + text.size(), static_cast<std::size_t>(field.length) - text.size()));
    text += bytes;
  }
  return text;
}

}  // namespace orrery::workload::import
