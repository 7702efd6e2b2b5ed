#include "predict/driple/checkpoint.h"

#include <bit>
#include <cstring>
#include <fmt/format.h>

#include "base/text.h"
#include "predict/driple/pickle.h"
#include "predict/driple/zip_archive.h"

namespace orrery::predict {

namespace {

static_assert(std::endian::native == std::endian::little);

using Files = std::map<std::string, std::string_view>;

constexpr std::string_view kPickleName = "/data.pkl";
constexpr std::size_t kRankMax = 8;

class Reader {
 public:
  Reader(const Pickle& pickle, const Files& files, std::string folder)
      : pickle_(pickle), files_(files), folder_(std::move(folder)) {}

  Result<Checkpoint> read() {
    Checkpoint checkpoint;
    const PickleNode& root = at(pickle_.root);
    if (root.kind != PickleKind::kDict && !is_call(root, "collections OrderedDict")) {
      return Error::invalid("the file does not hold a dictionary of tensors");
    }
    for (const auto& [key, value] : root.entries) {
      if (at(key).kind != PickleKind::kText) return Error::invalid("a tensor's name is not a text");
      const std::string& name = at(key).text;
      auto tensor = tensor_of(at(value));
      if (!tensor) return std::move(tensor).error().with_context(quote(name));
      if (!checkpoint.emplace(name, std::move(*tensor)).second) {
        return Error::invalid(fmt::format("two tensors are named {}", quote(name)));
      }
    }
    return checkpoint;
  }

 private:
  const PickleNode& at(std::uint32_t node) const { return pickle_.nodes[node]; }
  bool is_call(const PickleNode& node, std::string_view callee) const {
    return node.kind == PickleKind::kCall && at(node.items[0]).kind == PickleKind::kGlobal &&
           at(node.items[0]).text == callee;
  }

  Result<std::vector<std::int64_t>> integers(const PickleNode& node) const {
    if (node.kind != PickleKind::kTuple || node.items.size() > kRankMax) return Error::invalid("no list of sizes");
    std::vector<std::int64_t> values;
    for (const std::uint32_t item : node.items) {
      if (at(item).kind != PickleKind::kInteger) return Error::invalid("a size is not an integer");
      values.push_back(at(item).integer);
    }
    return values;
  }

  // The bytes of ('storage', type, key, device, elements).
  Result<std::string_view> storage_of(const PickleNode& node) const {
    if (node.kind != PickleKind::kPersistent || at(node.items[0]).kind != PickleKind::kTuple ||
        at(node.items[0]).items.size() < 3) {
      return Error::invalid("its storage is not described");
    }
    const std::vector<std::uint32_t>& parts = at(node.items[0]).items;
    if (at(parts[1]).text != "torch FloatStorage") {
      return Error::unsupported(fmt::format("its numbers are of type {}, not float32", quote(at(parts[1]).text)));
    }
    const auto found = files_.find(fmt::format("{}/data/{}", folder_, at(parts[2]).text));
    if (found == files_.end()) return Error::invalid("its numbers are missing in the file");
    return found->second;
  }

  // _rebuild_tensor_v2(storage, offset, sizes, strides, …).
  Result<CheckpointTensor> tensor_of(const PickleNode& node) {
    if (!is_call(node, "torch._utils _rebuild_tensor_v2")) return Error::invalid("not a tensor");
    const PickleNode& arguments = at(node.items[1]);
    if (arguments.kind != PickleKind::kTuple || arguments.items.size() < 4) return Error::invalid("not a tensor");
    ORRERY_TRY(const std::string_view bytes, storage_of(at(arguments.items[0])));
    CheckpointTensor tensor;
    ORRERY_TRY(tensor.shape, integers(at(arguments.items[2])));
    ORRERY_TRY(const std::vector<std::int64_t> strides, integers(at(arguments.items[3])));
    ORRERY_TRY(const std::size_t count, count_of(tensor.shape, strides));
    const std::int64_t offset = at(arguments.items[1]).integer;
    const std::size_t numbers = bytes.size() / sizeof(float);
    if (offset < 0 || static_cast<std::size_t>(offset) > numbers ||
        count > numbers - static_cast<std::size_t>(offset)) {
      return Error::invalid("it reaches beyond its numbers");
    }
    total_ += count;
    if (total_ > kCheckpointNumbersMax) return Error::invalid("the tensors are too large");
    tensor.values.resize(count);
    if (count > 0) {
      std::memcpy(tensor.values.data(), bytes.data() + static_cast<std::size_t>(offset) * sizeof(float),
                  count * sizeof(float));
    }
    return tensor;
  }

  // Elements of a tensor that is stored row by row.
  static Result<std::size_t> count_of(const std::vector<std::int64_t>& shape,
                                      const std::vector<std::int64_t>& strides) {
    if (strides.size() != shape.size()) return Error::invalid("its sizes and strides do not fit");
    std::int64_t count = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (shape[i] < 0 || shape[i] > static_cast<std::int64_t>(kCheckpointNumbersMax)) {
        return Error::invalid("a size is out of range");
      }
      if (shape[i] > 1 && strides[i] != count) return Error::unsupported("it does not lie row by row");
      count *= shape[i];
      if (count > static_cast<std::int64_t>(kCheckpointNumbersMax)) return Error::invalid("it is too large");
    }
    return static_cast<std::size_t>(count);
  }

  const Pickle& pickle_;
  const Files& files_;
  std::string folder_;
  std::size_t total_ = 0;
};

}  // namespace

Result<Checkpoint> parse_checkpoint(std::string_view bytes) {
  ORRERY_TRY(const Files files, parse_zip(bytes));
  for (const auto& [name, content] : files) {
    if (!name.ends_with(kPickleName)) continue;
    ORRERY_TRY(const Pickle pickle, parse_pickle(content));
    return Reader(pickle, files, name.substr(0, name.size() - kPickleName.size())).read();
  }
  return Error::invalid("no data.pkl inside: not a file of PyTorch's");
}

}  // namespace orrery::predict
