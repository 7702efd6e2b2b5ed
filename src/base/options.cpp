#include "base/options.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/check.h"
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

std::string bounds_text(const OptionRecord& record) {
  if (record.minimum && record.maximum) return fmt::format("{:.15g} to {:.15g}", *record.minimum, *record.maximum);
  if (record.minimum) return fmt::format("at least {:.15g}", *record.minimum);
  if (record.maximum) return fmt::format("at most {:.15g}", *record.maximum);
  return {};
}

Status check_bounds(const OptionRecord& record, double number, std::string_view text) {
  const bool low = record.minimum && number < *record.minimum;
  const bool high = record.maximum && number > *record.maximum;
  if (std::isfinite(number) && !low && !high) return {};
  const std::string expected = bounds_text(record);
  return Error::invalid(fmt::format("{}: {} is out of range; expected {}", record.name, text,
                                    expected.empty() ? "a finite number" : expected));
}

Status check_value(const OptionRecord& record, std::string_view text) {
  switch (record.type) {
    case OptionType::kFlag:
      if (text == "true" || text == "false") return {};
      return Error::invalid(fmt::format("{}: expected true or false, not \"{}\"", record.name, text));
    case OptionType::kInteger: {
      const auto number = parse_number<std::int64_t>(text);
      if (!number) return Error::invalid(fmt::format("{}: expected a whole number, not \"{}\"", record.name, text));
      return check_bounds(record, static_cast<double>(*number), text);
    }
    case OptionType::kNumber: {
      const auto number = parse_number<double>(text);
      if (!number) return Error::invalid(fmt::format("{}: expected a number, not \"{}\"", record.name, text));
      return check_bounds(record, *number, text);
    }
    case OptionType::kChoice:
      for (const std::string& choice : record.choices) {
        if (text == choice) return {};
      }
      return Error::invalid(fmt::format("{}: unknown value \"{}\"{} (one of: {})", record.name, text,
                                        did_you_mean(text, record.choices), fmt::join(record.choices, ", ")));
    case OptionType::kText:
      return {};
  }
  return {};
}

std::string placeholder(const OptionRecord& record) {
  std::string shown;
  switch (record.type) {
    case OptionType::kFlag:
      return {};
    case OptionType::kInteger:
      shown = "N";
      break;
    case OptionType::kNumber:
      shown = "X";
      break;
    case OptionType::kText:
      shown = "TEXT";
      break;
    case OptionType::kChoice:
      shown = fmt::format("{}", fmt::join(record.choices, "|"));
      break;
  }
  if (!record.unit.empty() && record.type != OptionType::kChoice) shown = record.unit;
  return record.is_list ? shown + ",…" : shown;
}

std::string notes(const OptionRecord& record) {
  std::vector<std::string> parts;
  if (const std::string range = bounds_text(record); !range.empty()) parts.push_back(range);
  if (record.is_required) parts.push_back("required");
  if (!record.default_value.empty() && record.type != OptionType::kFlag) {
    parts.push_back("default " + record.default_value);
  }
  return parts.empty() ? std::string() : fmt::format(" ({})", fmt::join(parts, "; "));
}

}  // namespace

OptionRecord OptionRecord::bounds(double low, double high) && {
  minimum = low;
  maximum = high;
  return std::move(*this);
}

OptionRecord OptionRecord::in(std::string unit_name) && {
  unit = std::move(unit_name);
  return std::move(*this);
}

OptionRecord OptionRecord::list() && {
  is_list = true;
  return std::move(*this);
}

OptionRecord OptionRecord::required() && {
  is_required = true;
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

OptionValues::OptionValues(std::span<const OptionRecord> records) : records_(records.begin(), records.end()) {
  for (const OptionRecord& record : records_) {
    if (record.default_value.empty()) continue;
    values_[record.name].parts =
        record.is_list ? split(record.default_value, ',') : std::vector<std::string>{record.default_value};
  }
}

Status OptionValues::set(std::string_view name, std::string_view text) {
  std::vector<std::string> names;
  for (const OptionRecord& record : records_) {
    names.push_back(record.name);
    if (record.name != name) continue;
    auto parts = record.is_list ? split(text, ',') : std::vector<std::string>{std::string(text)};
    for (std::string& part : parts) {
      part = std::string(trim(part));
      ORRERY_TRY_VOID(check_value(record, part));
    }
    values_[record.name] = {std::move(parts), true};
    return {};
  }
  return Error::invalid(fmt::format("unknown option \"{}\"{}", name, did_you_mean(name, names)));
}

Status OptionValues::check_required() const {
  for (const OptionRecord& record : records_) {
    if (record.is_required && !has(record.name)) return Error::invalid(fmt::format("{}: is required", record.name));
  }
  return {};
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

std::string help_text(std::span<const OptionRecord> records, std::string_view name_prefix) {
  constexpr std::size_t kHelpColumn = 28;
  std::string text;
  for (const OptionRecord& record : records) {
    std::string head = fmt::format("  {}{} {}", name_prefix, record.name, placeholder(record));
    if (head.size() + 1 > kHelpColumn) {
      text += head + "\n";
      head.clear();
    }
    text += fmt::format("{:<{}}{}{}\n", head, kHelpColumn, record.help, notes(record));
  }
  return text;
}

std::string json_schema(std::span<const OptionRecord> records, std::string_view title) {
  nlohmann::ordered_json properties = nlohmann::ordered_json::object();
  nlohmann::ordered_json required = nlohmann::ordered_json::array();
  for (const OptionRecord& record : records) {
    nlohmann::ordered_json scalar;
    switch (record.type) {
      case OptionType::kFlag:
        scalar["type"] = "boolean";
        break;
      case OptionType::kInteger:
        scalar["type"] = "integer";
        break;
      case OptionType::kNumber:
        scalar["type"] = "number";
        break;
      case OptionType::kText:
        scalar["type"] = "string";
        break;
      case OptionType::kChoice:
        scalar["enum"] = record.choices;
        break;
    }
    if (record.minimum) scalar["minimum"] = *record.minimum;
    if (record.maximum) scalar["maximum"] = *record.maximum;
    nlohmann::ordered_json property = scalar;
    if (record.is_list) property = {{"type", "array"}, {"items", scalar}};
    property["description"] = record.unit.empty() ? record.help : record.help + " [" + record.unit + "]";
    if (!record.default_value.empty()) property["default"] = record.default_value;
    properties[record.name] = std::move(property);
    if (record.is_required) required.push_back(record.name);
  }
  nlohmann::ordered_json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                                   {"title", title},
                                   {"type", "object"},
                                   {"additionalProperties", false},
                                   {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  return schema.dump(2);
}

std::string markdown_reference(std::span<const OptionRecord> records, std::string_view name_prefix) {
  std::string text = "| option | value | meaning |\n|---|---|---|\n";
  for (const OptionRecord& record : records) {
    const std::string value = fmt::format("{}", fmt::join(split(placeholder(record), '|'), "\\|"));
    text += fmt::format("| `{}{}` | {} | {}{} |\n", name_prefix, record.name, value, record.help, notes(record));
  }
  return text;
}

}  // namespace orrery
