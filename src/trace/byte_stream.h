#pragma once
// Bytes in the order of a file, decompressed on the way if they are gzip.

#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "env/files.h"

namespace orrery::trace {

// Not thread-safe.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Fills the beginning of `buffer`, which must not be empty; 0 only at the end.
  virtual Result<std::size_t> read(std::span<char> buffer) = 0;
};

// The content of a file: inflated if it starts with the magic bytes of gzip, whatever its name. The file must outlive
// the stream.
Result<std::unique_ptr<ByteStream>> open_stream(env::ReadHandle& file);
// The same for bytes in memory.
Result<std::unique_ptr<ByteStream>> open_stream(std::string_view bytes);

}  // namespace orrery::trace
