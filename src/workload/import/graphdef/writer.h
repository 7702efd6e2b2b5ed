#pragma once
// Writes small GraphDefs in text and in binary form, for tests and fuzz seeds: only what those need.

#include <bit>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

#include "workload/import/graphdef/graphdef.h"
#include "workload/import/onnx/writer.h"

namespace orrery::workload::import {

inline std::string wire_fixed32(int field, std::uint32_t bits) {
  std::string bytes = wire_varint(static_cast<std::uint64_t>(field) << 3 | 5);
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(bits >> (8 * i));
  return bytes;
}

// One attribute, in both forms.
struct WrittenAttribute {
  std::string text;
  std::string binary;
};

class GraphDefWriter {
 public:
  using List = std::vector<std::int64_t>;

  static WrittenAttribute integer(std::string_view key, std::int64_t value) {
    return attribute(key, fmt::format("i: {}", value), wire_number(3, value));
  }
  static WrittenAttribute number(std::string_view key, float value) {
    return attribute(key, fmt::format("f: {}", value), wire_fixed32(4, std::bit_cast<std::uint32_t>(value)));
  }
  static WrittenAttribute flag(std::string_view key, bool value) {
    return attribute(key, fmt::format("b: {}", value), wire_number(5, value ? 1 : 0));
  }
  static WrittenAttribute type(std::string_view key, std::string_view name) {
    return attribute(key, fmt::format("type: {}", name), wire_number(6, *graphdef_type(name)));
  }
  static WrittenAttribute text(std::string_view key, std::string_view value) {
    return attribute(key, fmt::format("s: \"{}\"", value), wire_bytes(2, value));
  }
  static WrittenAttribute list(std::string_view key, const List& values) {
    std::string text, binary;
    for (const std::int64_t value : values) {
      text += fmt::format("i: {} ", value);
      binary += wire_varint(static_cast<std::uint64_t>(value));
    }
    return attribute(key, "list { " + text + "}", wire_bytes(1, wire_bytes(3, binary)));
  }
  static WrittenAttribute shape(std::string_view key, const List& dims) {
    const WrittenAttribute s = shape_of(dims);
    return attribute(key, "shape " + s.text, wire_bytes(7, s.binary));
  }
  // `_output_shapes` of a node with one output.
  static WrittenAttribute output(const List& dims) {
    const WrittenAttribute s = shape_of(dims);
    return attribute("_output_shapes", "list { shape " + s.text + " }", wire_bytes(1, wire_bytes(7, s.binary)));
  }
  static WrittenAttribute integers(const List& values, bool scalar = false) {
    const WrittenAttribute s = scalar ? shape_of({}) : shape_of({static_cast<std::int64_t>(values.size())});
    std::string text = "tensor { dtype: DT_INT32 tensor_shape " + s.text;
    std::string packed;
    for (const std::int64_t value : values) {
      text += fmt::format(" int_val: {}", value);
      packed += wire_varint(static_cast<std::uint64_t>(value));
    }
    return attribute("value", text + " }",
                     wire_bytes(8, wire_number(1, kGraphDefInt32) + wire_bytes(2, s.binary) + wire_bytes(7, packed)));
  }
  // A float tensor with every element `value`, or with these raw bytes.
  static WrittenAttribute floats(const List& dims, float value) {
    const WrittenAttribute s = shape_of(dims);
    return attribute("value", fmt::format("tensor {{ dtype: DT_FLOAT tensor_shape {} float_val: {} }}", s.text, value),
                     wire_bytes(8, wire_number(1, kGraphDefFloat) + wire_bytes(2, s.binary) +
                                       wire_fixed32(5, std::bit_cast<std::uint32_t>(value))));
  }
  static WrittenAttribute raw(std::string_view type, const List& dims, std::string_view content) {
    const WrittenAttribute s = shape_of(dims);
    std::string escaped;
    for (const char c : content) escaped += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    return attribute(
        "value", fmt::format("tensor {{ dtype: {} tensor_shape {} tensor_content: \"{}\" }}", type, s.text, escaped),
        wire_bytes(8, wire_number(1, *graphdef_type(type)) + wire_bytes(2, s.binary) + wire_bytes(4, content)));
  }

  GraphDefWriter& node(std::string_view op, std::string_view name, const std::vector<std::string>& inputs = {},
                       const std::vector<WrittenAttribute>& attributes = {}, std::string_view device = {}) {
    text_ += fmt::format("node {{\n  name: \"{}\"\n  op: \"{}\"\n", name, op);
    std::string binary = wire_bytes(1, name) + wire_bytes(2, op);
    for (const std::string& input : inputs) {
      text_ += fmt::format("  input: \"{}\"\n", input);
      binary += wire_bytes(3, input);
    }
    if (!device.empty()) {
      text_ += fmt::format("  device: \"{}\"\n", device);
      binary += wire_bytes(4, device);
    }
    for (const WrittenAttribute& a : attributes) {
      text_ += "  attr { " + a.text + " }\n";
      binary += wire_bytes(5, a.binary);
    }
    text_ += "}\n";
    binary_ += wire_bytes(1, binary);
    return *this;
  }

  std::string text() const { return text_ + "versions { producer: 27 }\n"; }
  std::string binary() const { return binary_ + wire_bytes(4, wire_number(1, 27)); }
  std::string saved_model() const {
    return wire_number(1, 1) + wire_bytes(2, wire_bytes(1, wire_bytes(4, "serve")) + wire_bytes(2, binary()));
  }

 private:
  static WrittenAttribute attribute(std::string_view key, const std::string& text, const std::string& binary) {
    return {fmt::format("key: \"{}\" value {{ {} }}", key, text), wire_bytes(1, key) + wire_bytes(2, binary)};
  }
  static WrittenAttribute shape_of(const List& dims) {
    WrittenAttribute shape{"{ ", ""};
    for (const std::int64_t dim : dims) {
      shape.text += fmt::format("dim {{ size: {} }} ", dim);
      shape.binary += wire_bytes(2, wire_number(1, dim));
    }
    shape.text += "}";
    return shape;
  }

  std::string text_, binary_;
};

}  // namespace orrery::workload::import
