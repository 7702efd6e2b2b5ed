#pragma once
// YAML as a tree of our own values, every one with its line. The library stays in yaml.cpp.
//
// Files come from people and may be hostile: size, depth and number of values are limited, aliases (and with them
// bombs) and tags are refused, keys are unique text. A file holds one document.
//
//   ORRERY_TRY(const YamlValue root, parse_yaml(text, "cluster.yaml"));
//   ORRERY_TRY(YamlFields fields, YamlFields::of(root, "cluster.yaml", ""));
//   ORRERY_TRY(const std::string name, fields.text("name"));
//   ORRERY_TRY_VOID(fields.check_unknown());

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace orrery {

inline constexpr Bytes kYamlBytesMax = mebibytes(4);
inline constexpr std::size_t kYamlDepthMax = 64;
inline constexpr std::size_t kYamlValuesMax = 1'000'000;

struct YamlEntry;

struct YamlValue {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  std::size_t line = 0;            // in the file, from 1
  std::string scalar;              // as written, quotes removed
  std::vector<YamlValue> items;    // of a list
  std::vector<YamlEntry> entries;  // of a map, in the order of the file
};

struct YamlEntry {
  std::string key;
  std::size_t line = 0;
  YamlValue value;
};

// Errors read `file:line: message`. An empty document is kNull.
Result<YamlValue> parse_yaml(std::string_view text, std::string_view file);

// Reads the fields of a map. Every error reads `file:line: path: message`, where the path leads to the field
// ("machines[2].device"). Getters remember what was asked for, so that check_unknown knows the unknown fields.
// The value must outlive the reader.
class YamlFields {
 public:
  // `path` is that of the map itself; empty for the whole document.
  static Result<YamlFields> of(const YamlValue& map, std::string file, std::string path);

  bool has(std::string_view key) const { return find(key) != nullptr; }

  // Optional fields: nullopt if the field is missing or null.
  Result<std::optional<std::string>> text(std::string_view key);
  Result<std::optional<double>> number(std::string_view key, double low, double high);
  Result<std::optional<int>> integer(std::string_view key, int low, int high);
  // Null if the field is missing or null.
  Result<const YamlValue*> list(std::string_view key);
  const YamlValue* any(std::string_view key);

  // Fails on a key that no getter asked for, with the nearest one that did.
  Status check_unknown() const;

  // An error at a field (at the map if it is not there).
  Error error(std::string_view key, std::string_view message) const;
  // An error at a value inside a field.
  Error error_at(const YamlValue& value, std::string_view path, std::string_view message) const;
  const std::string& file() const { return file_; }
  std::string path(std::string_view key) const;

 private:
  YamlFields(const YamlValue& map, std::string file, std::string path)
      : map_(&map), file_(std::move(file)), path_(std::move(path)) {}

  const YamlEntry* find(std::string_view key) const;
  // The field's scalar; null if missing or null.
  Result<const std::string*> scalar(std::string_view key, std::string_view expected);

  const YamlValue* map_;
  std::string file_;
  std::string path_;
  std::set<std::string, std::less<>> asked_;
};

// Where every field of a document is, by its path. It outlives the document, so that an error that only a later stage
// can find (no such device) is still reported at its line.
class YamlPlaces {
 public:
  YamlPlaces() = default;
  YamlPlaces(const YamlValue& root, std::string file);

  bool has(std::string_view path) const { return lines_.contains(path); }
  // `file:line: path: message`, at the line of the field, or of the nearest one around it that is there.
  Error error(std::string_view path, std::string_view message) const;
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  std::map<std::string, std::size_t, std::less<>> lines_;
};

}  // namespace orrery
