#include "base/json_tree.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"

namespace orrery {

namespace {

using nlohmann::json;

// Builds the tree as the parser finds values. The open lists and maps are a stack, so that no input makes us recurse.
class TreeBuilder final : public nlohmann::json_sax<json> {
 public:
  bool null() override { return add({}); }
  bool boolean(bool value) override { return add(scalar(value ? "true" : "false")); }
  bool number_integer(number_integer_t value) override { return add(scalar(std::to_string(value))); }
  bool number_unsigned(number_unsigned_t value) override { return add(scalar(std::to_string(value))); }
  bool number_float(number_float_t, const string_t& text) override { return add(scalar(text)); }
  bool string(string_t& value) override { return add(scalar(std::move(value))); }
  bool binary(binary_t&) override { return fail("binary values are not JSON"); }

  bool start_object(std::size_t) override { return open(YamlValue::Kind::kMap); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(YamlValue::Kind::kList); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (!names_.back().insert(name).second) return fail(fmt::format("{} stands there twice", quote(name)));
    keys_.push_back(std::move(name));
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return fail(fmt::format("no JSON from byte {} on", position));
  }

  YamlValue& root() { return root_; }
  const std::string& problem() const { return problem_; }

 private:
  static YamlValue scalar(std::string text) {
    YamlValue value;
    value.kind = YamlValue::Kind::kScalar;
    value.scalar = std::move(text);
    return value;
  }

  bool fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
    return false;
  }

  bool open(YamlValue::Kind kind) {
    if (open_.size() >= kYamlDepthMax) return fail(fmt::format("more than {} levels deep", kYamlDepthMax));
    YamlValue value;
    value.kind = kind;
    open_.push_back(std::move(value));
    names_.emplace_back();
    return true;
  }

  bool close() {
    YamlValue done = std::move(open_.back());
    open_.pop_back();
    names_.pop_back();
    return add(std::move(done));
  }

  bool add(YamlValue value) {
    if (++values_ > kYamlValuesMax) return fail(fmt::format("more than {} values", kYamlValuesMax));
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().kind == YamlValue::Kind::kList) {
      open_.back().items.push_back(std::move(value));
    } else {
      open_.back().entries.push_back({std::move(keys_.back()), 0, std::move(value)});
      keys_.pop_back();
    }
    return true;
  }

  YamlValue root_;
  std::vector<YamlValue> open_;
  std::vector<std::set<std::string>> names_;  // keys of each open map
  std::vector<std::string> keys_;             // of the open maps whose value is not complete yet
  std::size_t values_ = 0;
  std::string problem_;
};

}  // namespace

Result<YamlValue> parse_json(std::string_view text) {
  if (static_cast<double>(text.size()) > kYamlBytesMax.value()) {
    return Error::invalid(fmt::format("more than {}", format_bytes(kYamlBytesMax)));
  }
  TreeBuilder builder;
  if (!json::sax_parse(text, &builder)) return Error::invalid(builder.problem());
  return std::move(builder.root());
}

}  // namespace orrery
