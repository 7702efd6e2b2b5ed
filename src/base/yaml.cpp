#include "base/yaml.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <sstream>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "base/text.h"

namespace orrery {

namespace {

// Ends the library's parse from inside its callbacks; never leaves this file.
struct Refusal {
  std::size_t line;
  std::string message;
};

std::size_t line_of(const YAML::Mark& mark) {
  return mark.line < 0 ? 1 : static_cast<std::size_t>(mark.line) + 1;
}

// Builds the tree from the library's events, checking the limits before anything is kept.
class TreeBuilder : public YAML::EventHandler {
 public:
  YamlValue take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}  // NOLINT(readability-identifier-naming)
  void OnDocumentEnd() override {}                              // NOLINT(readability-identifier-naming)

  // NOLINTNEXTLINE(readability-identifier-naming)
  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    add({YamlValue::Kind::kNull, line_of(mark), {}, {}, {}});
  }

  // NOLINTNEXTLINE(readability-identifier-naming)
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    throw Refusal{line_of(mark), "aliases (*name) are not supported; write the value out"};
  }

  // NOLINTNEXTLINE(readability-identifier-naming)
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                const std::string& value) override {
    check_tag(mark, tag);
    if (!is_printable_lines(value)) throw Refusal{line_of(mark), "control characters, or not UTF-8"};
    const bool null = tag != "!" && (value.empty() || value == "~" || value == "null");
    add({null ? YamlValue::Kind::kNull : YamlValue::Kind::kScalar, line_of(mark), null ? "" : value, {}, {}});
  }

  // NOLINTNEXTLINE(readability-identifier-naming)
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, YamlValue::Kind::kList);
  }

  void OnSequenceEnd() override { close(); }  // NOLINT(readability-identifier-naming)

  // NOLINTNEXTLINE(readability-identifier-naming)
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, YamlValue::Kind::kMap);
  }

  void OnMapEnd() override { close(); }  // NOLINT(readability-identifier-naming)

 private:
  // A list or map whose end has not been read. Values are put into their parent when they are complete.
  struct Open {
    YamlValue value;
    std::optional<YamlEntry> entry;  // of a map: its key has been read, its value has not
    std::set<std::string> keys;
  };

  static void check_tag(const YAML::Mark& mark, const std::string& tag) {
    const bool plain = tag.empty() || tag == "?" || tag == "!";
    if (!plain) throw Refusal{line_of(mark), fmt::format("tags ({}) are not supported", quote(tag))};
  }

  static bool is_printable_lines(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
    return is_printable(text);
  }

  void open(const YAML::Mark& mark, const std::string& tag, YamlValue::Kind kind) {
    check_tag(mark, tag);
    if (open_.size() == kYamlDepthMax) {
      throw Refusal{line_of(mark), fmt::format("nested more than {} deep", kYamlDepthMax)};
    }
    if (awaits_key()) throw Refusal{line_of(mark), "a key must be text"};
    open_.push_back({{kind, line_of(mark), {}, {}, {}}, {}, {}});
  }

  void close() {
    YamlValue value = std::move(open_.back().value);
    open_.pop_back();
    add(std::move(value));
  }

  bool awaits_key() const {
    return !open_.empty() && open_.back().value.kind == YamlValue::Kind::kMap && !open_.back().entry;
  }

  void add(YamlValue value) {
    if (++count_ > kYamlValuesMax) {
      throw Refusal{value.line, fmt::format("more than {} values", format_whole(kYamlValuesMax))};
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& parent = open_.back();
    if (parent.value.kind == YamlValue::Kind::kList) {
      parent.value.items.push_back(std::move(value));
    } else if (!parent.entry) {
      start_entry(parent, std::move(value));
    } else {
      parent.entry->value = std::move(value);
      parent.value.entries.push_back(std::move(*parent.entry));
      parent.entry.reset();
    }
  }

  static void start_entry(Open& parent, YamlValue key) {
    if (key.kind != YamlValue::Kind::kScalar) throw Refusal{key.line, "a key must be text"};
    if (!parent.keys.insert(key.scalar).second) {
      throw Refusal{key.line, fmt::format("{} is there twice", quote(key.scalar))};
    }
    parent.entry = YamlEntry{std::move(key.scalar), key.line, {}};
  }

  YamlValue root_;
  std::vector<Open> open_;
  std::size_t count_ = 0;
};

// Without a file, the document is the body of a request, whose lines its author does not see.
Error at(std::string_view file, std::size_t line, std::string_view message) {
  if (file.empty()) return Error::invalid(std::string(message));
  return Error::invalid(fmt::format("{}:{}: {}", file, line, message));
}

}  // namespace

Result<YamlValue> parse_yaml(std::string_view text, std::string_view file) {
  if (static_cast<double>(text.size()) > kYamlBytesMax.value()) {
    return Error::invalid(fmt::format("{}: larger than {}", file, format_bytes(kYamlBytesMax)));
  }
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder;
    if (!parser.HandleNextDocument(builder)) return YamlValue{YamlValue::Kind::kNull, 1, {}, {}, {}};
    YamlValue root = builder.take();
    TreeBuilder second;
    if (parser.HandleNextDocument(second)) return at(file, second.take().line, "a second document; expected one");
    return root;
  } catch (const Refusal& refusal) {
    return at(file, refusal.line, refusal.message);
  } catch (const YAML::Exception& failure) {
    std::string message = quote(failure.msg, 200);
    return at(file, line_of(failure.mark), fmt::format("not YAML: {}", message.substr(1, message.size() - 2)));
  } catch (const std::exception& failure) {
    return Error::invalid(fmt::format("{}: not YAML: {}", file, failure.what()));
  }
}

Result<YamlFields> YamlFields::of(const YamlValue& map, std::string file, std::string path) {
  if (map.kind != YamlValue::Kind::kMap) {
    return at(file, std::max<std::size_t>(map.line, 1),
              fmt::format("{}expected fields (name: value)", path.empty() ? "" : path + ": "));
  }
  return YamlFields(map, std::move(file), std::move(path));
}

const YamlEntry* YamlFields::find(std::string_view key) const {
  for (const YamlEntry& entry : map_->entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

std::string YamlFields::path(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

Error YamlFields::error(std::string_view key, std::string_view message) const {
  const YamlEntry* entry = find(key);
  return at(file_, entry == nullptr ? map_->line : entry->line, fmt::format("{}: {}", path(key), message));
}

Error YamlFields::error_at(const YamlValue& value, std::string_view path, std::string_view message) const {
  return at(file_, value.line, fmt::format("{}: {}", path, message));
}

Result<const std::string*> YamlFields::scalar(std::string_view key, std::string_view expected) {
  const YamlValue* value = any(key);
  if (value == nullptr) return nullptr;
  if (value->kind != YamlValue::Kind::kScalar) return error(key, fmt::format("expected {}", expected));
  return &value->scalar;
}

Result<std::optional<std::string>> YamlFields::text(std::string_view key) {
  ORRERY_TRY(const std::string* found, scalar(key, "text"));
  if (found == nullptr) return std::optional<std::string>();
  return std::optional<std::string>(*found);
}

Result<std::optional<double>> YamlFields::number(std::string_view key, double low, double high) {
  ORRERY_TRY(const std::string* found, scalar(key, "a number"));
  if (found == nullptr) return std::optional<double>();
  const auto number = parse_number(*found);
  if (!number) return error(key, fmt::format("expected a number, not {}", quote(*found)));
  if (*number < low || *number > high) {
    return error(key, fmt::format("{} is out of range; expected {} to {}", *number, low, high));
  }
  return number;
}

Result<std::optional<int>> YamlFields::integer(std::string_view key, int low, int high) {
  ORRERY_TRY(const std::optional<double> number, this->number(key, low, high));
  if (!number) return std::optional<int>();
  if (*number != std::floor(*number)) return error(key, fmt::format("expected a whole number, not {}", *number));
  return std::optional<int>(static_cast<int>(*number));
}

Result<const YamlValue*> YamlFields::list(std::string_view key) {
  const YamlValue* value = any(key);
  if (value != nullptr && value->kind != YamlValue::Kind::kList) return error(key, "expected a list (- …)");
  return value;
}

const YamlValue* YamlFields::any(std::string_view key) {
  asked_.emplace(key);
  const YamlEntry* entry = find(key);
  return entry == nullptr || entry->value.kind == YamlValue::Kind::kNull ? nullptr : &entry->value;
}

Status YamlFields::check_unknown() const {
  for (const YamlEntry& entry : map_->entries) {
    if (asked_.contains(entry.key)) continue;
    const std::vector<std::string> known(asked_.begin(), asked_.end());
    const std::string shown = quote(entry.key);
    const std::string hint = entry.key.size() > 100 ? "" : did_you_mean(entry.key, known);
    return at(file_, entry.line,
              fmt::format("{}: unknown field{}", path(std::string_view(shown).substr(1, shown.size() - 2)),
                          hint.empty() ? fmt::format("; expected {}", fmt::join(known, ", ")) : hint));
  }
  return {};
}

namespace {

using Lines = std::map<std::string, std::size_t, std::less<>>;

void collect_lines(const YamlValue& value, const std::string& path, Lines& lines) {
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const std::string item = fmt::format("{}[{}]", path, i);
    lines.emplace(item, value.items[i].line);
    collect_lines(value.items[i], item, lines);
  }
  for (const YamlEntry& entry : value.entries) {
    const std::string field = path.empty() ? entry.key : fmt::format("{}.{}", path, entry.key);
    lines.emplace(field, entry.line);
    collect_lines(entry.value, field, lines);
  }
}

// The path of the list or map that holds the field; empty for the document.
std::string_view parent(std::string_view path) {
  const std::size_t end = path.find_last_of(".[");
  return end == std::string_view::npos ? std::string_view() : path.substr(0, end);
}

}  // namespace

YamlPlaces::YamlPlaces(const YamlValue& root, std::string file) : file_(std::move(file)) {
  lines_.emplace("", std::max<std::size_t>(root.line, 1));
  collect_lines(root, "", lines_);
}

Error YamlPlaces::error(std::string_view path, std::string_view message) const {
  std::string_view place = path;
  while (!place.empty() && !lines_.contains(place)) place = parent(place);
  const auto line = lines_.find(place);
  return at(file_, line == lines_.end() ? 1 : line->second, fmt::format("{}: {}", path, message));
}

}  // namespace orrery
