// Option records for people and programs: help, JSON Schema, Markdown.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/options.h"
#include "base/text.h"

namespace orrery {

namespace {

using Json = nlohmann::ordered_json;

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
    case OptionType::kDuration:
      shown = "TIME";
      break;
    case OptionType::kSize:
      shown = "SIZE";
      break;
    case OptionType::kGroup:
      shown = "fields";
      break;
  }
  if (!record.unit.empty() && record.type != OptionType::kChoice) shown = record.unit;
  return record.is_list ? shown + ",…" : shown;
}

// "--batch N,…", "-n, --workers N"; of a word of the command line its place alone: "MODEL…".
std::string head_of(const OptionRecord& record, std::string_view prefix) {
  if (record.is_word) return words_text({&record, 1});
  const std::string letter = record.letter != 0 ? fmt::format("-{}, ", record.letter) : std::string();
  return fmt::format("{}{}{} {}", letter, prefix, record.name, placeholder(record));
}

std::string notes(const OptionRecord& record) {
  std::vector<std::string> parts;
  if (const std::string range = bounds_text(record); !range.empty()) parts.push_back(range);
  if (record.items_max > 0) parts.push_back(fmt::format("at most {} items", record.items_max));
  if (record.is_required) parts.push_back("required");
  if (!record.default_value.empty() && record.type != OptionType::kFlag) {
    parts.push_back("default " + record.default_value);
  }
  return parts.empty() ? std::string() : fmt::format(" ({})", fmt::join(parts, "; "));
}

std::string escaped(std::string_view cell) {
  return fmt::format("{}", fmt::join(split(cell, '|'), "\\|"));
}

Json number_json(const OptionRecord& record, double number) {
  return record.type == OptionType::kInteger ? Json(static_cast<std::int64_t>(number)) : Json(number);
}

Json bounded(Json schema, const OptionRecord& record, std::string_view low, std::string_view high) {
  if (record.minimum) schema[std::string(low)] = number_json(record, *record.minimum);
  if (record.maximum) schema[std::string(high)] = number_json(record, *record.maximum);
  return schema;
}

Json object_schema(std::span<const OptionRecord> records);

// Of one value of the option.
Json value_schema(const OptionRecord& record) {
  switch (record.type) {
    case OptionType::kFlag:
      return {{"type", "boolean"}};
    case OptionType::kInteger:
      return bounded({{"type", "integer"}}, record, "minimum", "maximum");
    case OptionType::kNumber:
      return bounded({{"type", "number"}}, record, "minimum", "maximum");
    case OptionType::kText:
      return bounded({{"type", "string"}}, record, "minLength", "maxLength");
    case OptionType::kChoice:
      return {{"enum", record.choices}};
    case OptionType::kDuration:
      return {{"type", "string"}, {"pattern", "^[0-9]+(\\.[0-9]+)?(ms|[smhd])$"}};
    case OptionType::kSize:
      return {{"type", "string"}, {"pattern", "^[0-9]+(\\.[0-9]+)?[KMG]iB$"}};
    case OptionType::kGroup:
      return object_schema(record.fields);
  }
  return Json::object();
}

Json default_json(const OptionRecord& record) {
  const bool is_plain = !record.is_list && (record.type == OptionType::kInteger || record.type == OptionType::kNumber ||
                                            record.type == OptionType::kFlag);
  return is_plain ? Json::parse(record.default_value) : Json(record.default_value);
}

Json list_schema(const OptionRecord& record, Json item) {
  Json schema = {{"type", "array"}, {"items", std::move(item)}, {"minItems", 1}};
  if (record.items_max > 0) schema["maxItems"] = record.items_max;
  return schema;
}

Json property_schema(const OptionRecord& record) {
  Json schema = value_schema(record);
  if (!record.fields.empty() && record.type != OptionType::kGroup) {
    schema = {{"oneOf", Json::array({schema, object_schema(record.fields)})}};
  }
  if (record.is_list) schema = list_schema(record, std::move(schema));
  schema["description"] = record.unit.empty() ? record.help : record.help + " [" + record.unit + "]";
  if (!record.default_value.empty()) schema["default"] = default_json(record);
  return schema;
}

Json object_schema(std::span<const OptionRecord> records) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const OptionRecord& record : records) {
    properties[key_of(record.name)] = property_schema(record);
    if (record.is_required) required.push_back(key_of(record.name));
  }
  Json schema = {{"type", "object"}, {"additionalProperties", false}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

std::string field_value(const OptionRecord& record) {
  if (record.type == OptionType::kFlag) return "true\\|false";
  const std::string one = record.is_list ? "list" : escaped(placeholder(record));
  return record.fields.empty() || record.type == OptionType::kGroup ? one : one + " or fields";
}

std::string field_rows(std::span<const OptionRecord> records, const std::string& prefix) {
  std::string rows;
  for (const OptionRecord& record : records) {
    const std::string path = prefix + record.name;
    rows += fmt::format("| `{}` | {} | {}{} |\n", path, field_value(record), record.help, notes(record));
    rows += field_rows(record.fields, path + (record.is_list ? "[]." : "."));
  }
  return rows;
}

}  // namespace

std::string help_text(std::span<const OptionRecord> records, std::string_view name_prefix) {
  constexpr std::size_t kHelpColumn = 28;
  std::string text;
  for (const OptionRecord& record : records) {
    std::string head = "  " + head_of(record, name_prefix);
    if (head.size() + 1 > kHelpColumn) {
      text += head + "\n";
      head.clear();
    }
    text += fmt::format("{:<{}}{}{}\n", head, kHelpColumn, record.help, notes(record));
  }
  return text;
}

std::string json_schema(std::span<const OptionRecord> records, std::string_view title) {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  schema.update(object_schema(records));
  return schema.dump(2);
}

std::string markdown_reference(std::span<const OptionRecord> records, std::string_view name_prefix) {
  std::string text = "| option | value | meaning |\n|---|---|---|\n";
  for (const OptionRecord& record : records) {
    if (record.is_word) {
      text += fmt::format("| `{}` |  | {}{} |\n", words_text({&record, 1}), record.help, notes(record));
      continue;
    }
    const std::string letter = record.letter != 0 ? fmt::format("`-{}`, ", record.letter) : std::string();
    text += fmt::format("| {}`{}{}` | {} | {}{} |\n", letter, name_prefix, record.name, escaped(placeholder(record)),
                        record.help, notes(record));
  }
  return text;
}

std::string roff_text(std::string_view text) {
  std::string shown;
  bool starts_line = true;
  for (const char c : text) {
    if (starts_line && (c == '.' || c == '\'')) shown += "\\&";  // would be a request
    starts_line = c == '\n';
    if (c == '\\') {
      shown += "\\e";
    } else if (c == '-') {
      shown += "\\-";  // can be copied, and is not hyphenated
    } else {
      shown += c;
    }
  }
  return shown;
}

std::string roff_options(std::span<const OptionRecord> records) {
  std::string text;
  for (const OptionRecord& record : records) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}{}\n", roff_text(head_of(record, "--")), roff_text(record.help),
                        roff_text(notes(record)));
  }
  return text;
}

std::string markdown_fields(std::span<const OptionRecord> records) {
  return "| field | value | meaning |\n|---|---|---|\n" + field_rows(records, "");
}

}  // namespace orrery
