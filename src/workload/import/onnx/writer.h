#pragma once
// Writes small ONNX files, for tests, benchmarks and fuzz seeds: only what those need.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::workload::import {

inline std::string wire_varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
inline std::string wire_number(int field, std::int64_t value) {
  return wire_varint(static_cast<std::uint64_t>(field) << 3) + wire_varint(static_cast<std::uint64_t>(value));
}
inline std::string wire_bytes(int field, std::string_view bytes) {
  return wire_varint(static_cast<std::uint64_t>(field) << 3 | 2) + wire_varint(bytes.size()) + std::string(bytes);
}

inline constexpr int kOnnxFloat = 1, kOnnxInt64 = 7;

class OnnxWriter {
 public:
  using List = std::vector<std::int64_t>;

  explicit OnnxWriter(std::int64_t opset = 13, std::int64_t ir = 7) : opset_(opset), ir_(ir) {}

  static std::string integer(std::string_view name, std::int64_t value) {
    return wire_bytes(1, name) + wire_number(3, value) + wire_number(20, 2);
  }
  static std::string list(std::string_view name, const List& values) {
    std::string bytes = wire_bytes(1, name);
    for (const std::int64_t value : values) bytes += wire_number(8, value);
    return bytes + wire_number(20, 7);
  }
  static std::string text(std::string_view name, std::string_view value) {
    return wire_bytes(1, name) + wire_bytes(4, value) + wire_number(20, 3);
  }

  OnnxWriter& node(std::string_view type, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs, const std::vector<std::string>& attributes = {}) {
    std::string bytes;
    for (const std::string& input : inputs) bytes += wire_bytes(1, input);
    for (const std::string& output : outputs) bytes += wire_bytes(2, output);
    bytes += wire_bytes(3, "n_" + (outputs.empty() ? std::string() : outputs[0])) + wire_bytes(4, type);
    for (const std::string& attribute : attributes) bytes += wire_bytes(5, attribute);
    graph_ += wire_bytes(1, bytes);
    return *this;
  }

  // A weight: dimensions and no numbers, as with external data.
  OnnxWriter& weight(std::string_view name, const List& dims, int type = kOnnxFloat) {
    graph_ += wire_bytes(5, tensor_head(name, dims, type) + wire_number(14, 1));
    return *this;
  }
  // A weight with its numbers in the file.
  OnnxWriter& raw_weight(std::string_view name, const List& dims, std::string_view raw) {
    graph_ += wire_bytes(5, tensor_head(name, dims, kOnnxFloat) + wire_bytes(9, raw));
    return *this;
  }
  OnnxWriter& integers(std::string_view name, const List& values) {
    std::string packed;
    for (const std::int64_t value : values) packed += wire_varint(static_cast<std::uint64_t>(value));
    const List dims = {static_cast<std::int64_t>(values.size())};
    graph_ += wire_bytes(5, tensor_head(name, dims, kOnnxInt64) + wire_bytes(7, packed));
    return *this;
  }
  OnnxWriter& number(std::string_view name, float value) {
    const std::string raw(reinterpret_cast<const char*>(&value), sizeof(value));
    graph_ += wire_bytes(5, tensor_head(name, {}, kOnnxFloat) + wire_bytes(9, raw));
    return *this;
  }

  // A dimension of 0 is open.
  OnnxWriter& input(std::string_view name, const List& dims, int type = kOnnxFloat) {
    graph_ += wire_bytes(11, value_info(name, dims, type));
    return *this;
  }
  OnnxWriter& output(std::string_view name, const List& dims = {}) {
    graph_ += wire_bytes(12, value_info(name, dims, kOnnxFloat));
    return *this;
  }
  OnnxWriter& shape(std::string_view name, const List& dims) {
    graph_ += wire_bytes(13, value_info(name, dims, kOnnxFloat));
    return *this;
  }

  // The graph's fields, without the model around them.
  const std::string& graph() const { return graph_; }

  std::string bytes() const {
    return wire_number(1, ir_) + wire_bytes(7, graph_) + wire_bytes(8, wire_number(2, opset_));
  }

 private:
  static std::string tensor_head(std::string_view name, const List& dims, int type) {
    std::string bytes;
    for (const std::int64_t dim : dims) bytes += wire_number(1, dim);
    return bytes + wire_number(2, type) + wire_bytes(8, name);
  }
  static std::string value_info(std::string_view name, const List& dims, int type) {
    std::string shape;
    for (const std::int64_t dim : dims) shape += wire_bytes(1, dim == 0 ? wire_bytes(2, "batch") : wire_number(1, dim));
    return wire_bytes(1, name) + wire_bytes(2, wire_bytes(1, wire_number(1, type) + wire_bytes(2, shape)));
  }

  std::int64_t opset_, ir_;
  std::string graph_;
};

}  // namespace orrery::workload::import
