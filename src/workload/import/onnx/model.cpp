// Field numbers are those of onnx.proto (ONNX 1.12, IR version 8).

#include "workload/import/onnx/model.h"

#include <bit>
#include <fmt/format.h>
#include <unordered_set>

namespace orrery::workload::import {

namespace {

// TensorProto.DataType.
enum Element { kFloat = 1, kUint8, kInt8, kUint16, kInt16, kInt32, kInt64, kString, kBool, kFloat16, kDouble };
constexpr int kUint32 = 12, kUint64 = 13, kBfloat16 = 16;

int bytes_of(int element) {
  switch (element) {
    case kUint8:
    case kInt8:
    case kBool:
      return 1;
    case kUint16:
    case kInt16:
    case kFloat16:
    case kBfloat16:
      return 2;
    case kFloat:
    case kInt32:
    case kUint32:
      return 4;
    default:
      return 8;
  }
}

double from_half(std::uint64_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 0x1F);
  const auto fraction = static_cast<double>(bits & 0x3FF);
  const double size = exponent == 0    ? std::ldexp(fraction, -24)
                      : exponent == 31 ? (fraction > 0 ? std::nan("") : HUGE_VAL)
                                       : std::ldexp(fraction + 1024, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

// A number of raw_data, or of one of the *_data fields in its stored width.
double to_number(std::uint64_t bits, int element) {
  switch (element) {
    case kFloat:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case kDouble:
      return std::bit_cast<double>(bits);
    case kFloat16:
      return from_half(bits);
    case kBfloat16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16));
    case kInt8:
      return static_cast<std::int8_t>(bits);
    case kInt16:
      return static_cast<std::int16_t>(bits);
    case kInt32:
      return static_cast<std::int32_t>(bits);
    case kInt64:
      return static_cast<double>(static_cast<std::int64_t>(bits));
    default:
      return static_cast<double>(bits);
  }
}

Status expect(const Field& field, WireType type, std::string_view what) {
  if (field.type == type) return {};
  return Error::invalid(fmt::format("{} (field {}) is stored in the wrong form", what, field.number));
}

class Reader {
 public:
  explicit Reader(ByteSource& source) : source_(source) {}

  Result<OnnxModel> read() {
    std::optional<Field> graph;
    bool has_version = false;
    for (Message message(source_); !message.at_end();) {
      ORRERY_TRY(const Field field, message.next());
      if (field.number == 1) {
        ORRERY_TRY_VOID(read_version(field));
        has_version = true;
      } else if (field.number == 7) {
        ORRERY_TRY_VOID(expect(field, WireType::kBytes, "graph"));
        if (graph) return Error::invalid("the file has two graphs");
        graph = field;
      } else if (field.number == 8) {
        ORRERY_TRY_VOID(read_opset(field));
      }
    }
    if (!has_version) return Error::invalid("it has no ir_version; is this an ONNX file?");
    if (!graph) return Error::invalid("it has no graph");
    if (model_.opset == 0) return Error::invalid("it says no opset_import for the standard operators");
    ORRERY_TRY_VOID(read_graph(*graph));
    return std::move(model_);
  }

 private:
  Status read_version(const Field& field) {
    ORRERY_TRY_VOID(expect(field, WireType::kVarint, "ir_version"));
    const auto version = static_cast<std::int64_t>(field.number_value);
    if (version >= kOnnxLimits.first_ir && version <= kOnnxLimits.last_ir) return {};
    return Error::unsupported(fmt::format("ir_version {}; {} to {} can be read, so export it with an older opset",
                                          version, kOnnxLimits.first_ir, kOnnxLimits.last_ir));
  }

  Status read_opset(const Field& field) {
    ORRERY_TRY_VOID(expect(field, WireType::kBytes, "opset_import"));
    std::string domain;
    std::int64_t version = 0;
    for (Message message(source_, field); !message.at_end();) {
      ORRERY_TRY(const Field part, message.next());
      if (part.number == 1) {
        ORRERY_TRY(domain, text(part));
      }
      if (part.number == 2) version = static_cast<std::int64_t>(part.number_value);
    }
    if (!domain.empty() && domain != "ai.onnx") return {};
    if (version < kOnnxLimits.first_opset || version > kOnnxLimits.last_opset) {
      return Error::unsupported(fmt::format("opset {}; {} to {} can be read, so export it with opset_version={}",
                                            version, kOnnxLimits.first_opset, kOnnxLimits.last_opset,
                                            kOnnxLimits.last_opset));
    }
    model_.opset = version;
    return {};
  }

  Status read_graph(const Field& graph) {
    std::vector<TensorId> inputs;
    for (Message message(source_, graph); !message.at_end();) {
      ORRERY_TRY(const Field field, message.next());
      if (field.number != 1 && field.number != 5 && field.number != 15 && (field.number < 11 || field.number > 13)) {
        continue;
      }
      ORRERY_TRY_VOID(expect(field, WireType::kBytes, "a part of the graph"));
      if (field.number == 1) {
        ORRERY_TRY_VOID(read_node(field));
      } else if (field.number == 5) {
        ORRERY_TRY_VOID(read_initializer(field));
      } else if (field.number == 15) {
        return Error::unsupported("sparse initializers cannot be read");
      } else {
        ORRERY_TRY(const TensorId id, read_value_info(field));
        if (field.number == 11) inputs.push_back(id);
        if (field.number == 12) model_.outputs.push_back(id);
      }
    }
    for (const TensorId id : inputs) {
      if (!model_.initializers.contains(id)) model_.inputs.push_back(id);
    }
    return {};
  }

  Status read_node(const Field& field) {
    if (model_.nodes.size() >= kOnnxLimits.nodes) {
      return Error::unsupported(fmt::format("the graph has more than {} nodes", kOnnxLimits.nodes));
    }
    OnnxNode node;
    for (Message message(source_, field); !message.at_end();) {
      ORRERY_TRY(const Field part, message.next());
      if (part.number == 1 || part.number == 2) {
        if (++connections_ > kOnnxLimits.connections) return Error::unsupported("the graph has too many connections");
        ORRERY_TRY(const TensorId id, tensor(part));
        (part.number == 1 ? node.inputs : node.outputs).push_back(id);
      } else if (part.number == 3) {
        ORRERY_TRY(node.name, text(part));
      } else if (part.number == 4) {
        ORRERY_TRY(node.type, text(part));
      } else if (part.number == 7) {
        ORRERY_TRY(node.domain, text(part));
      } else if (part.number == 5) {
        ORRERY_TRY_VOID(expect(part, WireType::kBytes, "attribute"));
        auto attribute = read_attribute(part);
        if (!attribute) {
          return std::move(attribute).error().with_context(fmt::format("attribute of {}", place(node)));
        }
        node.attributes.push_back(std::move(*attribute));
      }
    }
    if (node.domain == "ai.onnx") node.domain.clear();
    if (node.type.empty()) return Error::invalid(place(node) + " has no op_type");
    for (const OnnxAttribute& attribute : node.attributes) {
      if (attribute.has_graph) {
        return Error::unsupported(fmt::format("{}: control flow cannot be predicted ({} carries a graph of its own)",
                                              place(node), attribute.name));
      }
    }
    for (const TensorId id : node.outputs) {
      if (id != kNoTensor && !made_.insert(id).second) {
        return Error::invalid(fmt::format("{}: output \"{}\" is made twice", place(node), model_.name(id)));
      }
    }
    model_.nodes.push_back(std::move(node));
    return {};
  }

  std::string place(const OnnxNode& node) const {
    return fmt::format("node {} \"{}\" ({})", model_.nodes.size(), node.name, node.type);
  }

  Result<OnnxAttribute> read_attribute(const Field& field) {
    if (++attributes_ > kOnnxLimits.attributes) return Error::unsupported("the graph has too many attributes");
    OnnxAttribute a;
    for (Message message(source_, field); !message.at_end();) {
      ORRERY_TRY(const Field part, message.next());
      switch (part.number) {
        case 1: {
          ORRERY_TRY(a.name, text(part));
          break;
        }
        case 2:
          a.f = to_number(part.number_value, kFloat);
          break;
        case 3:
          a.i = static_cast<std::int64_t>(part.number_value);
          break;
        case 4:
          // A long text is another tool's data; no operator we know reads one.
          if (part.type == WireType::kBytes && part.length <= kOnnxLimits.text) {
            ORRERY_TRY(a.s, text(part));
          }
          break;
        case 5: {
          ORRERY_TRY_VOID(expect(part, WireType::kBytes, "tensor"));
          std::string unused;
          ORRERY_TRY(a.tensor, read_tensor(part, unused));
          break;
        }
        case 6:
        case 11:
          a.has_graph = true;
          break;
        case 7:
        case 8:
          ORRERY_TRY_VOID(read_list(part, a));
          break;
        default:
          break;
      }
    }
    return a;
  }

  Status read_list(const Field& part, OnnxAttribute& a) {
    const bool is_float = part.number == 7;
    const auto keep = [&](std::uint64_t bits) -> Status {
      if (a.ints.size() + a.floats.size() >= kOnnxLimits.list) {
        return Error::unsupported(fmt::format("{} has more than {} numbers", a.name, kOnnxLimits.list));
      }
      if (is_float) {
        a.floats.push_back(to_number(bits, kFloat));
      } else {
        a.ints.push_back(static_cast<std::int64_t>(bits));
      }
      return {};
    };
    if (part.type != WireType::kBytes) return keep(part.number_value);
    for (Message packed(source_, part); !packed.at_end();) {
      ORRERY_TRY(const std::uint64_t bits, is_float ? packed.next_fixed(4) : packed.next_varint());
      ORRERY_TRY_VOID(keep(bits));
    }
    return {};
  }

  Status read_initializer(const Field& field) {
    std::string name;
    auto constant = read_tensor(field, name);
    if (!constant) return std::move(constant).error().with_context(fmt::format("initializer \"{}\"", name));
    ORRERY_TRY(const TensorId id, intern(std::move(name)));
    if (id == kNoTensor) return Error::invalid("an initializer has no name");
    if (!made_.insert(id).second) return Error::invalid(fmt::format("\"{}\" is made twice", model_.name(id)));
    // A single number is an epsilon or a factor, not something that is learned.
    constant->learned = is_floating(constant->dtype) && constant->elements() != 1;
    constant->source = constant->learned ? id : -1;
    model_.initializers.emplace(id, std::move(*constant));
    return {};
  }

  // Dimensions and type; the numbers only if they are few. Where they are is noted first, because fields may come in
  // any order.
  Result<Constant> read_tensor(const Field& field, std::string& name) {
    Constant c;
    int element = 0;
    bool external = false;
    std::vector<Field> data;
    for (Message message(source_, field); !message.at_end();) {
      ORRERY_TRY(const Field part, message.next());
      if (part.number == 1) {
        ORRERY_TRY_VOID(read_dims(part, c.dims));
      } else if (part.number == 2) {
        element = static_cast<int>(std::min<std::uint64_t>(part.number_value, 1000));
      } else if (part.number == 8) {
        ORRERY_TRY(name, text(part));
      } else if (part.number == 14) {
        external = part.number_value == 1;
      } else if ((part.number >= 4 && part.number <= 11 && part.number != 6) && data.size() <= kMostNumbers) {
        data.push_back(part);
      }
    }
    const auto dtype = element_type(element);
    if (!dtype) return Error::unsupported(fmt::format("data_type {} cannot be read", element));
    c.dtype = *dtype;
    ORRERY_TRY(const std::int64_t elements, count_elements(c.dims));
    if (elements > kMaxElements) return Error::invalid("it has more than 2^48 elements");
    if (external || elements > static_cast<std::int64_t>(kMostNumbers)) return c;
    for (const Field& part : data) ORRERY_TRY_VOID(read_numbers(part, element, c.numbers));
    c.known = static_cast<std::int64_t>(c.numbers.size()) == elements;
    if (!c.known) c.numbers.clear();
    return c;
  }

  Status read_dims(const Field& part, std::vector<std::int64_t>& dims) {
    const auto keep = [&](std::uint64_t bits) -> Status {
      if (dims.size() >= static_cast<std::size_t>(kMaxRank)) {
        return Error::unsupported(fmt::format("it has more than {} dimensions", kMaxRank));
      }
      dims.push_back(static_cast<std::int64_t>(bits));
      return {};
    };
    if (part.type != WireType::kBytes) return keep(part.number_value);
    for (Message packed(source_, part); !packed.at_end();) {
      ORRERY_TRY(const std::uint64_t bits, packed.next_varint());
      ORRERY_TRY_VOID(keep(bits));
    }
    return {};
  }

  Status read_numbers(const Field& part, int element, std::vector<double>& numbers) {
    constexpr std::uint32_t kRaw = 9, kFloats = 4, kDoubles = 10;
    const int raw_bytes = part.number == kRaw       ? bytes_of(element)
                          : part.number == kFloats  ? 4
                          : part.number == kDoubles ? 8
                                                    : 0;
    if (part.type != WireType::kBytes) {
      if (numbers.size() < kMostNumbers) numbers.push_back(to_number(part.number_value, element));
      return {};
    }
    for (Message packed(source_, part); !packed.at_end() && numbers.size() <= kMostNumbers;) {
      ORRERY_TRY(const std::uint64_t bits, raw_bytes > 0 ? packed.next_fixed(raw_bytes) : packed.next_varint());
      numbers.push_back(to_number(bits, element));
    }
    return {};
  }

  Result<TensorId> read_value_info(const Field& field) {
    std::string name;
    OnnxType type;
    for (Message message(source_, field); !message.at_end();) {
      ORRERY_TRY(const Field part, message.next());
      if (part.number == 1) {
        ORRERY_TRY(name, text(part));
      }
      if (part.number == 2 && part.type == WireType::kBytes) {
        Status status = read_type(part, type);
        if (!status) return std::move(status).error().with_context(fmt::format("type of \"{}\"", name));
      }
    }
    ORRERY_TRY(const TensorId id, intern(std::move(name)));
    if (id == kNoTensor) return Error::invalid("an input or output of the graph has no name");
    model_.types.emplace(id, std::move(type));
    return id;
  }

  // TypeProto: tensor_type { elem_type, shape { dim { dim_value | dim_param } } }.
  Status read_type(const Field& field, OnnxType& type) {
    for (Message message(source_, field); !message.at_end();) {
      ORRERY_TRY(const Field part, message.next());
      if (part.number != 1 || part.type != WireType::kBytes) continue;
      for (Message tensor_type(source_, part); !tensor_type.at_end();) {
        ORRERY_TRY(const Field inner, tensor_type.next());
        if (inner.number == 1) type.element = static_cast<int>(std::min<std::uint64_t>(inner.number_value, 1000));
        if (inner.number == 2 && inner.type == WireType::kBytes) ORRERY_TRY_VOID(read_shape(inner, type));
      }
    }
    return {};
  }

  Status read_shape(const Field& field, OnnxType& type) {
    std::vector<OnnxDimension> dims;
    for (Message message(source_, field); !message.at_end();) {
      ORRERY_TRY(const Field part, message.next());
      if (part.number != 1 || part.type != WireType::kBytes) continue;
      if (dims.size() >= static_cast<std::size_t>(kMaxRank)) {
        return Error::unsupported(fmt::format("it has more than {} dimensions", kMaxRank));
      }
      OnnxDimension dim;
      for (Message dimension(source_, part); !dimension.at_end();) {
        ORRERY_TRY(const Field inner, dimension.next());
        if (inner.number == 1) {
          dim.size = static_cast<std::int64_t>(inner.number_value);
          dim.known = true;
        } else if (inner.number == 2) {
          ORRERY_TRY(dim.symbol, text(inner));
        }
      }
      dims.push_back(std::move(dim));
    }
    type.dims = std::move(dims);
    return {};
  }

  Result<std::string> text(const Field& field) { return read_text(source_, field, kOnnxLimits.text); }

  Result<TensorId> tensor(const Field& field) {
    ORRERY_TRY(std::string name, text(field));
    return intern(std::move(name));
  }

  Result<TensorId> intern(std::string name) {
    if (name.empty()) return kNoTensor;
    if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
    if (model_.names.size() >= kOnnxLimits.tensors) return Error::unsupported("the graph has too many tensors");
    const auto id = static_cast<TensorId>(model_.names.size());
    model_.names.push_back(std::move(name));
    ids_.emplace(model_.names.back(), id);
    return id;
  }

  ByteSource& source_;
  OnnxModel model_;
  std::unordered_map<std::string_view, TensorId> ids_;  // into model_.names, which does not move its elements
  std::unordered_set<TensorId> made_;
  std::size_t connections_ = 0;
  std::size_t attributes_ = 0;
};

// `maker` has the node that makes each tensor; below 0: none does.
Status put_in_order(OnnxModel& model, const std::vector<std::int32_t>& maker) {
  const std::size_t count = model.nodes.size();
  std::vector<std::vector<std::int32_t>> users(count);
  std::vector<std::int32_t> waits(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    for (const TensorId id : model.nodes[i].inputs) {
      const std::int32_t from = id == kNoTensor ? -1 : maker[static_cast<std::size_t>(id)];
      if (from < 0) continue;
      users[static_cast<std::size_t>(from)].push_back(static_cast<std::int32_t>(i));
      ++waits[i];
    }
  }
  // Of the nodes that are ready, the one that comes first in the file goes next.
  std::vector<std::int32_t> ready, order;
  const auto later = std::greater<std::int32_t>();
  for (std::size_t i = 0; i < count; ++i) {
    if (waits[i] == 0) ready.push_back(static_cast<std::int32_t>(i));
  }
  std::make_heap(ready.begin(), ready.end(), later);
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), later);
    const std::int32_t node = ready.back();
    ready.pop_back();
    order.push_back(node);
    for (const std::int32_t user : users[static_cast<std::size_t>(node)]) {
      if (--waits[static_cast<std::size_t>(user)] > 0) continue;
      ready.push_back(user);
      std::push_heap(ready.begin(), ready.end(), later);
    }
  }
  if (order.size() < count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (waits[i] > 0) return Error::invalid(describe(model, i) + ": it depends on itself (the graph has a cycle)");
    }
  }
  std::vector<OnnxNode> nodes;
  nodes.reserve(count);
  for (const std::int32_t node : order) nodes.push_back(std::move(model.nodes[static_cast<std::size_t>(node)]));
  model.nodes = std::move(nodes);
  return {};
}

}  // namespace

std::optional<DataType> element_type(int onnx) {
  switch (onnx) {
    case kFloat:
    case kDouble:
      return DataType::kFloat32;
    case kFloat16:
      return DataType::kFloat16;
    case kBfloat16:
      return DataType::kBFloat16;
    case kInt64:
    case kUint64:
      return DataType::kInt64;
    case kUint8:
    case kInt8:
    case kUint16:
    case kInt16:
    case kInt32:
    case kUint32:
      return DataType::kInt32;
    case kBool:
      return DataType::kBool;
    default:
      return std::nullopt;
  }
}

const OnnxAttribute* OnnxNode::find(std::string_view attribute) const {
  for (const OnnxAttribute& a : attributes) {
    if (a.name == attribute) return &a;
  }
  return nullptr;
}

std::int64_t OnnxNode::integer(std::string_view attribute, std::int64_t otherwise) const {
  const OnnxAttribute* a = find(attribute);
  return a == nullptr ? otherwise : a->i;
}

double OnnxNode::number(std::string_view attribute, double otherwise) const {
  const OnnxAttribute* a = find(attribute);
  return a == nullptr ? otherwise : a->f;
}

std::string_view OnnxNode::text(std::string_view attribute, std::string_view otherwise) const {
  const OnnxAttribute* a = find(attribute);
  return a == nullptr ? otherwise : std::string_view(a->s);
}

std::vector<std::int64_t> OnnxNode::integers(std::string_view attribute) const {
  const OnnxAttribute* a = find(attribute);
  return a == nullptr ? std::vector<std::int64_t>() : a->ints;
}

std::string describe(const OnnxModel& model, std::size_t node) {
  return fmt::format("node {} \"{}\" ({})", node, model.nodes[node].name, model.nodes[node].type);
}

Result<OnnxModel> read_onnx_model(ByteSource& source) {
  return Reader(source).read();
}

Status sort_nodes(OnnxModel& model) {
  const std::size_t count = model.nodes.size();
  constexpr std::int32_t kNobody = -1, kGiven = -2;
  std::vector<std::int32_t> maker(model.names.size(), kNobody);
  for (const TensorId id : model.inputs) maker[static_cast<std::size_t>(id)] = kGiven;
  for (const auto& [id, constant] : model.initializers) maker[static_cast<std::size_t>(id)] = kGiven;
  for (std::size_t i = 0; i < count; ++i) {
    for (const TensorId id : model.nodes[i].outputs) {
      if (id == kNoTensor) continue;
      if (maker[static_cast<std::size_t>(id)] == kGiven) {
        return Error::invalid(
            fmt::format("{}: output \"{}\" is an input of the graph", describe(model, i), model.name(id)));
      }
      maker[static_cast<std::size_t>(id)] = static_cast<std::int32_t>(i);
    }
  }
  bool sorted = true;
  for (std::size_t i = 0; i < count; ++i) {
    for (const TensorId id : model.nodes[i].inputs) {
      if (id == kNoTensor) continue;
      const std::int32_t from = maker[static_cast<std::size_t>(id)];
      if (from == kNobody) {
        return Error::invalid(fmt::format("{}: input \"{}\" is made by no node", describe(model, i), model.name(id)));
      }
      if (from == kGiven) continue;
      sorted = sorted && from < static_cast<std::int32_t>(i);
    }
  }
  for (const TensorId id : model.outputs) {
    if (maker[static_cast<std::size_t>(id)] == kNobody) {
      return Error::invalid(fmt::format("output \"{}\" of the graph is made by no node", model.name(id)));
    }
  }
  return sorted ? Status() : put_in_order(model, maker);
}

}  // namespace orrery::workload::import
