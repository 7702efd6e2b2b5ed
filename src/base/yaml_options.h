#pragma once
// A YAML file read against option records: the same records that check it describe it in JSON Schema and in documents.
//
//   ORRERY_TRY(const YamlOptions options, YamlOptions::read(root, records, "job.yaml"));
//   options.values().integer("priority");
//   if (const YamlOptions* train = options.group("train")) train->values().integer("batch");

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/yaml.h"

namespace orrery {

class YamlOptions {
 public:
  // Checks everything that the records state, in groups too: unknown and missing fields, types, bounds, choices,
  // lengths of lists, and that text is one line. Errors read `file:line: path: message`.
  static Result<YamlOptions> read(const YamlValue& map, std::span<const OptionRecord> records, const std::string& file,
                                  const std::string& path = "");

  // The fields that are not groups.
  const OptionValues& values() const { return values_; }
  // Null if the field is not there, or is one value where that is allowed instead.
  const YamlOptions* group(std::string_view name) const;
  // Of a list of groups; empty if it is not there.
  std::span<const YamlOptions> groups(std::string_view name) const;

 private:
  explicit YamlOptions(std::span<const OptionRecord> records) : values_(records) {}

  Status read_field(const OptionRecord& record, const YamlValue& value, const YamlFields& fields);
  Status read_list(const OptionRecord& record, const YamlValue& list, const YamlFields& fields);
  Status read_group(const OptionRecord& record, const YamlValue& map, const std::string& file, const std::string& path);

  OptionValues values_;
  std::map<std::string, std::vector<YamlOptions>, std::less<>> groups_;
};

// The fields of a whole document that has no groups.
Result<OptionValues> read_yaml(std::span<const OptionRecord> records, std::string_view text, const std::string& file);
Result<OptionValues> read_json(std::span<const OptionRecord> records, std::string_view text);

}  // namespace orrery
