#include "base/bytes.h"

#include <bit>
#include <fmt/format.h>

namespace orrery {

namespace {

void put(std::string& bytes, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

}  // namespace

void ByteWriter::u8(std::uint8_t value) {
  put(bytes_, value, 1);
}

void ByteWriter::u32(std::uint32_t value) {
  put(bytes_, value, 4);
}

void ByteWriter::u64(std::uint64_t value) {
  put(bytes_, value, 8);
}

void ByteWriter::f32(float value) {
  u32(std::bit_cast<std::uint32_t>(value));
}

void ByteWriter::f64(double value) {
  u64(std::bit_cast<std::uint64_t>(value));
}

void ByteWriter::text(std::string_view value) {
  u32(static_cast<std::uint32_t>(value.size()));
  bytes_ += value;
}

Result<std::uint64_t> ByteReader::little_endian(std::size_t size) {
  if (bytes_.size() - at_ < size) return Error::invalid(fmt::format("offset {}: the bytes end too early", at_));
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[at_ + i])) << (8 * i);
  }
  at_ += size;
  return value;
}

Result<std::uint8_t> ByteReader::u8() {
  ORRERY_TRY(const std::uint64_t value, little_endian(1));
  return static_cast<std::uint8_t>(value);
}

Result<std::uint32_t> ByteReader::u32() {
  ORRERY_TRY(const std::uint64_t value, little_endian(4));
  return static_cast<std::uint32_t>(value);
}

Result<std::uint64_t> ByteReader::u64() {
  return little_endian(8);
}

Result<float> ByteReader::f32() {
  ORRERY_TRY(const std::uint32_t value, u32());
  return std::bit_cast<float>(value);
}

Result<double> ByteReader::f64() {
  ORRERY_TRY(const std::uint64_t value, u64());
  return std::bit_cast<double>(value);
}

Result<std::string> ByteReader::text(std::size_t bytes_max) {
  ORRERY_TRY(const std::size_t size, count(1, bytes_max));
  std::string value(bytes_.substr(at_, size));
  at_ += size;
  return value;
}

Result<std::size_t> ByteReader::count(std::size_t item_bytes, std::size_t items_max) {
  const std::size_t start = at_;
  ORRERY_TRY(const std::uint32_t items, u32());
  if (items > items_max) {
    return Error::invalid(fmt::format("offset {}: {} items, at most {} are allowed", start, items, items_max));
  }
  if (item_bytes > 0 && items > (bytes_.size() - at_) / item_bytes) {
    return Error::invalid(fmt::format("offset {}: {} items are more than the bytes that follow", start, items));
  }
  return static_cast<std::size_t>(items);
}

}  // namespace orrery
