#pragma once
// A JSON document seen through a window that slides over a stream: the walk along its outer structure, value by value.
//
// A value is found by its brackets and quotes alone and handed out as text for a real parser; what is skipped is never
// held in memory. Errors give the offset in the document. Limits: a value that is taken has at most `kValueMax` bytes,
// and any value nests at most `kDepthMax` deep.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/byte_stream.h"

namespace orrery::trace {

class JsonWindow {
 public:
  static constexpr std::size_t kWindow = 1 << 20;
  static constexpr std::size_t kValueMax = 16 << 20;
  static constexpr int kDepthMax = 64;
  // Readable bytes behind every taken value.
  static constexpr std::size_t kPadding = 64;

  explicit JsonWindow(ByteStream& stream) : stream_(stream), buffer_(kWindow + kPadding) {}

  // Of the next byte, in the document.
  std::uint64_t offset() const { return buffer_offset_ + at_; }

  // The next byte that is not white space; 0 at the end. It stays where it is.
  Result<char> peek();
  // Steps over white space and `wanted`; the error names what is there instead.
  Status expect(char wanted);
  // Steps over a string and gives it without quotes, escapes as they are. Valid until the next call.
  Result<std::string_view> take_string();
  // Steps over a value of any type and gives its text. Valid until the next call.
  Result<std::string_view> take_value();
  // Steps over a value of any size.
  Status skip_value();

  Error error(std::string_view what) const;

 private:
  // How far a value has been looked at.
  struct Scan {
    std::size_t at = 0;  // in the buffer
    int depth = 0;
    bool in_string = false;
    bool escaped = false;
    bool done = false;
  };
  Status scan_value(bool keep, std::size_t& begin, std::size_t& end);
  Status scan_scalar(bool keep, std::size_t& begin, std::size_t& end);
  Status scan_on(Scan& scan) const;
  void scan_string(Scan& scan) const;
  // Moves bytes from `keep_from` on to the front and reads more behind them. False at the end of the stream.
  Result<bool> refill(std::size_t keep_from);

  ByteStream& stream_;
  std::vector<char> buffer_;
  std::uint64_t buffer_offset_ = 0;
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
};

}  // namespace orrery::trace
