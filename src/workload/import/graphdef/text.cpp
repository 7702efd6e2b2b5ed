// The text form of a GraphDef; see graphdef.h.

#include <charconv>
#include <fmt/format.h>

#include "workload/import/graphdef/graphdef.h"
#include "workload/import/graphdef/text_format.h"

namespace orrery::workload {

namespace {

using import::TextReader;

// Calls `handle(name)` for every field of the message of a field. `handle` reads the value.
template <class Handle>
Status read_message(TextReader& reader, Handle&& handle) {
  ORRERY_TRY(const bool opened, reader.opens_message());
  if (!opened) return reader.error("expected {");
  while (!reader.at_end()) {
    ORRERY_TRY(const std::string_view name, reader.field_name());
    ORRERY_TRY_VOID(handle(name));
  }
  return reader.close_message();
}

Status read_text(TextReader& reader, std::string& text) {
  ORRERY_TRY(const bool message, reader.opens_message());
  if (message) return reader.error("expected a text, got {");
  ORRERY_TRY(text, reader.scalar());
  if (text.size() <= kGraphDefTextMax) return {};
  return reader.error(fmt::format("a text of {} bytes; at most {} are allowed", text.size(), kGraphDefTextMax));
}

template <class Number>
Status read_number(TextReader& reader, Number& number) {
  std::string text;
  ORRERY_TRY_VOID(read_text(reader, text));
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure == std::errc() && end == text.data() + text.size()) return {};
  constexpr bool kWhole = std::is_integral_v<Number>;
  return reader.error(fmt::format("expected a {}number, got \"{}\"", kWhole ? "whole " : "", text));
}

Status read_flag(TextReader& reader, bool& flag) {
  std::string text;
  ORRERY_TRY_VOID(read_text(reader, text));
  flag = text == "true" || text == "True" || text == "t" || text == "1";
  return {};
}

Status read_type(TextReader& reader, int& type) {
  std::string word;
  ORRERY_TRY_VOID(read_text(reader, word));
  const auto known = graphdef_type(word);
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), type);
  if (known) {
    type = *known;
  } else if (failure != std::errc() || end != word.data() + word.size()) {
    return reader.error(fmt::format("\"{}\" is not an element type", word));
  }
  return {};
}

Status read_dimension(TextReader& reader, std::vector<std::int64_t>& dims) {
  if (dims.size() == kGraphDefRankMax) {
    return reader.error(fmt::format("a tensor of more than {} dimensions", kGraphDefRankMax));
  }
  std::int64_t& size = dims.emplace_back(0);
  return read_message(reader, [&](std::string_view field) -> Status {
    return field == "size" ? read_number(reader, size) : reader.skip_value();
  });
}

Status read_shape(TextReader& reader, GraphDefShape& shape) {
  std::vector<std::int64_t> dims;
  bool unknown_rank = false;
  const auto read_part = [&](std::string_view field) -> Status {
    if (field == "unknown_rank") return read_flag(reader, unknown_rank);
    return field == "dim" ? read_dimension(reader, dims) : reader.skip_value();
  };
  ORRERY_TRY_VOID(read_message(reader, read_part));
  shape.reset();
  if (!unknown_rank) shape = std::move(dims);
  return {};
}

template <class Number>
Status keep_numbers(TextReader& reader, std::vector<double>& numbers) {
  return reader.each([&]() -> Status {
    Number number{};
    ORRERY_TRY_VOID(read_number(reader, number));
    if (numbers.size() <= kGraphDefNumbersMax) numbers.push_back(static_cast<double>(number));
    return {};
  });
}

Status keep_flags(TextReader& reader, std::vector<double>& numbers) {
  return reader.each([&]() -> Status {
    bool flag = false;
    ORRERY_TRY_VOID(read_flag(reader, flag));
    if (numbers.size() <= kGraphDefNumbersMax) numbers.push_back(flag ? 1 : 0);
    return {};
  });
}

Status read_tensor(TextReader& reader, GraphDefTensor& tensor) {
  std::string content;
  const auto read_part = [&](std::string_view field) -> Status {
    if (field == "dtype") return read_type(reader, tensor.dtype);
    if (field == "tensor_shape") return read_shape(reader, tensor.shape);
    if (field == "float_val") return keep_numbers<float>(reader, tensor.numbers);
    if (field == "double_val") return keep_numbers<double>(reader, tensor.numbers);
    if (field == "int_val") return keep_numbers<std::int32_t>(reader, tensor.numbers);
    if (field == "int64_val") return keep_numbers<std::int64_t>(reader, tensor.numbers);
    if (field == "bool_val") return keep_flags(reader, tensor.numbers);
    if (field != "tensor_content") return reader.skip_value();
    ORRERY_TRY_VOID(reader.opens_message());
    ORRERY_TRY(content, reader.scalar());
    return {};
  };
  ORRERY_TRY_VOID(read_message(reader, read_part));
  complete_tensor(tensor, content);
  return {};
}

class NodeReader {
 public:
  NodeReader(TextReader& reader, std::size_t& inputs, std::size_t& attributes)
      : reader_(reader), inputs_(inputs), attributes_(attributes) {}

  Status read(GraphDefNode& node) {
    return read_message(reader_, [&](std::string_view field) -> Status {
      if (field == "name") return read_text(reader_, node.name);
      if (field == "op") return read_text(reader_, node.op);
      if (field == "device") return read_text(reader_, node.device);
      if (field == "attr") return read_attribute(node);
      if (field == "input") return reader_.each([&] { return read_input(node); });
      return reader_.skip_value();
    });
  }

 private:
  Status count(std::size_t& counter, std::size_t limit, std::string_view what) {
    if (++counter <= limit) return {};
    return reader_.error(fmt::format("more than {} {}", limit, what));
  }

  Status read_input(GraphDefNode& node) {
    ORRERY_TRY_VOID(count(inputs_, kGraphDefInputsMax, "inputs"));
    return read_text(reader_, node.inputs.emplace_back());
  }

  Status read_attribute(GraphDefNode& node) {
    GraphDefAttribute attribute;
    bool is_shapes = false, is_kept = false;
    const auto read_part = [&](std::string_view field) -> Status {
      if (field == "key") {
        ORRERY_TRY_VOID(read_text(reader_, attribute.name));
        is_shapes = attribute.name == "_output_shapes";
        is_kept = !is_shapes && is_kept_attribute(attribute.name);
        return {};
      }
      return field == "value" && (is_shapes || is_kept) ? read_value(attribute) : reader_.skip_value();
    };
    ORRERY_TRY_VOID(read_message(reader_, read_part));
    if (is_shapes) {
      node.output_shapes = std::move(attribute.shapes);
    } else if (is_kept) {
      ORRERY_TRY_VOID(count(attributes_, kGraphDefAttributesMax, "attributes"));
      node.attributes.push_back(std::move(attribute));
    }
    return {};
  }

  Status read_value(GraphDefAttribute& attribute) {
    return read_message(reader_, [&](std::string_view field) -> Status {
      if (field == "s") return read_text(reader_, attribute.s);
      if (field == "i") return read_number(reader_, attribute.i);
      if (field == "b") return read_flag(reader_, attribute.b);
      if (field == "type") return read_type(reader_, attribute.type);
      if (field == "shape") return read_one_shape(attribute);
      if (field == "tensor") return read_tensor(reader_, attribute.tensor.emplace());
      if (field == "list") return read_list(attribute);
      if (field != "f") return reader_.skip_value();
      float number = 0;
      ORRERY_TRY_VOID(read_number(reader_, number));
      attribute.f = static_cast<double>(number);
      return {};
    });
  }

  Status read_list(GraphDefAttribute& attribute) {
    return read_message(reader_, [&](std::string_view field) -> Status {
      if (field == "shape") return read_one_shape(attribute);
      if (field == "i") return reader_.each([&] { return read_element(attribute.ints, read_number<std::int64_t>); });
      if (field == "type") return reader_.each([&] { return read_element(attribute.types, read_type); });
      return reader_.skip_value();
    });
  }

  Status read_one_shape(GraphDefAttribute& attribute) {
    ORRERY_TRY_VOID(count(attributes_, kGraphDefAttributesMax, "attributes"));
    return read_element(attribute.shapes, read_shape);
  }

  template <class T>
  Status read_element(std::vector<T>& list, Status (*reads)(TextReader&, T&)) {
    if (list.size() < kGraphDefListMax) return reads(reader_, list.emplace_back());
    return reader_.error(fmt::format("a list of more than {}", kGraphDefListMax));
  }

  TextReader& reader_;
  std::size_t& inputs_;
  std::size_t& attributes_;
};

}  // namespace

Result<GraphDef> parse_graphdef_text(std::string_view text) {
  TextReader reader(text, kGraphDefDepthMax);
  GraphDef graph;
  std::size_t inputs = 0, attributes = 0;
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
    ORRERY_TRY_VOID(NodeReader(reader, inputs, attributes).read(node));
    if (node.name.empty() || node.op.empty())
      return Error::invalid(fmt::format("line {}: a node without name or op", line));
  }
  if (graph.nodes.empty()) return Error::invalid("no nodes");
  return graph;
}

}  // namespace orrery::workload
