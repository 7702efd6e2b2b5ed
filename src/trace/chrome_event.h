#pragma once
// One event of a Chrome trace, as in its JSON object.

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace orrery::trace {

// Texts are valid until the next event is parsed. -1: not given.
struct ChromeEvent {
  char phase = '\0';  // '\0': missing
  std::string_view name, category, process, thread;
  std::optional<std::int64_t> start_ns, duration_ns;
  std::int64_t correlation = -1, external_id = -1, stream = -1, bytes = -1;
  std::string_view shapes;  // JSON of "Input Dims"
  std::string_view label;   // args.name: what a metadata event calls its thread or process
};

class ChromeEventParser {
 public:
  ChromeEventParser();
  ~ChromeEventParser();

  // Precondition: JsonWindow::kPadding bytes behind `json` can be read. The error does not name the place of the event.
  Result<ChromeEvent> parse(std::string_view json);

  // The first "name" in a list of objects: that of the first device.
  std::optional<std::string> first_name(std::string_view json);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A number of microseconds in decimal, as whole nanoseconds: exact where a double would not be (a time since 1970 with
// fractions has more digits than fit). Nothing if it is no number or beyond ±4e18 ns.
std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds);

}  // namespace orrery::trace
