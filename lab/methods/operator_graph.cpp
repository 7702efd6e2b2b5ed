#include "lab/methods/operator_graph.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>

#include "base/csv.h"
#include "base/text.h"

namespace orrery::lab {

namespace {

constexpr int kDepthMax = 8;
constexpr double kNumberMax = 1e15;

struct Value {
  std::string text;
  double number = 0;
  std::vector<Value> items;
  enum class Kind { kText, kNumber, kList } kind = Kind::kList;
};

class LiteralParser {
 public:
  explicit LiteralParser(std::string_view text) : text_(text) {}

  Result<Value> parse() {
    ORRERY_TRY(Value value, value_at(0));
    skip_spaces();
    if (at_ != text_.size()) return wrong("the end");
    return value;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  Error wrong(std::string_view expected) const {
    return Error::invalid(fmt::format("{} at character {}: expected {}", quote(text_), at_, expected));
  }

  Result<Value> value_at(int depth) {
    skip_spaces();
    if (at_ == text_.size() || depth > kDepthMax) return wrong("a list, a number or a name");
    const char first = text_[at_];
    if (first == '[') return list(']', depth);
    if (first == '(') return list(')', depth);
    if (first == '\'') return name();
    return number();
  }

  Result<Value> list(char end, int depth) {
    Value value;
    ++at_;
    while (true) {
      skip_spaces();
      if (at_ == text_.size()) return wrong("the end of a list");
      if (text_[at_] == end) break;
      ORRERY_TRY(Value item, value_at(depth + 1));
      value.items.push_back(std::move(item));
      skip_spaces();
      if (at_ < text_.size() && text_[at_] == ',') ++at_;
    }
    ++at_;
    return value;
  }

  Result<Value> name() {
    const std::size_t close = text_.find('\'', at_ + 1);
    if (close == std::string_view::npos) return wrong("a closing quote");
    Value value{.text = std::string(text_.substr(at_ + 1, close - at_ - 1)), .items = {}, .kind = Value::Kind::kText};
    at_ = close + 1;
    return value;
  }

  Result<Value> number() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '.'))
      ++at_;
    const auto number = parse_number(text_.substr(start, at_ - start));
    if (!number || *number > kNumberMax) {
      at_ = start;
      return wrong("a number");
    }
    return Value{.text = {}, .number = *number, .items = {}, .kind = Value::Kind::kNumber};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// A flat list is one shape; a list of lists is several.
Result<std::vector<std::vector<double>>> shapes_of(const Value& value) {
  std::vector<std::vector<double>> shapes;
  std::vector<double> flat;
  for (const Value& item : value.items) {
    if (item.kind == Value::Kind::kNumber) {
      flat.push_back(item.number);
      continue;
    }
    if (item.kind != Value::Kind::kList) return Error::invalid("expected sizes, got a name");
    std::vector<double> shape;
    for (const Value& size : item.items) {
      if (size.kind != Value::Kind::kNumber) return Error::invalid("expected a size");
      shape.push_back(size.number);
    }
    shapes.push_back(std::move(shape));
  }
  if (!flat.empty()) shapes.insert(shapes.begin(), std::move(flat));
  return shapes;
}

bool names_layer(std::string_view name, int layer) {
  for (const std::string_view prefix : {"_h_", "layer_", "layers_"}) {
    if (name.find(fmt::format("{}{}_", prefix, layer)) != std::string_view::npos) return true;
  }
  return false;
}

bool continues_layer(std::string_view name) {
  for (const std::string_view prefix : {"add", "view", "dropout"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

struct LayerSpan {
  std::size_t begin = 0, end = 0;  // rows that repeat
};

LayerSpan find_layer(const CsvTable& table, std::size_t name) {
  LayerSpan span;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const std::string& row = table.rows[i].fields[name];
    if (names_layer(row, 1)) return {};
    if (!names_layer(row, 0)) continue;
    if (span.end == 0) span.begin = i;
    span.end = i + 1;
  }
  while (span.end > 0 && span.end < table.rows.size() && continues_layer(table.rows[span.end].fields[name])) ++span.end;
  return span;
}

bool is_moved(const GraphOperator& op) {
  return op.name == "MEM" || op.name.starts_with("VEC");
}

// One kernel for several operators reads its inputs and writes its output once.
Status fuse(const CsvTable& table, const CsvRow& row, std::vector<GraphOperator>& ops) {
  if (std::none_of(ops.begin(), ops.end(), is_moved)) return {};
  std::erase_if(ops, is_moved);
  ORRERY_TRY(const std::size_t inputs, table.column("InputShapes"));
  ORRERY_TRY(const std::size_t output, table.column("OutputShape"));
  GraphOperator moved{.name = "MEM", .shapes = {}};
  ORRERY_TRY(moved.shapes, parse_shapes(row.fields[inputs]));
  ORRERY_TRY(const auto written, parse_shapes(row.fields[output]));
  moved.shapes.insert(moved.shapes.end(), written.begin(), written.end());
  ops.push_back(std::move(moved));
  return {};
}

}  // namespace

Result<std::vector<std::vector<double>>> parse_shapes(std::string_view text) {
  ORRERY_TRY(const Value value, LiteralParser(text).parse());
  return shapes_of(value);
}

Result<std::vector<GraphOperator>> parse_operator_list(std::string_view text, GraphPhase phase) {
  ORRERY_TRY(const Value value, LiteralParser(text).parse());
  std::vector<GraphOperator> ops;
  for (const Value& item : value.items) {
    const bool is_pair = item.items.size() == 2 && item.items[0].kind == Value::Kind::kText;
    if (!is_pair) return Error::invalid(fmt::format("{}: expected pairs of name and sizes", quote(text)));
    GraphOperator op{.name = item.items[0].text, .shapes = {}, .phase = phase};
    ORRERY_TRY(op.shapes, shapes_of(item.items[1]));
    ops.push_back(std::move(op));
  }
  return ops;
}

Result<std::vector<GraphOperator>> parse_operator_graph(std::string_view csv, double layers) {
  ORRERY_TRY(const CsvTable table, parse_csv(csv));
  ORRERY_TRY(const std::size_t name, table.column("Name"));
  ORRERY_TRY(const std::size_t kind, table.column("OpName"));
  constexpr std::array<std::pair<std::string_view, GraphPhase>, 3> kColumns = {
      {{"FwOps", GraphPhase::kForward}, {"BwOps", GraphPhase::kBackward}, {"AccOps", GraphPhase::kAccumulate}}};
  const LayerSpan span = find_layer(table, name);
  std::vector<GraphOperator> graph;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    for (const auto& [column, phase] : kColumns) {
      ORRERY_TRY(const std::size_t place, table.column(column));
      auto ops = parse_operator_list(table.rows[i].fields[place], phase);
      if (!ops) return std::move(ops).error().with_context(fmt::format("line {}", table.rows[i].line));
      if (table.rows[i].fields[kind] == "fused") ORRERY_TRY_VOID(fuse(table, table.rows[i], *ops));
      for (GraphOperator& op : *ops) {
        op.phase = phase;
        op.repeats = i >= span.begin && i < span.end ? layers : 1;
        graph.push_back(std::move(op));
      }
    }
  }
  return graph;
}

}  // namespace orrery::lab
