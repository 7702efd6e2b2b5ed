#include "trace/chrome_reader.h"

#include <fmt/format.h>

#include "trace/byte_stream.h"
#include "trace/chrome_event.h"
#include "trace/json_window.h"
#include "trace/log_builder.h"

namespace orrery::trace {

namespace {

class ChromeReader {
 public:
  ChromeReader(ByteStream& stream, const ChromeReadOptions& options) : window_(stream), builder_(options) {}

  Result<EventLog> read() {
    ORRERY_TRY(const char first, window_.peek());
    if (first == '[') {
      ORRERY_TRY_VOID(read_events());
    } else if (first == '{') {
      ORRERY_TRY_VOID(read_object());
    } else {
      return window_.error("expected a Chrome trace: an object with \"traceEvents\", or a list of events");
    }
    ORRERY_TRY(const char after, window_.peek());
    if (after != '\0') return window_.error("something follows the end of the trace");
    return std::move(builder_).finish(window_.offset());
  }

 private:
  Status read_object() {
    ORRERY_TRY_VOID(window_.expect('{'));
    ORRERY_TRY(char next, window_.peek());
    while (next != '}') {
      ORRERY_TRY_VOID(read_member());
      ORRERY_TRY(next, window_.peek());
      if (next == ',') ORRERY_TRY_VOID(window_.expect(','));
      if (next != ',' && next != '}') return window_.expect('}');
    }
    if (!found_events_) return window_.error("the object has no \"traceEvents\"");
    return window_.expect('}');
  }

  Status read_member() {
    ORRERY_TRY(const std::string_view taken, window_.take_string());
    const std::string key(taken);
    ORRERY_TRY_VOID(window_.expect(':'));
    if (key == "traceEvents") return read_events();
    if (key != "deviceProperties") return window_.skip_value();
    ORRERY_TRY(const std::string_view devices, window_.take_value());
    if (const auto name = parser_.first_name(devices)) builder_.set_device(*name);
    return {};
  }

  Status read_events() {
    found_events_ = true;
    ORRERY_TRY_VOID(window_.expect('['));
    ORRERY_TRY(char next, window_.peek());
    while (next != ']') {
      ORRERY_TRY_VOID(read_event());
      ORRERY_TRY(next, window_.peek());
      if (next == ',') ORRERY_TRY_VOID(window_.expect(','));
      if (next != ',' && next != ']') return window_.expect(']');
    }
    return window_.expect(']');
  }

  Status read_event() {
    const std::uint64_t offset = window_.offset();
    ORRERY_TRY(const std::string_view text, window_.take_value());
    const auto event = parser_.parse(text);
    if (!event) return Error::invalid(fmt::format("byte {}: {}", offset, event.error().message()));
    if (auto added = builder_.add(*event, offset); !added) {
      return Error::invalid(fmt::format("byte {}: {}", offset, added.error().message()));
    }
    return {};
  }

  JsonWindow window_;
  ChromeEventParser parser_;
  LogBuilder builder_;
  bool found_events_ = false;
};

}  // namespace

Result<EventLog> read_chrome_trace(env::ReadHandle& file, const ChromeReadOptions& options) {
  ORRERY_TRY(const auto stream, open_stream(file));
  return ChromeReader(*stream, options).read();
}

Result<EventLog> read_chrome_trace(std::string_view bytes, const ChromeReadOptions& options) {
  ORRERY_TRY(const auto stream, open_stream(bytes));
  return ChromeReader(*stream, options).read();
}

}  // namespace orrery::trace
