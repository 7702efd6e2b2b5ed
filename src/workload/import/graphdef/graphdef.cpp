#include "workload/import/graphdef/graphdef.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <numeric>
#include <set>
#include <unordered_map>

namespace orrery::workload {

namespace {

// In the order of their numbers, from 1 on.
constexpr std::string_view kTypes[] = {"FLOAT",  "DOUBLE",    "INT32",   "UINT8",   "INT16",  "INT8",
                                       "STRING", "COMPLEX64", "INT64",   "BOOL",    "QINT8",  "QUINT8",
                                       "QINT32", "BFLOAT16",  "QINT16",  "QUINT16", "UINT16", "COMPLEX128",
                                       "HALF",   "RESOURCE",  "VARIANT", "UINT32",  "UINT64"};
constexpr int kReference = 100;

// Sorted.
constexpr std::string_view kKept[] = {"DstT",
                                      "N",
                                      "T",
                                      "adj_x",
                                      "adj_y",
                                      "axis",
                                      "begin_mask",
                                      "component_types",
                                      "data_format",
                                      "dilations",
                                      "dtype",
                                      "ellipsis_mask",
                                      "end_mask",
                                      "explicit_paddings",
                                      "keep_dims",
                                      "ksize",
                                      "new_axis_mask",
                                      "num",
                                      "num_split",
                                      "out_type",
                                      "output_shapes",
                                      "output_types",
                                      "padding",
                                      "rate",
                                      "shape",
                                      "shapes",
                                      "shrink_axis_mask",
                                      "squeeze_dims",
                                      "strides",
                                      "transpose_a",
                                      "transpose_b",
                                      "type",
                                      "value"};

static_assert(std::is_sorted(std::begin(kKept), std::end(kKept)));

template <class T>
void append_numbers(std::string_view content, std::vector<double>& numbers) {
  for (std::size_t at = 0; at + sizeof(T) <= content.size(); at += sizeof(T)) {
    T number;
    std::memcpy(&number, content.data() + at, sizeof(T));
    numbers.push_back(static_cast<double>(number));
  }
}

void append_content(int dtype, std::string_view content, std::vector<double>& numbers) {
  if (dtype == kGraphDefFloat) append_numbers<float>(content, numbers);
  if (dtype == kGraphDefDouble) append_numbers<double>(content, numbers);
  if (dtype == kGraphDefInt32) append_numbers<std::int32_t>(content, numbers);
  if (dtype == kGraphDefInt64) append_numbers<std::int64_t>(content, numbers);
}

// Elements of a shape, more than kGraphDefNumbersMax for every one that is too large or unknown.
std::size_t small_count(const GraphDefShape& shape) {
  std::size_t count = 1;
  if (!shape) return kGraphDefNumbersMax + 1;
  for (const std::int64_t dim : *shape) {
    if (dim < 0 || dim > static_cast<std::int64_t>(kGraphDefNumbersMax)) return kGraphDefNumbersMax + 1;
    count = std::min(count * static_cast<std::size_t>(dim), kGraphDefNumbersMax + 1);
  }
  return count;
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

const GraphDefAttribute* GraphDefNode::find(std::string_view attribute) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const GraphDefAttribute& a) { return a.name == attribute; });
  return found == attributes.end() ? nullptr : &*found;
}

std::int64_t GraphDefNode::integer(std::string_view attribute, std::int64_t otherwise) const {
  const GraphDefAttribute* found = find(attribute);
  return found == nullptr ? otherwise : found->i;
}

bool GraphDefNode::flag(std::string_view attribute) const {
  const GraphDefAttribute* found = find(attribute);
  return found != nullptr && found->b;
}

std::string_view GraphDefNode::text(std::string_view attribute, std::string_view otherwise) const {
  const GraphDefAttribute* found = find(attribute);
  return found == nullptr || found->s.empty() ? otherwise : found->s;
}

int GraphDefNode::type(std::string_view attribute) const {
  const GraphDefAttribute* found = find(attribute);
  return found == nullptr ? 0 : found->type;
}

const std::vector<std::int64_t>& GraphDefNode::integers(std::string_view attribute) const {
  static const std::vector<std::int64_t> kNone;
  const GraphDefAttribute* found = find(attribute);
  return found == nullptr ? kNone : found->ints;
}

bool is_kept_attribute(std::string_view name) {
  return std::binary_search(std::begin(kKept), std::end(kKept), name);
}

std::optional<int> graphdef_type(std::string_view word) {
  if (!word.starts_with("DT_")) return std::nullopt;
  word.remove_prefix(3);
  const bool is_reference = word.ends_with("_REF");
  if (is_reference) word.remove_suffix(4);
  if (word == "INVALID") return 0;
  const auto* found = std::find(std::begin(kTypes), std::end(kTypes), word);
  if (found == std::end(kTypes)) return std::nullopt;
  return static_cast<int>(found - std::begin(kTypes)) + 1 + (is_reference ? kReference : 0);
}

void complete_tensor(GraphDefTensor& tensor, std::string_view content) {
  const std::size_t count = small_count(tensor.shape);
  if (tensor.numbers.empty() && count <= kGraphDefNumbersMax) append_content(tensor.dtype, content, tensor.numbers);
  const bool is_known = count <= kGraphDefNumbersMax && !tensor.numbers.empty() && tensor.numbers.size() <= count;
  if (is_known) {
    tensor.numbers.resize(count, tensor.numbers.back());
  } else {
    tensor.numbers.clear();
  }
}

GraphDefInput parse_input(std::string_view input) {
  GraphDefInput result;
  result.control = input.starts_with('^');
  if (result.control) input.remove_prefix(1);
  const std::size_t colon = input.rfind(':');
  result.node = input.substr(0, colon);
  if (colon == std::string_view::npos) return result;
  const std::string_view number = input.substr(colon + 1);
  std::from_chars(number.data(), number.data() + number.size(), result.output);
  return result;
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

Result<GraphDefPart> largest_part(const GraphDef& graph, std::string_view device) {
  GraphDefPart part;
  std::unordered_map<std::string_view, std::size_t> kept;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphDefNode& node = graph.nodes[i];
    if (node.device.find(device) == std::string::npos) continue;
    if (!kept.emplace(node.name, i).second) return Error::invalid(fmt::format("two nodes are named {}", node.name));
    part.device_nodes.push_back(i);
  }
  Components components(graph.nodes.size());
  std::set<std::pair<std::size_t, std::size_t>> edges;
  for (const std::size_t i : part.device_nodes) {
    for (const std::string& input : graph.nodes[i].inputs) {
      const auto from = kept.find(parse_input(input).node);
      if (from == kept.end()) continue;
      ++part.device_references;
      components.join(i, from->second);
      edges.insert(std::minmax(i, from->second));
    }
  }
  std::unordered_map<std::size_t, std::size_t> sizes;
  for (const std::size_t i : part.device_nodes) ++sizes[components.find(i)];
  std::size_t largest = graph.nodes.size(), most = 0;
  for (const std::size_t i : part.device_nodes) {
    const std::size_t size = sizes[components.find(i)];
    if (size <= most) continue;
    most = size;
    largest = components.find(i);
  }
  for (const std::size_t i : part.device_nodes) {
    if (components.find(i) == largest) part.nodes.push_back(i);
  }
  for (const auto& [a, b] : edges) {
    if (a != b && components.find(a) == largest) part.edges.emplace_back(a, b);
  }
  return part;
}

Result<GraphDefFacts> graphdef_facts(const GraphDef& graph, std::string_view device) {
  ORRERY_TRY(const GraphDefPart part, largest_part(graph, device));
  GraphDefFacts facts;
  facts.nodes_total = graph.nodes.size();
  facts.device_nodes = part.device_nodes.size();
  facts.device_references = part.device_references;
  facts.component_nodes = part.nodes.size();
  facts.component_edges = part.edges.size();
  for (const std::size_t i : part.device_nodes) ++facts.device_ops[graph.nodes[i].op];
  for (const std::size_t i : part.nodes) {
    facts.component_tensor_size += tensor_size(graph.nodes[i]);
    ++facts.component_ops[graph.nodes[i].op];
  }
  return facts;
}

}  // namespace orrery::workload
