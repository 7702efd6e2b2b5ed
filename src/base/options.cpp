#include "base/options.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>

#include "base/check.h"
#include "base/fields.h"
#include "base/text.h"

namespace orrery {

namespace {

OptionRecord make(std::string name, OptionType type, std::string default_value, std::string help) {
  OptionRecord record;
  record.name = std::move(name);
  record.type = type;
  record.default_value = std::move(default_value);
  record.help = std::move(help);
  return record;
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool in_bounds(const OptionRecord& record, double number) {
  const bool low = record.minimum && number < *record.minimum;
  const bool high = record.maximum && number > *record.maximum;
  return std::isfinite(number) && !low && !high;
}

Status check_bounds(const OptionRecord& record, double number, std::string_view text) {
  if (in_bounds(record, number)) return {};
  const std::string expected = bounds_text(record);
  return Error::invalid(
      fmt::format("{} is out of range; expected {}", text, expected.empty() ? "a finite number" : expected));
}

Error wrong_type(std::string_view expected, std::string_view text) {
  return Error::invalid(fmt::format("expected {}, not {}", expected, quote(text)));
}

Status check_text(const OptionRecord& record, std::string_view text) {
  if (in_bounds(record, static_cast<double>(text.size()))) return {};
  return Error::invalid(fmt::format("{} bytes long; expected {}", text.size(), bounds_text(record)));
}

Status check_choice(const OptionRecord& record, std::string_view text) {
  for (const std::string& choice : record.choices) {
    if (text == choice) return {};
  }
  return Error::invalid(fmt::format("unknown value {}{} (one of: {})", quote(text), did_you_mean(text, record.choices),
                                    fmt::join(record.choices, ", ")));
}

struct TimeUnit {
  char letter;
  double seconds;
};
constexpr TimeUnit kTimeUnits[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};

struct SizeUnit {
  std::string_view name;
  Bytes bytes;
};
constexpr SizeUnit kSizeUnits[] = {{"GiB", gibibytes(1)}, {"MiB", mebibytes(1)}, {"KiB", kibibytes(1)}};

}  // namespace

std::optional<Seconds> parse_duration(std::string_view text) {
  if (text.ends_with("ms")) {
    const auto number = parse_number<double>(text.substr(0, text.size() - 2));
    if (!number || !std::isfinite(*number)) return std::nullopt;
    return Seconds(*number / 1000);
  }
  for (const TimeUnit& unit : kTimeUnits) {
    if (text.empty() || text.back() != unit.letter) continue;
    const auto number = parse_number<double>(text.substr(0, text.size() - 1));
    if (!number || !std::isfinite(*number)) return std::nullopt;
    return Seconds(*number * unit.seconds);
  }
  return std::nullopt;
}

std::string duration_text(Seconds time) {
  for (const TimeUnit& unit : kTimeUnits) {
    const double number = time.value() / unit.seconds;
    const bool is_exact = number == std::floor(number) && number * unit.seconds == time.value();
    if (number >= 1 && is_exact) return fmt::format("{}{}", number, unit.letter);
  }
  return fmt::format("{}s", time.value());
}

std::optional<Bytes> parse_size(std::string_view text) {
  for (const SizeUnit& unit : kSizeUnits) {
    if (!text.ends_with(unit.name)) continue;
    const auto number = parse_number<double>(text.substr(0, text.size() - unit.name.size()));
    if (!number || !std::isfinite(*number) || *number < 0) return std::nullopt;
    return *number * unit.bytes;
  }
  return std::nullopt;
}

std::string size_text(Bytes size) {
  for (const SizeUnit& unit : kSizeUnits) {
    const double number = size / unit.bytes;
    if (number >= 1 && number == std::floor(number)) return fmt::format("{}{}", number, unit.name);
  }
  return fmt::format("{}KiB", size / kibibytes(1));
}

std::string bounds_text(const OptionRecord& record) {
  const auto show = [&](double bound) {
    if (record.type == OptionType::kDuration) return duration_text(Seconds(bound));
    if (record.type == OptionType::kSize) return size_text(Bytes(bound));
    return fmt::format("{:.15g}", bound);
  };
  const std::string_view unit = record.type == OptionType::kText ? " bytes" : "";
  if (record.minimum && record.maximum)
    return fmt::format("{} to {}{}", show(*record.minimum), show(*record.maximum), unit);
  if (record.minimum) return fmt::format("at least {}{}", show(*record.minimum), unit);
  if (record.maximum) return fmt::format("at most {}{}", show(*record.maximum), unit);
  return {};
}

Status check_option(const OptionRecord& record, std::string_view text) {
  switch (record.type) {
    case OptionType::kFlag:
      if (text == "true" || text == "false") return {};
      return wrong_type("true or false", text);
    case OptionType::kInteger: {
      const auto number = parse_number<std::int64_t>(text);
      if (!number) return wrong_type("a whole number", text);
      return check_bounds(record, static_cast<double>(*number), text);
    }
    case OptionType::kNumber: {
      const auto number = parse_number<double>(text);
      if (!number) return wrong_type("a number", text);
      return check_bounds(record, *number, text);
    }
    case OptionType::kDuration: {
      const auto time = parse_duration(text);
      if (!time) return wrong_type("a time such as 90s, 30m, 12h or 7d", text);
      if (!record.minimum && *time < Seconds(0)) return wrong_type("a time of 0s or more", text);
      return check_bounds(record, time->value(), text);
    }
    case OptionType::kSize: {
      const auto size = parse_size(text);
      if (!size) return wrong_type("a size such as 64KiB, 256MiB or 2GiB", text);
      return check_bounds(record, size->value(), text);
    }
    case OptionType::kChoice:
      return check_choice(record, text);
    case OptionType::kText:
      return check_text(record, text);
    case OptionType::kGroup:
      return Error::invalid("expected fields (name: value)");
  }
  return {};
}

OptionRecord OptionRecord::bounds(double low, double high) && {
  minimum = low;
  maximum = high;
  return std::move(*this);
}

OptionRecord OptionRecord::in(std::string unit_name) && {
  unit = std::move(unit_name);
  return std::move(*this);
}

OptionRecord OptionRecord::list(std::size_t most) && {
  is_list = true;
  items_max = most;
  return std::move(*this);
}

OptionRecord OptionRecord::required() && {
  is_required = true;
  return std::move(*this);
}

OptionRecord OptionRecord::word() && {
  is_word = true;
  return std::move(*this);
}

OptionRecord OptionRecord::or_letter(char short_name) && {
  letter = short_name;
  return std::move(*this);
}

OptionRecord OptionRecord::or_fields(std::vector<OptionRecord> records) && {
  fields = std::move(records);
  return std::move(*this);
}

OptionRecord flag_option(std::string name, std::string help) {
  return make(std::move(name), OptionType::kFlag, "false", std::move(help));
}

OptionRecord integer_option(std::string name, std::int64_t default_value, std::string help) {
  return make(std::move(name), OptionType::kInteger, std::to_string(default_value), std::move(help));
}

OptionRecord number_option(std::string name, double default_value, std::string help) {
  return make(std::move(name), OptionType::kNumber, fmt::format("{}", default_value), std::move(help));
}

OptionRecord text_option(std::string name, std::string default_value, std::string help) {
  return make(std::move(name), OptionType::kText, std::move(default_value), std::move(help));
}

OptionRecord choice_option(std::string name, std::string default_value, std::vector<std::string> choices,
                           std::string help) {
  OptionRecord record = make(std::move(name), OptionType::kChoice, std::move(default_value), std::move(help));
  record.choices = std::move(choices);
  return record;
}

OptionRecord optional_integer(std::string name, std::string help) {
  return make(std::move(name), OptionType::kInteger, "", std::move(help));
}

OptionRecord optional_number(std::string name, std::string help) {
  return make(std::move(name), OptionType::kNumber, "", std::move(help));
}

OptionRecord optional_duration(std::string name, std::string help) {
  return make(std::move(name), OptionType::kDuration, "", std::move(help));
}

OptionRecord duration_option(std::string name, std::string default_value, std::string help) {
  OptionRecord record = optional_duration(std::move(name), std::move(help));
  record.default_value = std::move(default_value);
  return record;
}

OptionRecord size_option(std::string name, std::string default_value, std::string help) {
  return make(std::move(name), OptionType::kSize, std::move(default_value), std::move(help));
}

OptionRecord group_option(std::string name, std::vector<OptionRecord> fields, std::string help) {
  return make(std::move(name), OptionType::kGroup, "", std::move(help)).or_fields(std::move(fields));
}

OptionValues::OptionValues(std::span<const OptionRecord> records, FieldNames names)
    : records_(records.begin(), records.end()), names_(std::move(names)) {
  for (const OptionRecord& record : records_) {
    if (record.default_value.empty()) continue;
    values_[record.name].parts =
        record.is_list ? split(record.default_value, ',') : std::vector<std::string>{record.default_value};
  }
}

Result<const OptionRecord*> OptionValues::find(std::string_view name) const {
  std::vector<std::string> names;
  for (const OptionRecord& record : records_) {
    if (record.name == name) return &record;
    names.push_back(record.name);
  }
  return Error::invalid(fmt::format("unknown option \"{}\"{}", name, did_you_mean(name, names)));
}

Status OptionValues::set(std::string_view name, std::string_view text) {
  ORRERY_TRY(const OptionRecord* record, find(name));
  auto parts = record->is_list ? split(text, ',') : std::vector<std::string>{std::string(text)};
  for (std::string& part : parts) part = std::string(trim(part));
  return set_values(name, std::move(parts));
}

Status OptionValues::set_values(std::string_view name, std::vector<std::string> values) {
  ORRERY_TRY(const OptionRecord* record, find(name));
  ORRERY_CHECK(!values.empty() && (record->is_list || values.size() == 1));
  for (const std::string& value : values) {
    const Status status = check_option(*record, value);
    if (!status) return names_.error(record->name, status.error().message());
  }
  values_[record->name] = {std::move(values), true};
  return {};
}

Status OptionValues::check_required() const {
  for (const OptionRecord& record : records_) {
    if (record.is_required && !has(record.name)) return names_.error(record.name, "is required");
  }
  return {};
}

const OptionValues::Value* OptionValues::find_value(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

OptionValues OptionValues::with_names(FieldNames names) const {
  OptionValues copy = *this;
  copy.names_ = std::move(names);
  return copy;
}

bool OptionValues::given(std::string_view name) const {
  const auto found = values_.find(name);
  return found != values_.end() && found->second.given;
}

bool OptionValues::has(std::string_view name) const {
  return values_.find(name) != values_.end();
}

const OptionRecord& OptionValues::record(std::string_view name) const {
  for (const OptionRecord& candidate : records_) {
    if (candidate.name == name) return candidate;
  }
  check_failed("an option that is read must have a record", __FILE__, __LINE__);
}

const OptionValues::Value& OptionValues::value(std::string_view name) const {
  const auto found = values_.find(name);
  ORRERY_CHECK(found != values_.end());
  return found->second;
}

bool flag_value(const std::string& text) {
  return text == "true";
}

std::int64_t integer_value(const std::string& text) {
  return *parse_number<std::int64_t>(text);
}

double number_value(const std::string& text) {
  return *parse_number<double>(text);
}

std::string number_text(double value) {
  return fmt::format("{}", value);
}

Seconds duration_value(const std::string& text) {
  return *parse_duration(text);
}

Bytes size_value(const std::string& text) {
  return *parse_size(text);
}

bool OptionValues::flag(std::string_view name) const {
  ORRERY_CHECK(record(name).type == OptionType::kFlag);
  return value(name).parts.front() == "true";
}

std::int64_t OptionValues::integer(std::string_view name) const {
  return integers(name).front();
}

double OptionValues::number(std::string_view name) const {
  ORRERY_CHECK(record(name).type == OptionType::kNumber);
  return *parse_number<double>(value(name).parts.front());
}

Seconds OptionValues::duration(std::string_view name) const {
  ORRERY_CHECK(record(name).type == OptionType::kDuration);
  return *parse_duration(value(name).parts.front());
}

Bytes OptionValues::size(std::string_view name) const {
  ORRERY_CHECK(record(name).type == OptionType::kSize);
  return *parse_size(value(name).parts.front());
}

const std::string& OptionValues::text(std::string_view name) const {
  static const std::string kNone;
  const OptionType type = record(name).type;
  ORRERY_CHECK(type == OptionType::kText || type == OptionType::kChoice);
  return has(name) ? value(name).parts.front() : kNone;
}

std::vector<std::int64_t> OptionValues::integers(std::string_view name) const {
  ORRERY_CHECK(record(name).type == OptionType::kInteger);
  std::vector<std::int64_t> numbers;
  for (const std::string& part : value(name).parts) numbers.push_back(*parse_number<std::int64_t>(part));
  return numbers;
}

std::vector<std::string> OptionValues::texts(std::string_view name) const {
  const OptionType type = record(name).type;
  ORRERY_CHECK(type == OptionType::kText || type == OptionType::kChoice);
  return has(name) ? value(name).parts : std::vector<std::string>();
}

std::string OptionValues::display(std::string_view name) const {
  return has(name) ? fmt::format("{}", fmt::join(value(name).parts, ",")) : std::string();
}

}  // namespace orrery
