#include "trace/chrome_event.h"

#include <charconv>
#include <cmath>
#include <simdjson.h>

#include "base/text.h"
#include "trace/json_window.h"

namespace orrery::trace {

namespace json = simdjson::ondemand;

static_assert(JsonWindow::kPadding >= simdjson::SIMDJSON_PADDING);

namespace {

constexpr double kNanosecondsMax = 4e18;

// A key as it is written; the ones we know have no escapes. Longer ones are cut. Reading on is safe: the parser has
// seen the closing quote.
std::string_view text_of(json::raw_json_string key) {
  constexpr std::size_t kKeyMax = 16;
  std::size_t length = 0;
  while (length < kKeyMax && key.raw()[length] != '"') ++length;
  return {key.raw(), length};
}

// The text of a number or a string, without quotes.
std::string_view scalar_text(json::value& value) {
  json::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS) return {};
  std::string_view text;
  if (type == json::json_type::string && value.get_string().get(text) == simdjson::SUCCESS) return text;
  return type == json::json_type::number ? trim(value.raw_json_token()) : std::string_view();
}

std::int64_t whole_number(json::value& value) {
  const std::string_view text = scalar_text(value);
  std::int64_t number = -1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && end == text.data() + text.size() ? number : -1;
}

std::int64_t element_bytes(std::string_view type) {
  if (type == "Double" || type == "Long") return 8;
  if (type == "Half" || type == "BFloat16" || type == "Short") return 2;
  if (type == "Byte" || type == "Char" || type == "Bool") return 1;
  return type == "Float" || type == "Int" ? 4 : -1;
}

// What args say about a collective: its number of elements and their type.
struct Collective {
  std::int64_t elements = -1;
  std::int64_t element = -1;
  std::int64_t bytes() const {
    return elements >= 0 && element > 0 && elements < (std::int64_t{1} << 50) ? elements * element : -1;
  }
};

void read_argument(std::string_view key, json::value& value, ChromeEvent& event, Collective& collective) {
  if (key == "correlation")
    event.correlation = whole_number(value);
  else if (key == "External id" || key == "external id")
    event.external_id = whole_number(value);
  else if (key == "stream")
    event.stream = whole_number(value);
  else if (key == "bytes")
    event.bytes = whole_number(value);
  else if (key == "name")
    event.label = scalar_text(value);
  else if (key == "In msg nelems")
    collective.elements = whole_number(value);
  else if (key == "dtype")
    collective.element = element_bytes(scalar_text(value));
  else if (key == "Input Dims" || key == "Input dims") {
    std::string_view shapes;
    if (simdjson::to_json_string(value).get(shapes) == simdjson::SUCCESS) event.shapes = shapes;
  }
}

simdjson::error_code read_arguments(json::value& value, ChromeEvent& event) {
  json::object arguments;
  if (value.get_object().get(arguments) != simdjson::SUCCESS) return simdjson::SUCCESS;
  Collective collective;
  for (auto field : arguments) {
    json::raw_json_string key;
    json::value argument;
    if (const auto code = field.key().get(key)) return code;
    if (const auto code = field.value().get(argument)) return code;
    read_argument(text_of(key), argument, event, collective);
  }
  if (event.bytes < 0) event.bytes = collective.bytes();
  return simdjson::SUCCESS;
}

simdjson::error_code read_field(std::string_view key, json::value& value, ChromeEvent& event) {
  if (key == "args") return read_arguments(value, event);
  if (key == "ts")
    event.start_ns = nanoseconds_of(scalar_text(value));
  else if (key == "dur")
    event.duration_ns = nanoseconds_of(scalar_text(value));
  else if (key == "name")
    event.name = scalar_text(value);
  else if (key == "cat")
    event.category = scalar_text(value);
  else if (key == "pid")
    event.process = scalar_text(value);
  else if (key == "tid")
    event.thread = scalar_text(value);
  else if (key == "ph") {
    const std::string_view phase = scalar_text(value);
    event.phase = phase.size() == 1 ? phase[0] : '\0';
  }
  return simdjson::SUCCESS;
}

simdjson::error_code read_fields(json::document& document, ChromeEvent& event) {
  json::object object;
  if (const auto code = document.get_object().get(object)) return code;
  for (auto field : object) {
    json::raw_json_string key;
    json::value value;
    if (const auto code = field.key().get(key)) return code;
    if (const auto code = field.value().get(value)) return code;
    if (const auto code = read_field(text_of(key), value, event)) return code;
  }
  return simdjson::SUCCESS;
}

std::optional<std::int64_t> nanoseconds_of_double(std::string_view microseconds) {
  const auto number = parse_number(microseconds);
  if (!number || std::abs(*number) * 1000 > kNanosecondsMax) return std::nullopt;
  return std::llround(*number * 1000);
}

}  // namespace

struct ChromeEventParser::Impl {
  json::parser parser;
  json::document document;

  simdjson::error_code open(std::string_view text) {
    return parser.iterate(simdjson::padded_string_view(text.data(), text.size(), text.size() + JsonWindow::kPadding))
        .get(document);
  }
};

ChromeEventParser::ChromeEventParser() : impl_(std::make_unique<Impl>()) {}
ChromeEventParser::~ChromeEventParser() = default;

Result<ChromeEvent> ChromeEventParser::parse(std::string_view text) {
  ChromeEvent event;
  auto code = impl_->open(text);
  if (!code) code = read_fields(impl_->document, event);
  if (code) return Error::invalid(std::string("not an event: ") + simdjson::error_message(code));
  return event;
}

std::optional<std::string> ChromeEventParser::first_name(std::string_view text) {
  json::array list;
  if (impl_->open(text) || impl_->document.get_array().get(list)) return std::nullopt;
  for (auto item : list) {
    std::string_view name;
    if (item["name"].get_string().get(name)) return std::nullopt;
    return std::string(name);
  }
  return std::nullopt;
}

std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds) {
  std::string_view digits = microseconds;
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  std::int64_t number = 0;
  int decimals = -1;  // seen behind the point
  for (const char c : digits) {
    if (c == '.' && decimals < 0) {
      decimals = 0;
      continue;
    }
    if (c < '0' || c > '9') return nanoseconds_of_double(microseconds);
    if (decimals == 3) {  // rounds half up
      number += c >= '5' ? 1 : 0;
      ++decimals;
    }
    if (decimals > 3) continue;
    if (number > static_cast<std::int64_t>(kNanosecondsMax) / 10) return std::nullopt;
    number = number * 10 + (c - '0');
    if (decimals >= 0) ++decimals;
  }
  if (digits.empty() || digits == ".") return std::nullopt;
  for (; decimals < 3; decimals += decimals < 0 ? 2 : 1) {
    if (number > static_cast<std::int64_t>(kNanosecondsMax) / 10) return std::nullopt;
    number *= 10;
  }
  return negative ? -number : number;
}

}  // namespace orrery::trace
