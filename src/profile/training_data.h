#pragma once
// Real data to train on: labelled images, or text.
//
// Images (Fashion-MNIST: 60,000 of 28 × 28 grey pixels in 10 classes) are scaled to the size of the model's input by
// nearest neighbour and repeated over its channels. Text is read as bytes: a token is a byte, its target the next one.
// Batches are taken one after the other from the start and wrap around. Images can also be fed by their numbers.

#include <memory>
#include <span>
#include <string>

#include "env/files.h"
#include "profile/executor.h"

namespace orrery::profile {

inline constexpr const char* kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";

class TrainingData {
 public:
  virtual ~TrainingData() = default;
  // Puts batch number `step` into the executor of `graph`.
  virtual Status feed(Executor& executor, const workload::TrainingGraph& graph, std::int64_t step) const = 0;
};

// Labelled samples with numbers from 0 on.
class LabelledData : public TrainingData {
 public:
  virtual std::uint64_t samples() const = 0;
  virtual int label(std::uint64_t sample) const = 0;
  // Puts these samples, as many as the graph's batch, into its executor.
  virtual Status feed_samples(Executor& executor, const workload::TrainingGraph& graph,
                              std::span<const std::uint64_t> samples) const = 0;
};

// From the folder of the Debian package dataset-fashion-mnist, or one like it.
enum class ImageSet { kTraining, kTest };
Result<std::unique_ptr<LabelledData>> read_images(env::Files& files, const std::string& folder,
                                                  ImageSet set = ImageSet::kTraining);
// Synthetic images of the same size in ten classes: bright spots whose places are the class's, with noise. The same
// seed gives the same classes; `set` chooses the noise.
std::unique_ptr<LabelledData> make_up_images(std::uint64_t samples, std::uint64_t seed, ImageSet set);
Result<std::unique_ptr<TrainingData>> read_text(env::Files& files, const std::string& path);

}  // namespace orrery::profile
