#include "profile/training_data.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/check.h"
#include "base/gzip.h"
#include "base/random.h"
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
  const workload::Operators& ops = graph.operators();
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

class Images final : public LabelledData {
 public:
  Images(Idx pixels, Idx labels) : pixels_(std::move(pixels)), labels_(std::move(labels)) {
    for (std::uint64_t i = 0; i < samples(); ++i) largest_label_ = std::max(largest_label_, label(i));
  }

  std::uint64_t samples() const override { return pixels_.sizes[0]; }
  int label(std::uint64_t sample) const override { return static_cast<unsigned char>(labels_.elements[sample]); }

  Status feed(Executor& executor, const workload::TrainingGraph& graph, std::int64_t step) const override {
    std::vector<std::uint64_t> numbers;
    for (std::int64_t i = 0; i < graph.batch(); ++i) {
      numbers.push_back(static_cast<std::uint64_t>(step * graph.batch() + i) % samples());
    }
    return feed_samples(executor, graph, numbers);
  }

  Status feed_samples(Executor& executor, const workload::TrainingGraph& graph,
                      std::span<const std::uint64_t> numbers) const override {
    ORRERY_CHECK(static_cast<std::int64_t>(numbers.size()) == graph.batch());
    const workload::TensorType& type = input_type(graph);
    const auto classes = classes_of(graph);
    if (type.shape.rank() != 4 || !is_floating(type.dtype) || classes.value_or(0) <= largest_label_) {
      return Error::unsupported(
          fmt::format("{} does not classify images into {} classes", graph.name(), largest_label_ + 1));
    }
    std::vector<float> input, target;
    input.reserve(static_cast<std::size_t>(type.shape.elements()));
    for (const std::uint64_t image : numbers) {
      append_image(image, type.shape, input);
      target.push_back(static_cast<float>(label(image)));
    }
    ORRERY_TRY_VOID(executor.set_input(0, input));
    return executor.set_target(0, target);
  }

 private:
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
  int largest_label_ = 0;
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

Result<std::unique_ptr<LabelledData>> read_images(env::Files& files, const std::string& folder, ImageSet set) {
  const std::string start = folder + (set == ImageSet::kTraining ? "/train" : "/t10k");
  ORRERY_TRY(Idx pixels, read_idx(files, start + "-images-idx3-ubyte.gz", 3));
  ORRERY_TRY(Idx labels, read_idx(files, start + "-labels-idx1-ubyte.gz", 1));
  if (pixels.sizes[0] != labels.sizes[0]) {
    return Error::invalid(fmt::format("{}: {} images but {} labels", folder, pixels.sizes[0], labels.sizes[0]));
  }
  return std::make_unique<Images>(std::move(pixels), std::move(labels));
}

std::unique_ptr<LabelledData> make_up_images(std::uint64_t samples, std::uint64_t seed, ImageSet set) {
  constexpr std::size_t kSide = 28, kClasses = 10, kSpots = 6;
  constexpr double kNoise = 150;
  Random places = Random(seed).split("places");
  std::vector<std::string> classes(kClasses, std::string(kSide * kSide, '\0'));
  for (std::string& image : classes) {
    for (std::size_t spot = 0; spot < kSpots; ++spot) {
      const std::size_t y = places.below(kSide - 4), x = places.below(kSide - 4);
      for (std::size_t i = 0; i < 16; ++i) image[(y + i / 4) * kSide + x + i % 4] = static_cast<char>(80);
    }
  }
  Random random = Random(seed).split(set == ImageSet::kTraining ? "training" : "test");
  Idx pixels{{samples, kSide, kSide}, {}}, labels{{samples}, {}};
  pixels.elements.reserve(samples * kSide * kSide);
  for (std::uint64_t i = 0; i < samples; ++i) {
    const std::uint64_t chosen = random.below(kClasses);
    labels.elements += static_cast<char>(chosen);
    for (const char pixel : classes[chosen]) {
      const double value = static_cast<unsigned char>(pixel) + kNoise * random.uniform(-1, 1) + kNoise / 2;
      pixels.elements += static_cast<char>(static_cast<unsigned char>(std::clamp(value, 0.0, 255.0)));
    }
  }
  return std::make_unique<Images>(std::move(pixels), std::move(labels));
}

Result<std::unique_ptr<TrainingData>> read_text(env::Files& files, const std::string& path) {
  ORRERY_TRY(std::string text, files.read(path, kLargestFile));
  if (text.empty()) return Error::invalid(fmt::format("{} is empty", path));
  return std::make_unique<Text>(std::move(text));
}

}  // namespace orrery::profile
