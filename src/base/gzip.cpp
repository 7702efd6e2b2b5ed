#include "base/gzip.h"

#include <array>
#include <fmt/format.h>
#include <zlib.h>

#include "base/check.h"
#include "base/text.h"

namespace orrery {

namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib: the largest window, with a gzip header

Bytef* bytes_of(const char* text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text));  // zlib reads it only
}

// Ends an inflation whatever happens.
struct Inflation {
  z_stream stream{};
  ~Inflation() { inflateEnd(&stream); }
};

}  // namespace

bool is_gzip(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

Result<std::string> gunzip(std::string_view compressed, Bytes limit) {
  Inflation inflation;
  z_stream& stream = inflation.stream;
  ORRERY_CHECK(inflateInit2(&stream, kGzipWindow) == Z_OK);
  stream.next_in = bytes_of(compressed.data());
  stream.avail_in = static_cast<uInt>(compressed.size());
  std::string content;
  std::array<char, 1 << 16> buffer;
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    state = inflate(&stream, Z_NO_FLUSH);
    if (state != Z_OK && state != Z_STREAM_END) {
      return Error::invalid(fmt::format("damaged or cut gzip data after {} bytes", content.size()));
    }
    content.append(buffer.data(), buffer.size() - stream.avail_out);
    if (static_cast<double>(content.size()) > limit.value()) {
      return Error::invalid(fmt::format("unpacks to more than {}", format_bytes(limit)));
    }
  }
  return content;
}

std::string gzip(std::string_view content) {
  z_stream stream{};
  ORRERY_CHECK(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindow, 9, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, content.size()), '\0');
  stream.next_in = bytes_of(content.data());
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  ORRERY_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace orrery
