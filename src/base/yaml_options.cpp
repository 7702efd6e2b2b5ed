#include "base/yaml_options.h"

#include <fmt/format.h>

#include "base/json_tree.h"
#include "base/text.h"

namespace orrery {

namespace {

std::string_view expected_of(const OptionRecord& record) {
  switch (record.type) {
    case OptionType::kFlag:
      return "expected true or false";
    case OptionType::kInteger:
      return record.fields.empty() ? "expected a whole number" : "expected a whole number or fields (name: value)";
    case OptionType::kNumber:
      return "expected a number";
    case OptionType::kDuration:
      return "expected a time such as 90s, 30m, 12h or 7d";
    case OptionType::kSize:
      return "expected a size such as 64KiB, 256MiB or 2GiB";
    case OptionType::kGroup:
      return "expected fields (name: value)";
    case OptionType::kText:
    case OptionType::kChoice:
      return "expected text";
  }
  return "expected text";
}

Status check_scalar(const OptionRecord& record, const YamlValue& value) {
  if (value.kind != YamlValue::Kind::kScalar) return Error::invalid(std::string(expected_of(record)));
  if (!is_printable(value.scalar)) return Error::invalid("expected one line without tabs");
  return check_option(record, value.scalar);
}

// Every record is asked for first, so that an unknown field is compared with all of them.
Status check_names(YamlFields& fields, std::span<const OptionRecord> records) {
  for (const OptionRecord& record : records) fields.any(key_of(record.name));
  ORRERY_TRY_VOID(fields.check_unknown());
  for (const OptionRecord& record : records) {
    if (record.is_required && fields.any(key_of(record.name)) == nullptr) {
      return fields.error(key_of(record.name), fmt::format("missing; expected {}", record.help));
    }
  }
  return {};
}

}  // namespace

Result<YamlOptions> YamlOptions::read(const YamlValue& map, std::span<const OptionRecord> records,
                                      const std::string& file, const std::string& path) {
  ORRERY_TRY(YamlFields fields, YamlFields::of(map, file, path));
  ORRERY_TRY_VOID(check_names(fields, records));
  YamlOptions options(records);
  for (const OptionRecord& record : records) {
    const YamlValue* value = fields.any(key_of(record.name));
    if (value == nullptr) continue;
    ORRERY_TRY_VOID(options.read_field(record, *value, fields));
  }
  return options;
}

Status YamlOptions::read_field(const OptionRecord& record, const YamlValue& value, const YamlFields& fields) {
  if (record.is_list) return read_list(record, value, fields);
  const bool is_group = record.type == OptionType::kGroup;
  if (is_group || (!record.fields.empty() && value.kind == YamlValue::Kind::kMap)) {
    return read_group(record, value, fields.file(), fields.path(key_of(record.name)));
  }
  const Status status = check_scalar(record, value);
  if (!status) return fields.error(key_of(record.name), status.error().message());
  return values_.set_values(record.name, {value.scalar});
}

Status YamlOptions::read_list(const OptionRecord& record, const YamlValue& list, const YamlFields& fields) {
  if (list.kind != YamlValue::Kind::kList) return fields.error(key_of(record.name), "expected a list (- …)");
  if (list.items.empty()) return fields.error(key_of(record.name), "expected at least one item");
  if (record.items_max > 0 && list.items.size() > record.items_max) {
    return fields.error(key_of(record.name),
                        fmt::format("{} items; expected at most {}", list.items.size(), record.items_max));
  }
  const std::string path = fields.path(key_of(record.name));
  std::vector<std::string> scalars;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const YamlValue& item = list.items[i];
    const std::string item_path = fmt::format("{}[{}]", path, i);
    if (record.type == OptionType::kGroup) {
      ORRERY_TRY_VOID(read_group(record, item, fields.file(), item_path));
      continue;
    }
    const Status status = check_scalar(record, item);
    if (!status) {
      return fields.error_at(item, item_path, status.error().message());
    }
    scalars.push_back(item.scalar);
  }
  return scalars.empty() ? Status() : values_.set_values(record.name, std::move(scalars));
}

Status YamlOptions::read_group(const OptionRecord& record, const YamlValue& map, const std::string& file,
                               const std::string& path) {
  ORRERY_TRY(YamlOptions group, read(map, record.fields, file, path));
  groups_[record.name].push_back(std::move(group));
  return {};
}

const YamlOptions* YamlOptions::group(std::string_view name) const {
  const auto found = groups(name);
  return found.empty() ? nullptr : &found.front();
}

std::span<const YamlOptions> YamlOptions::groups(std::string_view name) const {
  const auto found = groups_.find(name);
  return found == groups_.end() ? std::span<const YamlOptions>() : std::span<const YamlOptions>(found->second);
}

Result<OptionValues> read_yaml(std::span<const OptionRecord> records, std::string_view text, const std::string& file) {
  ORRERY_TRY(const YamlValue root, parse_yaml(text, file));
  ORRERY_TRY(const YamlOptions options, YamlOptions::read(root, records, file));
  return options.values().with_names(FieldNames::of_yaml(YamlPlaces(root, file)));
}

Result<OptionValues> read_json(std::span<const OptionRecord> records, std::string_view text) {
  ORRERY_TRY(const YamlValue root, parse_json(text));
  ORRERY_TRY(const YamlOptions options, YamlOptions::read(root, records, ""));
  return options.values();
}

}  // namespace orrery
