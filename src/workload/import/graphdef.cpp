#include "workload/import/graphdef.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <numeric>
#include <set>
#include <unordered_map>

namespace orrery::workload {

namespace {

// Reads protobuf's text form: fields `name: value` and `name { … }`.
class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

  std::size_t line() const { return line_; }

  // Skips space and comments; true if a message or the text ends here.
  bool at_end() {
    skip_space();
    return at_ >= text_.size() || text_[at_] == '}';
  }
  bool at_end_of_text() {
    skip_space();
    return at_ >= text_.size();
  }

  Result<std::string_view> field_name() {
    skip_space();
    const std::size_t start = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (at_ == start) return error("expected a field name");
    return text_.substr(start, at_ - start);
  }

  // True if the field just named holds a message; its `{` is passed.
  Result<bool> opens_message() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == ':') {
      ++at_;
      skip_space();
    }
    if (at_ >= text_.size() || text_[at_] != '{') return false;
    ++at_;
    if (++depth_ > kGraphDefDepthMax) return error(fmt::format("nested more than {} deep", kGraphDefDepthMax));
    return true;
  }

  Status close_message() {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != '}') return error("expected }");
    ++at_;
    --depth_;
    skip_separator();
    return {};
  }

  // A string, number or word; strings are unescaped.
  Result<std::string> scalar() {
    skip_space();
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) return quoted();
    const std::size_t start = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '-' || text_[at_] == '+')) ++at_;
    if (at_ == start) return error("expected a value");
    std::string value(text_.substr(start, at_ - start));
    skip_separator();
    return value;
  }

  // Passes over the value of a field whose name was read.
  Status skip_value() {
    ORRERY_TRY(const bool is_message, opens_message());
    if (!is_message) return skip_scalar_or_list();
    while (!at_end()) {
      ORRERY_TRY_VOID(field_name());
      ORRERY_TRY_VOID(skip_value());
    }
    return close_message();
  }

  Error error(std::string what) const { return Error::invalid(fmt::format("line {}: {}", line_, what)); }

 private:
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  }

  void skip_space() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        if (at_ == text_.size()) return;
      }
      if (text_[at_] == '\n')
        ++line_;
      else if (text_[at_] != ' ' && text_[at_] != '\t' && text_[at_] != '\r')
        return;
    }
  }

  void skip_separator() {
    skip_space();
    if (at_ < text_.size() && (text_[at_] == ',' || text_[at_] == ';')) ++at_;
  }

  Result<std::string> quoted() {
    const char quote = text_[at_++];
    std::string value;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == quote) {
        ++at_;
        skip_separator();
        return value;
      }
      if (text_[at_] == '\n') break;
      if (text_[at_] == '\\') {
        if (++at_ >= text_.size()) break;
      }
      value += text_[at_];
    }
    return error("text is never closed");
  }

  Status skip_scalar_or_list() {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != '[') {
      ORRERY_TRY_VOID(scalar());
      return {};
    }
    ++at_;
    if (++depth_ > kGraphDefDepthMax) return error(fmt::format("nested more than {} deep", kGraphDefDepthMax));
    while (true) {
      skip_space();
      if (at_ >= text_.size()) return error("list is never closed");
      if (text_[at_] == ']') break;
      ORRERY_TRY_VOID(skip_value());
    }
    ++at_;
    --depth_;
    skip_separator();
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  int depth_ = 0;
};

// Calls `handle(name)` for every field of the message that was just opened, then closes it. `handle` reads the value.
template <class Handle>
Status read_message(TextReader& reader, Handle&& handle) {
  while (!reader.at_end()) {
    ORRERY_TRY(const std::string_view name, reader.field_name());
    ORRERY_TRY_VOID(handle(name));
  }
  return reader.close_message();
}

// Opens the message of a field, reads it with `handle`.
template <class Handle>
Status read_field_message(TextReader& reader, Handle&& handle) {
  ORRERY_TRY(const bool opened, reader.opens_message());
  if (!opened) return reader.error("expected {");
  return read_message(reader, handle);
}

Status read_integer(TextReader& reader, std::int64_t& number) {
  ORRERY_TRY_VOID(reader.opens_message());
  ORRERY_TRY(const std::string text, reader.scalar());
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) {
    return reader.error(fmt::format("expected a whole number, got \"{}\"", text));
  }
  return {};
}

Status read_text(TextReader& reader, std::string& text) {
  ORRERY_TRY(const bool message, reader.opens_message());
  if (message) return reader.error("expected a text, got {");
  ORRERY_TRY(text, reader.scalar());
  return {};
}

Status read_dimension(TextReader& reader, std::vector<std::int64_t>& dims) {
  constexpr std::size_t kMostDimensions = 254;
  if (dims.size() == kMostDimensions) return reader.error("a tensor of more than 254 dimensions");
  std::int64_t& size = dims.emplace_back(0);
  return read_field_message(reader, [&](std::string_view field) -> Status {
    return field == "size" ? read_integer(reader, size) : reader.skip_value();
  });
}

Status read_shape(TextReader& reader, std::optional<std::vector<std::int64_t>>& shape) {
  std::vector<std::int64_t> dims;
  std::string unknown_rank;
  const auto read_part = [&](std::string_view field) -> Status {
    if (field == "unknown_rank") return read_text(reader, unknown_rank);
    return field == "dim" ? read_dimension(reader, dims) : reader.skip_value();
  };
  ORRERY_TRY_VOID(read_field_message(reader, read_part));
  if (unknown_rank != "true") shape = std::move(dims);
  return {};
}

// The value of `_output_shapes`: value { list { shape {…} … } }.
Status read_output_shapes(TextReader& reader, GraphDefNode& node) {
  return read_field_message(reader, [&](std::string_view field) -> Status {
    if (field != "list") return reader.skip_value();
    return read_field_message(reader, [&](std::string_view part) -> Status {
      if (part != "shape") return reader.skip_value();
      return read_shape(reader, node.output_shapes.emplace_back());
    });
  });
}

Status read_attribute(TextReader& reader, GraphDefNode& node) {
  std::string key;
  return read_field_message(reader, [&](std::string_view field) -> Status {
    if (field == "key") return read_text(reader, key);
    if (field == "value" && key == "_output_shapes") return read_output_shapes(reader, node);
    return reader.skip_value();
  });
}

Status read_node(TextReader& reader, GraphDefNode& node) {
  return read_field_message(reader, [&](std::string_view field) -> Status {
    if (field == "name") return read_text(reader, node.name);
    if (field == "op") return read_text(reader, node.op);
    if (field == "device") return read_text(reader, node.device);
    if (field == "attr") return read_attribute(reader, node);
    if (field == "input") return read_text(reader, node.inputs.emplace_back());
    return reader.skip_value();
  });
}

// The name of the node an input comes from.
std::string_view producer(std::string_view input) {
  if (input.starts_with('^')) input.remove_prefix(1);
  const std::size_t colon = input.rfind(':');
  return colon == std::string_view::npos ? input : input.substr(0, colon);
}

// Disjoint sets with path halving.
class Components {
 public:
  explicit Components(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }
  std::size_t find(std::size_t node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }
  void join(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> parent_;
};

}  // namespace

Result<GraphDef> parse_graphdef_text(std::string_view text) {
  TextReader reader(text);
  GraphDef graph;
  while (!reader.at_end_of_text()) {
    ORRERY_TRY(const std::string_view field, reader.field_name());
    if (field != "node") {
      ORRERY_TRY_VOID(reader.skip_value());
      continue;
    }
    if (graph.nodes.size() == kGraphDefNodesMax) {
      return reader.error(fmt::format("more than {} nodes", kGraphDefNodesMax));
    }
    const std::size_t line = reader.line();
    GraphDefNode& node = graph.nodes.emplace_back();
    ORRERY_TRY_VOID(read_node(reader, node));
    if (node.name.empty() || node.op.empty())
      return Error::invalid(fmt::format("line {}: a node without name or op", line));
  }
  if (graph.nodes.empty()) return Error::invalid("no nodes");
  return graph;
}

double tensor_size(const GraphDefNode& node) {
  if (node.output_shapes.empty() || !node.output_shapes[0] || node.output_shapes[0]->empty()) return 0;
  double product = 1;
  bool restart = false;
  for (const std::int64_t dim : *node.output_shapes[0]) {
    if (dim < 0) {
      product = 0;
      restart = true;
      continue;
    }
    product = (restart ? 1 : product) * static_cast<double>(dim);
    restart = false;
  }
  return product;
}

Result<GraphDefFacts> graphdef_facts(const GraphDef& graph, std::string_view device) {
  GraphDefFacts facts;
  facts.nodes_total = graph.nodes.size();
  std::unordered_map<std::string_view, std::size_t> kept;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphDefNode& node = graph.nodes[i];
    if (node.device.find(device) == std::string::npos) continue;
    if (!kept.emplace(node.name, i).second) return Error::invalid(fmt::format("two nodes are named {}", node.name));
    ++facts.device_ops[node.op];
  }
  facts.device_nodes = kept.size();
  Components components(graph.nodes.size());
  std::set<std::pair<std::size_t, std::size_t>> edges;
  for (const auto& [name, i] : kept) {
    for (const std::string& input : graph.nodes[i].inputs) {
      const auto from = kept.find(producer(input));
      if (from == kept.end()) continue;
      ++facts.device_references;
      components.join(i, from->second);
      edges.insert(std::minmax(i, from->second));
    }
  }
  std::unordered_map<std::size_t, std::size_t> sizes;
  for (const auto& [name, i] : kept) ++sizes[components.find(i)];
  // Of equally large parts, the one that comes first in the graph.
  std::size_t largest = graph.nodes.size();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].device.find(device) == std::string::npos) continue;
    const std::size_t size = sizes[components.find(i)];
    if (size <= facts.component_nodes) continue;
    facts.component_nodes = size;
    largest = components.find(i);
  }
  for (const auto& [name, i] : kept) {
    if (components.find(i) != largest) continue;
    facts.component_tensor_size += tensor_size(graph.nodes[i]);
    ++facts.component_ops[graph.nodes[i].op];
  }
  for (const auto& [a, b] : edges) facts.component_edges += components.find(a) == largest && a != b ? 1 : 0;
  return facts;
}

}  // namespace orrery::workload
