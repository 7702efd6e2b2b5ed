#include "base/xz.h"

#include <array>
#include <fmt/format.h>
#include <lzma.h>

#include "base/check.h"
#include "base/text.h"

namespace orrery {

namespace {

constexpr std::uint64_t kDecoderMemoryMax = 256ull << 20;

// Ends a decoding whatever happens.
struct Decoding {
  lzma_stream stream = LZMA_STREAM_INIT;
  ~Decoding() { lzma_end(&stream); }
};

}  // namespace

Result<std::string> unxz(std::string_view compressed, Bytes limit) {
  Decoding decoding;
  lzma_stream& stream = decoding.stream;
  ORRERY_CHECK(lzma_stream_decoder(&stream, kDecoderMemoryMax, LZMA_CONCATENATED) == LZMA_OK);
  stream.next_in = reinterpret_cast<const std::uint8_t*>(compressed.data());
  stream.avail_in = compressed.size();
  std::string content;
  std::array<char, 1 << 16> buffer;
  lzma_ret state = LZMA_OK;
  while (state != LZMA_STREAM_END) {
    stream.next_out = reinterpret_cast<std::uint8_t*>(buffer.data());
    stream.avail_out = buffer.size();
    state = lzma_code(&stream, LZMA_FINISH);
    if (state != LZMA_OK && state != LZMA_STREAM_END) {
      return Error::invalid(fmt::format("damaged or cut xz data after {} bytes", content.size()));
    }
    content.append(buffer.data(), buffer.size() - stream.avail_out);
    if (static_cast<double>(content.size()) > limit.value()) {
      return Error::invalid(fmt::format("unpacks to more than {}", format_bytes(limit)));
    }
  }
  return content;
}

std::string xz(std::string_view content) {
  std::string packed(lzma_stream_buffer_bound(content.size()), '\0');
  std::size_t size = 0;
  ORRERY_CHECK(lzma_easy_buffer_encode(LZMA_PRESET_DEFAULT, LZMA_CHECK_CRC64, nullptr,
                                       reinterpret_cast<const std::uint8_t*>(content.data()), content.size(),
                                       reinterpret_cast<std::uint8_t*>(packed.data()), &size,
                                       packed.size()) == LZMA_OK);
  packed.resize(size);
  return packed;
}

}  // namespace orrery
