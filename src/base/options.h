#pragma once
// Options are records. One record says an option's name, type, unit, default, bounds and help; parsing, `--help`,
// JSON Schema and the reference pages are all made from it.
//
//   const std::vector<OptionRecord> kOptions = {
//       integer_option("batch", 32, "samples per step").bounds(1, 1 << 20),
//       choice_option("optimizer", "sgd", {"sgd", "adam"}, "update rule")};
//   OptionValues values(kOptions);
//   ORRERY_TRY_VOID(values.set("batch", "64"));
//   values.integer("batch");   // 64

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace orrery {

enum class OptionType { kFlag, kInteger, kNumber, kText, kChoice };

struct OptionRecord {
  std::string name;
  OptionType type = OptionType::kText;
  std::string default_value;  // empty: no default
  std::string help;
  std::string unit;
  std::optional<double> minimum;
  std::optional<double> maximum;
  std::vector<std::string> choices;
  bool is_list = false;  // comma-separated
  bool is_required = false;

  OptionRecord bounds(double low, double high) &&;
  OptionRecord in(std::string unit_name) &&;
  OptionRecord list() &&;
  OptionRecord required() &&;
};

OptionRecord flag_option(std::string name, std::string help);
OptionRecord integer_option(std::string name, std::int64_t default_value, std::string help);
OptionRecord number_option(std::string name, double default_value, std::string help);
OptionRecord text_option(std::string name, std::string default_value, std::string help);
OptionRecord choice_option(std::string name, std::string default_value, std::vector<std::string> choices,
                           std::string help);
// Without a default: given(name) tells whether the user set it.
OptionRecord optional_integer(std::string name, std::string help);
OptionRecord optional_number(std::string name, std::string help);

// The values of a set of records. Getters of a name that is not in the records, or of another type, are programmer
// errors; everything that comes from users goes through set(), which checks type, bounds and choices.
class OptionValues {
 public:
  explicit OptionValues(std::span<const OptionRecord> records);

  Status set(std::string_view name, std::string_view text);
  // Fails if a required option has no value.
  Status check_required() const;

  bool given(std::string_view name) const;  // set by the user, not by default
  bool has(std::string_view name) const;    // has a value at all

  bool flag(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  // The value as text, whatever its type; empty if there is none.
  std::string display(std::string_view name) const;

  const std::vector<OptionRecord>& records() const { return records_; }

 private:
  struct Value {
    std::vector<std::string> parts;
    bool given = false;
  };
  const OptionRecord& record(std::string_view name) const;
  const Value& value(std::string_view name) const;

  std::vector<OptionRecord> records_;
  std::map<std::string, Value, std::less<>> values_;
};

// One line per option: name, value placeholder, help, unit, bounds, default.
std::string help_text(std::span<const OptionRecord> records, std::string_view name_prefix = "--");
// A JSON Schema object with one property per option and no others allowed.
std::string json_schema(std::span<const OptionRecord> records, std::string_view title);
// A Markdown table.
std::string markdown_reference(std::span<const OptionRecord> records, std::string_view name_prefix = "--");

}  // namespace orrery
