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

#include "base/field_names.h"
#include "base/result.h"
#include "base/units.h"

namespace orrery {

// A duration is a number with its unit: 10ms, 90s, 30m, 12h, 1.5d; so is a size: 64KiB, 256MiB, 1.5GiB. A group is
// written only in files, as fields of its own.
enum class OptionType { kFlag, kInteger, kNumber, kText, kChoice, kDuration, kSize, kGroup };

struct OptionRecord {
  std::string name;
  OptionType type = OptionType::kText;
  std::string default_value;  // empty: no default
  std::string help;
  std::string unit;
  std::optional<double> minimum;  // of a text or size: bytes; of a duration: seconds
  std::optional<double> maximum;
  std::vector<std::string> choices;
  bool is_list = false;       // comma-separated
  std::size_t items_max = 0;  // of a list; 0: any number
  bool is_required = false;
  bool is_word = false;              // written without its name on command lines, in the order of the records
  char letter = 0;                   // stands for the name on command lines: -n; 0: none
  std::vector<OptionRecord> fields;  // of a group; of another type: what may be written instead of one value

  OptionRecord bounds(double low, double high) &&;
  OptionRecord in(std::string unit_name) &&;
  OptionRecord list(std::size_t most = 0) &&;
  OptionRecord required() &&;
  OptionRecord word() &&;
  OptionRecord or_letter(char short_name) &&;
  OptionRecord or_fields(std::vector<OptionRecord> records) &&;
};

OptionRecord flag_option(std::string name, std::string help);
OptionRecord integer_option(std::string name, std::int64_t default_value, std::string help);
OptionRecord number_option(std::string name, double default_value, std::string help);
OptionRecord text_option(std::string name, std::string default_value, std::string help);
OptionRecord choice_option(std::string name, std::string default_value, std::vector<std::string> choices,
                           std::string help);
// Without a default: given(name) returns whether the user set it.
OptionRecord optional_integer(std::string name, std::string help);
OptionRecord optional_number(std::string name, std::string help);
OptionRecord optional_duration(std::string name, std::string help);
OptionRecord duration_option(std::string name, std::string default_value, std::string help);
OptionRecord size_option(std::string name, std::string default_value, std::string help);
OptionRecord group_option(std::string name, std::vector<OptionRecord> fields, std::string help);

// "1 to 8", "at least 1s", "at most 200 bytes"; empty without bounds.
std::string bounds_text(const OptionRecord& record);
// Checks one value against type, bounds and choices. The message does not name the option.
Status check_option(const OptionRecord& record, std::string_view text);

// The number of seconds in "10ms", "90s", "30m", "12h" or "1.5d"; no value for any other text.
std::optional<Seconds> parse_duration(std::string_view text);
// The same text for the same time, in the largest unit that gives a whole number: "12h".
std::string duration_text(Seconds time);

// The same for "64KiB", "256MiB" and "1.5GiB".
std::optional<Bytes> parse_size(std::string_view text);
std::string size_text(Bytes size);

// The values of a set of records. Getters of a name that is not in the records, or of another type, are programmer
// errors; everything that comes from users goes through set(), which checks type, bounds and choices.
class OptionValues {
 public:
  struct Value {
    std::vector<std::string> parts;
    bool given = false;
  };

  explicit OptionValues(std::span<const OptionRecord> records, FieldNames names = {});

  Status set(std::string_view name, std::string_view text);
  // The same with the values apart, taken as they are; several only for a list.
  Status set_values(std::string_view name, std::vector<std::string> values);
  // Fails if a required option has no value. Errors of these three name the option as the source spells it.
  Status check_required() const;

  bool given(std::string_view name) const;  // set by the user, not by default
  bool has(std::string_view name) const;    // has a value at all

  bool flag(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  Seconds duration(std::string_view name) const;
  Bytes size(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  // The value as text, whatever its type; empty if there is none.
  std::string display(std::string_view name) const;

  const std::vector<OptionRecord>& records() const { return records_; }
  // Null if there is no record of that name, or it has no value.
  const Value* find_value(std::string_view name) const;
  // How the source of these values spells their names.
  const FieldNames& names() const { return names_; }
  OptionValues with_names(FieldNames names) const;

 private:
  Result<const OptionRecord*> find(std::string_view name) const;
  const OptionRecord& record(std::string_view name) const;
  const Value& value(std::string_view name) const;

  std::vector<OptionRecord> records_;
  FieldNames names_;
  std::map<std::string, Value, std::less<>> values_;
};

// The words after the name of a command, against its records: --name VALUE, --name=VALUE, -n VALUE, --flag, and the
// records that are words themselves. An unknown option is named with its nearest match.
Result<OptionValues> read_words(std::span<const OptionRecord> records, std::span<const std::string> words);
// "MODEL…", "JOB [WORKERS]": how the records that are words are written.
std::string words_text(std::span<const OptionRecord> records);

// One line per option: name, value placeholder, help, unit, bounds, default.
std::string help_text(std::span<const OptionRecord> records, std::string_view name_prefix = "--");
// A JSON Schema (draft 2020-12) object with one property per option and no others allowed, in groups likewise.
std::string json_schema(std::span<const OptionRecord> records, std::string_view title);
// A Markdown table.
std::string markdown_reference(std::span<const OptionRecord> records, std::string_view name_prefix = "--");
// Text as troff prints it, for manual pages; and a tagged paragraph per option.
std::string roff_text(std::string_view text);
std::string roff_options(std::span<const OptionRecord> records);
// A Markdown table of the fields of a file, those of groups by their path: "resources.any_of[].device".
std::string markdown_fields(std::span<const OptionRecord> records);

}  // namespace orrery
