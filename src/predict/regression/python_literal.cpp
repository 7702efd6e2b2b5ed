#include "predict/regression/python_literal.h"

#include <charconv>
#include <fmt/format.h>

#include "base/text.h"

namespace orrery::predict {

namespace {

using Json = nlohmann::json;

constexpr int kDepthMax = 20;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Json> parse() {
    ORRERY_TRY(Json value, value_at(0));
    skip_blanks();
    if (at_ != text_.size()) return wrong("the end");
    return value;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool take(char wanted) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  Error wrong(std::string_view expected) const {
    return Error::invalid(fmt::format("expected {} at character {} of {}", expected, at_ + 1, quote(text_)));
  }

  Result<Json> value_at(int depth) {
    if (depth > kDepthMax) return Error::invalid("nested too deeply");
    skip_blanks();
    if (at_ >= text_.size()) return wrong("a value");
    const char first = text_[at_];
    if (first == '[' || first == '(') return list(first == '[' ? ']' : ')', depth);
    if (first == '{') return dictionary(depth);
    if (first == '\'' || first == '"') return quoted();
    return word();
  }

  Result<Json> list(char end, int depth) {
    ++at_;
    Json values = Json::array();
    while (!take(end)) {
      if (!values.empty() && !take(',')) return wrong("a comma");
      if (take(end)) break;  // a comma behind the last value
      ORRERY_TRY(Json value, value_at(depth + 1));
      values.push_back(std::move(value));
    }
    return values;
  }

  Result<Json> dictionary(int depth) {
    ++at_;
    Json values = Json::object();
    while (!take('}')) {
      if (!values.empty() && !take(',')) return wrong("a comma");
      if (take('}')) break;
      ORRERY_TRY(const Json key, value_at(depth + 1));
      if (!key.is_string()) return wrong("a quoted key");
      if (!take(':')) return wrong("a colon");
      ORRERY_TRY(values[key.get<std::string>()], value_at(depth + 1));
    }
    return values;
  }

  Result<Json> quoted() {
    const char mark = text_[at_++];
    std::string value;
    while (at_ < text_.size() && text_[at_] != mark) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      value += text_[at_++];
    }
    if (at_ >= text_.size()) return wrong("the closing quote");
    ++at_;
    return Json(std::move(value));
  }

  Result<Json> word() {
    const std::size_t end = std::min(text_.size(), text_.find_first_of(",]}): \t\r\n", at_));
    const std::string_view word = text_.substr(at_, end - at_);
    Json value;
    if (word == "True" || word == "False") {
      value = word == "True";
    } else if (word != "None") {
      double number = 0;
      const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), number);
      if (error != std::errc() || rest != word.data() + word.size()) return wrong("a value");
      value = number;
    }
    at_ = end;
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<nlohmann::json> parse_python_literal(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace orrery::predict
