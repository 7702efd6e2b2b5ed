#pragma once
// Numbers as bytes, little-endian, for files of our own. The reader checks every length before it takes memory.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace orrery {

class ByteWriter {
 public:
  void u8(std::uint8_t value);
  void u32(std::uint32_t value);
  void u64(std::uint64_t value);
  void f32(float value);
  void f64(double value);
  void text(std::string_view value);  // length, then bytes

  const std::string& bytes() const { return bytes_; }
  std::string take() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// The bytes must outlive the reader. Errors name the offset.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  Result<std::uint8_t> u8();
  Result<std::uint32_t> u32();
  Result<std::uint64_t> u64();
  Result<float> f32();
  Result<double> f64();
  Result<std::string> text(std::size_t bytes_max);
  // A u32 that says how many items follow, each of at least `item_bytes`; more than can follow is an error.
  Result<std::size_t> count(std::size_t item_bytes, std::size_t items_max);

  bool at_end() const { return at_ == bytes_.size(); }
  std::size_t offset() const { return at_; }

 private:
  Result<std::uint64_t> little_endian(std::size_t size);

  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace orrery
