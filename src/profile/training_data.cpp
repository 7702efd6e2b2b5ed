#include "profile/training_data.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/gzip.h"
#include "base/text.h"

namespace orrery::profile {

using workload::OperatorKind;

namespace {

constexpr Bytes kLargestFile = mebibytes(256);

// The IDX format: two zero bytes, the element type (8: bytes), the rank, big-endian sizes, then the elements.
struct Idx {
  std::vector<std::size_t> sizes;
  std::string elements;
};

Result<Idx> parse_idx(std::string_view bytes, std::size_t rank) {
  const std::size_t header = 4 + 4 * rank;
  const bool is_idx = bytes.size() >= header && bytes[0] == 0 && bytes[1] == 0 && bytes[2] == 8 &&
                      static_cast<std::size_t>(bytes[3]) == rank;
  if (!is_idx) return Error::invalid(fmt::format("expected an IDX file of bytes in {} dimensions", rank));
  Idx idx;
  std::size_t elements = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    std::size_t size = 0;
    for (std::size_t b = 0; b < 4; ++b) size = size << 8 | static_cast<unsigned char>(bytes[4 + 4 * i + b]);
    const std::size_t left = bytes.size() - header;
    if (size == 0 || size > left / elements) return Error::invalid(fmt::format("dimension {} is {}", i, size));
    idx.sizes.push_back(size);
    elements *= size;
  }
  if (bytes.size() - header != elements) {
    return Error::invalid(fmt::format("expected {} elements, got {}", elements, bytes.size() - header));
  }
  idx.elements = bytes.substr(header);
  return idx;
}

Result<Idx> read_idx(env::Files& files, const std::string& path, std::size_t rank) {
  ORRERY_TRY(const std::string packed, files.read(path, kLargestFile));
  auto bytes = gunzip(packed, kLargestFile);
  if (!bytes) return std::move(bytes).error().with_context(path);
  auto idx = parse_idx(*bytes, rank);
  if (!idx) return std::move(idx).error().with_context(path);
  return idx;
}

// The type of the first input of the graph.
const workload::TensorType& input_type(const workload::TrainingGraph& graph) {
  const auto ops = graph.operators();
  return std::find_if(ops.begin(), ops.end(), [](const auto& op) { return op.kind == OperatorKind::kInput; })
      ->outputs[0];
}

// What the first loss chooses between; nothing if it is no choice.
std::optional<std::int64_t> classes_of(const workload::TrainingGraph& graph) {
  for (const workload::Operator& op : graph.operators()) {
    if (op.kind == OperatorKind::kCrossEntropy) return graph.type(op.inputs[0]).shape[-1];
  }
  return {};
}

class Images final : public TrainingData {
 public:
  Images(Idx pixels, Idx labels) : pixels_(std::move(pixels)), labels_(std::move(labels)) {}

  Status feed(Executor& executor, const workload::TrainingGraph& graph, std::int64_t step) const override {
    const workload::TensorType& type = input_type(graph);
    const auto classes = classes_of(graph);
    if (type.shape.rank() != 4 || !is_floating(type.dtype) || classes.value_or(0) <= largest_label()) {
      return Error::unsupported(
          fmt::format("{} does not classify images into {} classes", graph.name(), largest_label() + 1));
    }
    std::vector<float> input, target;
    input.reserve(static_cast<std::size_t>(type.shape.elements()));
    for (std::int64_t i = 0; i < graph.batch(); ++i) {
      const auto image = static_cast<std::size_t>(step * graph.batch() + i) % pixels_.sizes[0];
      append_image(image, type.shape, input);
      target.push_back(static_cast<float>(label(image)));
    }
    ORRERY_TRY_VOID(executor.set_input(0, input));
    return executor.set_target(0, target);
  }

 private:
  int label(std::size_t image) const { return static_cast<unsigned char>(labels_.elements[image]); }
  int largest_label() const {
    int largest = 0;
    for (std::size_t i = 0; i < labels_.sizes[0]; ++i) largest = std::max(largest, label(i));
    return largest;
  }

  void append_image(std::size_t image, const workload::Shape& shape, std::vector<float>& input) const {
    const std::size_t rows = pixels_.sizes[1], columns = pixels_.sizes[2];
    const auto height = static_cast<std::size_t>(shape[2]), width = static_cast<std::size_t>(shape[3]);
    const char* pixels = pixels_.elements.data() + image * rows * columns;
    for (std::int64_t channel = 0; channel < shape[1]; ++channel) {
      for (std::size_t y = 0; y < height; ++y) {
        for (std::size_t x = 0; x < width; ++x) {
          const auto grey = static_cast<unsigned char>(pixels[y * rows / height * columns + x * columns / width]);
          input.push_back(static_cast<float>(grey) / 127.5F - 1.0F);
        }
      }
    }
  }

  Idx pixels_, labels_;
};

class Text final : public TrainingData {
 public:
  explicit Text(std::string text) : text_(std::move(text)) {}

  Status feed(Executor& executor, const workload::TrainingGraph& graph, std::int64_t step) const override {
    const workload::TensorType& type = input_type(graph);
    const auto classes = classes_of(graph);
    if (type.shape.rank() != 2 || is_floating(type.dtype) || classes.value_or(0) < 256) {
      return Error::unsupported(fmt::format("{} does not predict the next of at least 256 tokens", graph.name()));
    }
    std::vector<float> input, target;
    for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
      const auto place = static_cast<std::size_t>(step * type.shape.elements() + i);
      input.push_back(token(place));
      target.push_back(token(place + 1));
    }
    ORRERY_TRY_VOID(executor.set_input(0, input));
    return executor.set_target(0, target);
  }

 private:
  float token(std::size_t place) const {
    return static_cast<float>(static_cast<unsigned char>(text_[place % text_.size()]));
  }

  std::string text_;
};

}  // namespace

Result<std::unique_ptr<TrainingData>> read_images(env::Files& files, const std::string& folder) {
  ORRERY_TRY(Idx pixels, read_idx(files, folder + "/train-images-idx3-ubyte.gz", 3));
  ORRERY_TRY(Idx labels, read_idx(files, folder + "/train-labels-idx1-ubyte.gz", 1));
  if (pixels.sizes[0] != labels.sizes[0]) {
    return Error::invalid(fmt::format("{}: {} images but {} labels", folder, pixels.sizes[0], labels.sizes[0]));
  }
  return std::make_unique<Images>(std::move(pixels), std::move(labels));
}

Result<std::unique_ptr<TrainingData>> read_text(env::Files& files, const std::string& path) {
  ORRERY_TRY(std::string text, files.read(path, kLargestFile));
  if (text.empty()) return Error::invalid(fmt::format("{} is empty", path));
  return std::make_unique<Text>(std::move(text));
}

}  // namespace orrery::profile
