// The binary form of a GraphDef; see graphdef.h. Numbers of fields are those of tensorflow/core/framework/*.proto.

#include <bit>
#include <fmt/format.h>

#include "workload/import/graphdef/graphdef.h"

namespace orrery::workload {

namespace {

using import::ByteSource;
using import::Field;
using import::Message;
using import::WireType;

// GraphDef and SavedModel.
constexpr std::uint32_t kNode = 1, kSchemaVersion = 1, kMetaGraph = 2, kMetaGraphGraph = 2;
// NodeDef and the entries of its map of attributes.
constexpr std::uint32_t kName = 1, kOp = 2, kInput = 3, kDevice = 4, kAttribute = 5, kKey = 1, kValue = 2;
// AttrValue; a list has the same numbers.
constexpr std::uint32_t kList = 1, kText = 2, kInteger = 3, kFloat = 4, kFlag = 5, kType = 6, kShape = 7, kTensor = 8;
// TensorShapeProto.
constexpr std::uint32_t kDimension = 2, kDimensionSize = 1, kUnknownRank = 3;
// TensorProto.
constexpr std::uint32_t kTensorType = 1, kTensorShape = 2, kContent = 4, kFloats = 5, kDoubles = 6, kInts = 7,
                        kInt64s = 10, kFlags = 11;

Error wrong_kind(const Field& field, std::string_view expected) {
  return Error::invalid(fmt::format("offset {}: field {} is not {}", field.begin, field.number, expected));
}

std::int64_t as_integer(std::uint64_t bits) {
  return static_cast<std::int64_t>(bits);
}
double as_float(std::uint64_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
}

class BinaryReader {
 public:
  explicit BinaryReader(ByteSource& source) : source_(source) {}

  Result<GraphDef> read() {
    ORRERY_TRY(Message graph, graph_message());
    while (!graph.at_end()) {
      ORRERY_TRY(const Field field, graph.next());
      if (field.number == kNode) ORRERY_TRY_VOID(read_node(field));
    }
    if (graph_.nodes.empty()) return Error::invalid("no nodes");
    return std::move(graph_);
  }

 private:
  // Calls `handle(field)` for every field of a message.
  template <class Handle>
  Status each_field(const Field& outer, Handle&& handle) {
    if (outer.type != WireType::kBytes) return wrong_kind(outer, "a message");
    for (Message message(source_, outer); !message.at_end();) {
      ORRERY_TRY(const Field field, message.next());
      ORRERY_TRY_VOID(handle(field));
    }
    return {};
  }

  // The file itself, or the graph in the first part of a SavedModel.
  Result<Message> graph_message() {
    Message top(source_);
    if (top.at_end()) return Error::invalid("the file is empty");
    ORRERY_TRY(const Field first, top.next());
    if (first.number != kSchemaVersion || first.type != WireType::kVarint) return Message(source_);
    while (!top.at_end()) {
      ORRERY_TRY(const Field field, top.next());
      if (field.number != kMetaGraph || field.type != WireType::kBytes) continue;
      for (Message meta(source_, field); !meta.at_end();) {
        ORRERY_TRY(const Field part, meta.next());
        if (part.number == kMetaGraphGraph && part.type == WireType::kBytes) return Message(source_, part);
      }
    }
    return Error::invalid("a SavedModel without a graph");
  }

  Status count(std::size_t& counter, std::size_t limit, std::string_view what, const Field& at) {
    if (++counter <= limit) return {};
    return Error::invalid(fmt::format("offset {}: more than {} {}", at.begin, limit, what));
  }

  Status keep_text(const Field& field, std::string& text) {
    ORRERY_TRY(text, import::read_text(source_, field, kGraphDefTextMax));
    return {};
  }

  Status read_node(const Field& outer) {
    if (graph_.nodes.size() == kGraphDefNodesMax) {
      return Error::invalid(fmt::format("offset {}: more than {} nodes", outer.begin, kGraphDefNodesMax));
    }
    GraphDefNode& node = graph_.nodes.emplace_back();
    const auto read_part = [&](const Field& field) -> Status {
      if (field.number == kName) return keep_text(field, node.name);
      if (field.number == kOp) return keep_text(field, node.op);
      if (field.number == kDevice) return keep_text(field, node.device);
      if (field.number == kAttribute) return read_attribute(field, node);
      if (field.number != kInput) return {};
      ORRERY_TRY_VOID(count(inputs_, kGraphDefInputsMax, "inputs", field));
      return keep_text(field, node.inputs.emplace_back());
    };
    ORRERY_TRY_VOID(each_field(outer, read_part));
    if (!node.name.empty() && !node.op.empty()) return {};
    return Error::invalid(fmt::format("offset {}: a node without name or op", outer.begin));
  }

  // The key comes first in what TensorFlow writes, but need not.
  Status read_attribute(const Field& entry, GraphDefNode& node) {
    GraphDefAttribute attribute;
    std::optional<Field> value;
    const auto read_part = [&](const Field& field) -> Status {
      if (field.number == kValue) value = field;
      return field.number == kKey ? keep_text(field, attribute.name) : Status();
    };
    ORRERY_TRY_VOID(each_field(entry, read_part));
    const bool is_shapes = attribute.name == "_output_shapes";
    if (!is_shapes && !is_kept_attribute(attribute.name)) return {};
    if (value) ORRERY_TRY_VOID(read_value(*value, attribute));
    if (is_shapes) {
      node.output_shapes = std::move(attribute.shapes);
      return {};
    }
    ORRERY_TRY_VOID(count(attributes_, kGraphDefAttributesMax, "attributes", entry));
    node.attributes.push_back(std::move(attribute));
    return {};
  }

  Status read_value(const Field& value, GraphDefAttribute& attribute) {
    return each_field(value, [&](const Field& field) -> Status {
      if (field.number == kText) return keep_text(field, attribute.s);
      if (field.number == kInteger) attribute.i = as_integer(field.number_value);
      if (field.number == kFloat) attribute.f = as_float(field.number_value);
      if (field.number == kFlag) attribute.b = field.number_value != 0;
      if (field.number == kType) attribute.type = static_cast<int>(field.number_value);
      if (field.number == kShape) return read_one_shape(field, attribute);
      if (field.number == kTensor) return read_tensor(field, attribute.tensor.emplace());
      if (field.number == kList) return read_list(field, attribute);
      return {};
    });
  }

  Status read_list(const Field& list, GraphDefAttribute& attribute) {
    return each_field(list, [&](const Field& field) -> Status {
      if (field.number == kShape) return read_one_shape(field, attribute);
      if (field.number == kInteger) {
        return each_varint(field, [&](std::uint64_t bits) { return keep(attribute.ints, as_integer(bits), field); });
      }
      if (field.number != kType) return {};
      return each_varint(field,
                         [&](std::uint64_t bits) { return keep(attribute.types, static_cast<int>(bits), field); });
    });
  }

  template <class T>
  Status keep(std::vector<T>& list, T element, const Field& at) {
    if (list.size() >= kGraphDefListMax) {
      return Error::invalid(fmt::format("offset {}: a list of more than {}", at.begin, kGraphDefListMax));
    }
    list.push_back(std::move(element));
    return {};
  }

  // One number, or many packed into bytes.
  template <class Handle>
  Status each_varint(const Field& field, Handle&& handle) {
    if (field.type != WireType::kBytes) return handle(field.number_value);
    for (Message packed(source_, field); !packed.at_end();) {
      ORRERY_TRY(const std::uint64_t bits, packed.next_varint());
      ORRERY_TRY_VOID(handle(bits));
    }
    return {};
  }

  Status read_one_shape(const Field& field, GraphDefAttribute& attribute) {
    ORRERY_TRY_VOID(count(attributes_, kGraphDefAttributesMax, "attributes", field));
    ORRERY_TRY_VOID(keep(attribute.shapes, GraphDefShape(), field));
    return read_shape(field, attribute.shapes.back());
  }

  Status read_shape(const Field& outer, GraphDefShape& shape) {
    std::vector<std::int64_t> dims;
    bool unknown_rank = false;
    const auto read_part = [&](const Field& field) -> Status {
      if (field.number == kUnknownRank) unknown_rank = field.number_value != 0;
      return field.number == kDimension ? read_dimension(field, dims) : Status();
    };
    ORRERY_TRY_VOID(each_field(outer, read_part));
    shape.reset();
    if (!unknown_rank) shape = std::move(dims);
    return {};
  }

  Status read_dimension(const Field& outer, std::vector<std::int64_t>& dims) {
    if (dims.size() == kGraphDefRankMax) {
      return Error::invalid(
          fmt::format("offset {}: a tensor of more than {} dimensions", outer.begin, kGraphDefRankMax));
    }
    std::int64_t& size = dims.emplace_back(0);
    return each_field(outer, [&](const Field& field) -> Status {
      if (field.number == kDimensionSize) size = as_integer(field.number_value);
      return {};
    });
  }

  Status read_tensor(const Field& outer, GraphDefTensor& tensor) {
    std::string content;
    const auto read_part = [&](const Field& field) -> Status {
      if (field.number == kTensorType) tensor.dtype = static_cast<int>(field.number_value);
      if (field.number == kTensorShape) return read_shape(field, tensor.shape);
      if (field.number == kContent && field.length <= kGraphDefNumbersMax * sizeof(double)) {
        return keep_text(field, content);
      }
      return read_numbers(field, tensor.numbers);
    };
    ORRERY_TRY_VOID(each_field(outer, read_part));
    complete_tensor(tensor, content);
    return {};
  }

  // Stops after one number more than are ever kept: the rest is stepped over.
  Status read_numbers(const Field& field, std::vector<double>& numbers) {
    const auto next = [&](Message& packed) -> Result<std::uint64_t> {
      if (field.number == kFloats) return packed.next_fixed(4);
      return field.number == kDoubles ? packed.next_fixed(8) : packed.next_varint();
    };
    const bool is_number = field.number == kFloats || field.number == kDoubles || field.number == kInts ||
                           field.number == kInt64s || field.number == kFlags;
    if (!is_number || numbers.size() > kGraphDefNumbersMax) return {};
    if (field.type != WireType::kBytes) {
      numbers.push_back(number_of(field.number, field.number_value));
      return {};
    }
    for (Message packed(source_, field); !packed.at_end() && numbers.size() <= kGraphDefNumbersMax;) {
      ORRERY_TRY(const std::uint64_t bits, next(packed));
      numbers.push_back(number_of(field.number, bits));
    }
    return {};
  }

  static double number_of(std::uint32_t field, std::uint64_t bits) {
    if (field == kFloats) return as_float(bits);
    if (field == kDoubles) return std::bit_cast<double>(bits);
    return static_cast<double>(as_integer(bits));
  }

  ByteSource& source_;
  GraphDef graph_;
  std::size_t inputs_ = 0, attributes_ = 0;
};

}  // namespace

Result<GraphDef> parse_graphdef_binary(ByteSource& source) {
  return BinaryReader(source).read();
}

}  // namespace orrery::workload
