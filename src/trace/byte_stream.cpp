#include "trace/byte_stream.h"

#include <cstring>
#include <fmt/format.h>
#include <vector>
#include <zlib.h>

namespace orrery::trace {

namespace {

class FileStream : public ByteStream {
 public:
  explicit FileStream(env::ReadHandle& file) : file_(file) {}

  Result<std::size_t> read(std::span<char> buffer) override {
    ORRERY_TRY(const std::size_t got, file_.read_at(at_, buffer));
    at_ += got;
    return got;
  }

 private:
  env::ReadHandle& file_;
  std::uint64_t at_ = 0;
};

class MemoryStream : public ByteStream {
 public:
  explicit MemoryStream(std::string_view bytes) : bytes_(bytes) {}

  Result<std::size_t> read(std::span<char> buffer) override {
    const std::size_t got = std::min(buffer.size(), bytes_.size());
    std::memcpy(buffer.data(), bytes_.data(), got);
    bytes_.remove_prefix(got);
    return got;
  }

 private:
  std::string_view bytes_;
};

// Several gzip members in sequence, as gzip itself reads them.
class GzipStream : public ByteStream {
 public:
  explicit GzipStream(std::unique_ptr<ByteStream> source) : source_(std::move(source)), input_(kInput) {
    open_ = ::inflateInit2(&state_, 15 + 16) == Z_OK;
  }
  ~GzipStream() override { ::inflateEnd(&state_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  Result<std::size_t> read(std::span<char> buffer) override {
    if (!open_) return Error::internal("zlib could not be started");
    state_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    state_.avail_out = static_cast<uInt>(std::min<std::size_t>(buffer.size(), kOutputMax));
    const uInt room = state_.avail_out;
    while (state_.avail_out == room && !ended_) ORRERY_TRY_VOID(inflate_some());
    return std::size_t{room - state_.avail_out};
  }

 private:
  static constexpr std::size_t kInput = 1 << 18;
  static constexpr std::size_t kOutputMax = 1 << 30;

  Status inflate_some() {
    if (state_.avail_in == 0) ORRERY_TRY_VOID(refill());
    if (ended_) return {};
    const int code = ::inflate(&state_, Z_NO_FLUSH);
    inside_ = code != Z_STREAM_END;
    if (code == Z_STREAM_END) return ::inflateReset(&state_) == Z_OK ? Status() : broken("cannot restart");
    if (code != Z_OK && code != Z_BUF_ERROR) return broken(state_.msg != nullptr ? state_.msg : "damaged data");
    return {};
  }

  Status refill() {
    ORRERY_TRY(const std::size_t got, source_->read(input_));
    taken_ += got;
    state_.next_in = reinterpret_cast<Bytef*>(input_.data());
    state_.avail_in = static_cast<uInt>(got);
    ended_ = got == 0;
    if (ended_ && inside_) return broken("the file ends in the middle");
    return {};
  }

  Error broken(std::string_view what) const {
    return Error::invalid(fmt::format("gzip, byte {}: {}", taken_ - state_.avail_in, what));
  }

  std::unique_ptr<ByteStream> source_;
  std::vector<char> input_;
  z_stream state_{};
  std::uint64_t taken_ = 0;
  bool open_ = false;
  bool inside_ = false;
  bool ended_ = false;
};

bool is_gzip(std::string_view head) {
  return head.starts_with("\x1f\x8b");
}

std::unique_ptr<ByteStream> inflated_if(bool gzip, std::unique_ptr<ByteStream> stream) {
  return gzip ? std::make_unique<GzipStream>(std::move(stream)) : std::move(stream);
}

}  // namespace

Result<std::unique_ptr<ByteStream>> open_stream(env::ReadHandle& file) {
  char head[2] = {};
  ORRERY_TRY(const std::size_t got, file.read_at(0, head));
  return inflated_if(is_gzip({head, got}), std::make_unique<FileStream>(file));
}

Result<std::unique_ptr<ByteStream>> open_stream(std::string_view bytes) {
  return inflated_if(is_gzip(bytes), std::make_unique<MemoryStream>(bytes));
}

}  // namespace orrery::trace
