#include "workload/import/graph_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/text.h"
#include "workload/import/attribute_fields.h"
#include "workload/traits.h"

namespace orrery::workload {

namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view kFormatName = "orrery-graph";
constexpr std::array kDataTypes = {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16,
                                   DataType::kInt64,   DataType::kInt32,   DataType::kBool};

// --- writing ---

struct Writer {
  OrderedJson& object;

  void operator()(std::string_view name, const SizePair& pair) {
    object[std::string(name)] = {pair.height, pair.width};
  }
  void operator()(std::string_view name, const Shape& shape) {
    object[std::string(name)] = std::vector<std::int64_t>(shape.dims().begin(), shape.dims().end());
  }
  void operator()(std::string_view name, DataType dtype) { object[std::string(name)] = to_string(dtype); }
  template <class T>
  void operator()(std::string_view name, const T& value) {
    object[std::string(name)] = value;
  }
};

std::string reference(const TrainingGraph& graph, Value value) {
  const std::string& name = graph[value.op].name;
  return value.output == 0 ? name : fmt::format("{}:{}", name, value.output);
}

// --- reading ---

// Takes fields out of an object; the first mistake is kept, and fields that remain are unknown.
class Reader {
 public:
  explicit Reader(const Json& object) : object_(object) {}

  void operator()(std::string_view name, const SizePair& pair) {
    std::vector<std::int64_t> numbers;
    (*this)(name, numbers);
    if (!has(name) || error_) return;
    if (numbers.size() != 2) return fail(name, "two numbers: height and width");
    pair.height = numbers[0];
    pair.width = numbers[1];
  }
  void operator()(std::string_view name, Shape& shape) {
    std::vector<std::int64_t> dims;
    (*this)(name, dims);
    if (error_) return;
    auto made = Shape::make(dims);
    if (!made) {
      error_ = std::move(made).error().with_context(std::string(name));
      return;
    }
    shape = *made;
  }
  void operator()(std::string_view name, DataType& dtype) {
    std::string text;
    (*this)(name, text);
    if (!has(name) || error_) return;
    for (const DataType candidate : kDataTypes) {
      if (to_string(candidate) == text) {
        dtype = candidate;
        return;
      }
    }
    fail(name, "a data type such as float32 or int64");
  }
  void operator()(std::string_view name, bool& value) {
    if (const Json* field = take(name)) {
      if (!field->is_boolean()) return fail(name, "true or false");
      value = field->get<bool>();
    }
  }
  void operator()(std::string_view name, std::string& value) {
    if (const Json* field = take(name)) {
      if (!field->is_string()) return fail(name, "text");
      value = field->get<std::string>();
    }
  }
  void operator()(std::string_view name, double& value) {
    if (const Json* field = take(name)) {
      if (!field->is_number()) return fail(name, "a number");
      value = field->get<double>();
    }
  }
  void operator()(std::string_view name, std::int64_t& value) {
    if (const Json* field = take(name)) read_integer(name, *field, value);
  }
  void operator()(std::string_view name, int& value) {
    std::int64_t wide = value;
    (*this)(name, wide);
    value = static_cast<int>(
        std::clamp<std::int64_t>(wide, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
  }
  template <class T>
  void operator()(std::string_view name, std::vector<T>& values) {
    if (const Json* field = take(name)) read_list(name, *field, values);
  }

  bool has(std::string_view name) const { return object_.contains(name); }

  // The field, marked as known; nullptr if it is absent or an earlier field was wrong.
  const Json* take(std::string_view name) {
    known_.emplace_back(name);
    if (error_) return nullptr;
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }

  void fail(std::string_view name, std::string_view expected) {
    if (!error_) error_ = Error::invalid(fmt::format("{}: expected {}", name, expected));
  }

  Status finish() {
    if (error_) return std::move(*error_);
    for (const auto& [key, value] : object_.items()) {
      if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
      return Error::invalid(fmt::format("unknown field \"{}\"{}", key, did_you_mean(key, known_)));
    }
    return {};
  }

 private:
  void read_integer(std::string_view name, const Json& field, std::int64_t& value) {
    if (!field.is_number_integer() || (field.is_number_unsigned() && field.get<std::uint64_t>() > kLargest)) {
      return fail(name, "a whole number below 2^63");
    }
    value = field.get<std::int64_t>();
  }
  void read_list(std::string_view name, const Json& field, std::vector<std::int64_t>& values) {
    if (!field.is_array()) return fail(name, "a list of numbers");
    values.clear();
    for (const Json& item : field) {
      std::int64_t value = 0;
      read_integer(name, item, value);
      values.push_back(value);
    }
  }
  void read_list(std::string_view name, const Json& field, std::vector<int>& values) {
    std::vector<std::int64_t> wide;
    read_list(name, field, wide);
    values.clear();
    for (const std::int64_t value : wide)
      values.push_back(static_cast<int>(std::clamp<std::int64_t>(value, -kMaxRank * 2, kMaxRank * 2)));
  }
  void read_list(std::string_view name, const Json& field, std::vector<std::vector<std::int64_t>>& values) {
    if (!field.is_array()) return fail(name, "a list of shapes");
    values.clear();
    for (const Json& item : field) read_list(name, item, values.emplace_back());
  }

  static constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
  const Json& object_;
  std::vector<std::string> known_;
  std::optional<Error> error_;
};

using OperatorByName = std::unordered_map<std::string, OperatorIndex>;

// "name" or "name:output".
Result<Value> parse_reference(const std::string& text, const OperatorByName& operators) {
  if (const auto whole = operators.find(text); whole != operators.end()) return Value{whole->second, 0};
  const std::size_t colon = text.rfind(':');
  if (colon != std::string::npos && colon + 1 < text.size() && text.size() - colon < 6) {
    const auto found = operators.find(text.substr(0, colon));
    const bool is_number = text.find_first_not_of("0123456789", colon + 1) == std::string::npos;
    if (found != operators.end() && is_number) return Value{found->second, std::stoi(text.substr(colon + 1))};
  }
  return Error::invalid(fmt::format("inputs: \"{}\" is not an earlier operator", text));
}

Status read_inputs(Reader& reader, const OperatorByName& operators, Operator& op) {
  const Json* inputs = reader.take("inputs");
  if (inputs == nullptr) return {};
  if (!inputs->is_array()) return Error::invalid("inputs: expected a list of operator names");
  for (const Json& input : *inputs) {
    if (!input.is_string()) return Error::invalid("inputs: expected a list of operator names");
    ORRERY_TRY(const Value value, parse_reference(input.get<std::string>(), operators));
    op.inputs.push_back(value);
  }
  return {};
}

Status read_operator(const Json& object, const OperatorByName& operators, Operator& op) {
  if (!object.is_object()) return Error::invalid("expected an object");
  Reader reader(object);
  reader("name", op.name);
  std::string kind;
  reader("kind", kind);
  if (op.name.empty()) return Error::invalid("name: is missing");
  ORRERY_TRY(op.kind, parse_operator_kind(kind));
  ORRERY_TRY_VOID(read_inputs(reader, operators, op));
  reader("in_place", op.in_place);
  reader("frozen", op.frozen);
  std::string tied_to;
  reader("tied_to", tied_to);
  if (!tied_to.empty()) {
    const auto owner = operators.find(tied_to);
    if (owner == operators.end())
      return Error::invalid(fmt::format("tied_to: \"{}\" is not an earlier operator", tied_to));
    op.tied_to = owner->second;
  }
  op.attributes = default_attributes(op.kind);
  visit_fields(op.attributes, reader);
  return reader.finish();
}

// Nesting outside of strings, so that no parser has to recurse into a bomb.
int nesting(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if (c == ']' || c == '}') --depth;
  }
  return deepest;
}

Result<Json> parse_json(std::string_view text) {
  if (nesting(text) > kGraphJsonDepthMax) {
    return Error::invalid(fmt::format("nested more than {} deep", kGraphJsonDepthMax));
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return Error::invalid(fmt::format("not JSON at byte {}", error.byte));
  } catch (const Json::out_of_range&) {
    return Error::invalid("a number is too large");
  }
}

}  // namespace

Result<TrainingGraph> parse_graph_json(std::string_view text) {
  ORRERY_TRY(const Json json, parse_json(text));
  if (!json.is_object()) return Error::invalid("expected an object with format, version, name and operators");
  Reader reader(json);
  std::string format, name;
  std::int64_t version = 0;
  reader("format", format);
  reader("version", version);
  reader("name", name);
  const Json* list = reader.take("operators");
  ORRERY_TRY_VOID(reader.finish());
  if (format != kFormatName)
    return Error::invalid(fmt::format("format: expected \"{}\", got \"{}\"", kFormatName, format));
  if (version != kGraphJsonVersion) {
    return Error::unsupported(
        fmt::format("version: this program reads version {}, not {}", kGraphJsonVersion, version));
  }
  if (list == nullptr || !list->is_array()) return Error::invalid("operators: expected a list");
  Operators operators;
  operators.reserve(list->size());
  OperatorByName by_name;
  for (const Json& object : *list) {
    Operator op;
    if (Status status = read_operator(object, by_name, op); !status) {
      return std::move(status).error().with_context(op.name.empty() ? fmt::format("operator {}", operators.size())
                                                                    : fmt::format("operator {}", op.name));
    }
    by_name.emplace(op.name, OperatorIndex(operators.size()));
    operators.push_back(std::move(op));
  }
  return TrainingGraph::make(std::move(name), std::move(operators));
}

std::string to_graph_json(const TrainingGraph& graph) {
  OrderedJson operators = OrderedJson::array();
  for (const Operator& op : graph.operators()) {
    OrderedJson object = {{"name", op.name}, {"kind", to_string(op.kind)}};
    if (!op.inputs.empty()) {
      OrderedJson inputs = OrderedJson::array();
      for (const Value& input : op.inputs) inputs.push_back(reference(graph, input));
      object["inputs"] = std::move(inputs);
    }
    if (op.in_place) object["in_place"] = true;
    if (op.frozen) object["frozen"] = true;
    if (op.tied_to.valid()) object["tied_to"] = graph[op.tied_to].name;
    Attributes attributes = op.attributes;
    Writer writer{object};
    visit_fields(attributes, writer);
    operators.push_back(std::move(object));
  }
  const OrderedJson json = {{"format", kFormatName},
                            {"version", kGraphJsonVersion},
                            {"name", graph.name()},
                            {"operators", std::move(operators)}};
  return json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

namespace {

struct SchemaWriter {
  OrderedJson& properties;

  void put(std::string_view name, OrderedJson schema) { properties[std::string(name)] = std::move(schema); }
  static OrderedJson integers() { return {{"type", "array"}, {"items", {{"type", "integer"}}}}; }

  void operator()(std::string_view name, const SizePair&) {
    OrderedJson pair = integers();
    pair["minItems"] = pair["maxItems"] = 2;
    put(name, std::move(pair));
  }
  void operator()(std::string_view name, const Shape&) { put(name, integers()); }
  void operator()(std::string_view name, DataType) {
    OrderedJson names = OrderedJson::array();
    for (const DataType type : kDataTypes) names.push_back(to_string(type));
    put(name, {{"enum", std::move(names)}});
  }
  void operator()(std::string_view name, bool) { put(name, {{"type", "boolean"}}); }
  void operator()(std::string_view name, double) { put(name, {{"type", "number"}}); }
  void operator()(std::string_view name, int) { put(name, {{"type", "integer"}}); }
  void operator()(std::string_view name, std::int64_t) { put(name, {{"type", "integer"}}); }
  void operator()(std::string_view name, const std::string&) { put(name, {{"type", "string"}}); }
  void operator()(std::string_view name, const std::vector<std::int64_t>&) { put(name, integers()); }
  void operator()(std::string_view name, const std::vector<int>&) { put(name, integers()); }
  void operator()(std::string_view name, const std::vector<std::vector<std::int64_t>>&) {
    put(name, {{"type", "array"}, {"items", integers()}});
  }
};

}  // namespace

std::string graph_json_schema() {
  OrderedJson kinds = OrderedJson::array();
  for (int i = 0; i <= static_cast<int>(OperatorKind::kBinaryCrossEntropy); ++i) {
    const auto kind = static_cast<OperatorKind>(i);
    OrderedJson properties = {{"name", {{"type", "string"}}},
                              {"kind", {{"const", to_string(kind)}}},
                              {"inputs", {{"type", "array"}, {"items", {{"type", "string"}}}}},
                              {"in_place", {{"type", "boolean"}}},
                              {"frozen", {{"type", "boolean"}}},
                              {"tied_to", {{"type", "string"}}}};
    Attributes attributes = default_attributes(kind);
    SchemaWriter writer{properties};
    visit_fields(attributes, writer);
    kinds.push_back({{"type", "object"},
                     {"required", {"name", "kind"}},
                     {"additionalProperties", false},
                     {"properties", std::move(properties)}});
  }
  const OrderedJson schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                              {"title", "training graph"},
                              {"type", "object"},
                              {"required", {"format", "version", "operators"}},
                              {"additionalProperties", false},
                              {"properties",
                               {{"format", {{"const", kFormatName}}},
                                {"version", {{"const", kGraphJsonVersion}}},
                                {"name", {{"type", "string"}}},
                                {"operators", {{"type", "array"}, {"items", {{"oneOf", std::move(kinds)}}}}}}}};
  return schema.dump(1) + "\n";
}

}  // namespace orrery::workload
