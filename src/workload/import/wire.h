#pragma once
// The wire format of Protocol Buffers, read from a source that need not be in memory.
//
// A message is a sequence of fields: a tag (number and wire type), then a varint, 4 or 8 bytes, or a length and that
// many bytes. A Message is a range of the source; asking it for fields never goes outside that range, and a field that
// is skipped is not read. Errors give the offset in the file. Nothing here recurses: how deep messages nest is decided
// by the code that opens them.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "env/files.h"

namespace orrery::workload::import {

// Bytes by offset: a string or an open file, behind one window of `kWindow` bytes. Not thread-safe.
class ByteSource {
 public:
  static constexpr std::size_t kWindow = 1 << 16;

  explicit ByteSource(std::string_view bytes) : window_(bytes), size_(bytes.size()) {}
  explicit ByteSource(env::ReadHandle& file) : file_(&file), size_(file.size()) {}

  std::uint64_t size() const { return size_; }
  // Bytes from `offset` on, at least one and at most `most`. Valid until the next call.
  Result<std::string_view> bytes_at(std::uint64_t offset, std::size_t most);
  // Everything that was read so far, bytes that were read twice included.
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  env::ReadHandle* file_ = nullptr;
  std::vector<char> buffer_;
  std::string_view window_;
  std::uint64_t window_begin_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t bytes_read_ = 0;
};

enum class WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t number_value = 0;  // kVarint, kFixed64, kFixed32
  std::uint64_t begin = 0;         // kBytes: where they are in the source
  std::uint64_t length = 0;
};

class Message {
 public:
  // The whole source.
  explicit Message(ByteSource& source) : source_(&source), at_(0), end_(source.size()) {}
  // The bytes of a kBytes field.
  Message(ByteSource& source, const Field& field)
      : source_(&source), at_(field.begin), end_(field.begin + field.length) {}

  bool at_end() const { return at_ >= end_; }
  // The next field. The bytes of a kBytes field are stepped over, not read.
  Result<Field> next();

  // For packed repeated fields: the message is a plain sequence of numbers.
  Result<std::uint64_t> next_varint();
  Result<std::uint64_t> next_fixed(int bytes);

 private:
  Result<std::uint8_t> next_byte();
  Error broken(std::string_view what) const;

  ByteSource* source_;
  std::uint64_t at_;
  std::uint64_t end_;
};

// The content of a kBytes field; an error if it is longer than `limit`.
Result<std::string> read_text(ByteSource& source, const Field& field, std::size_t limit);

}  // namespace orrery::workload::import
