#pragma once
// Real data to train on: labelled images, or text.
//
// Images (Fashion-MNIST: 60,000 of 28 × 28 grey pixels in 10 classes) are stretched to the size of the model's input by
// nearest neighbour and repeated over its channels. Text is read as bytes: a token is a byte, its target the next one.
// Batches are taken one after the other from the start and wrap around.

#include <memory>
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

// From the folder of the Debian package dataset-fashion-mnist, or one like it.
Result<std::unique_ptr<TrainingData>> read_images(env::Files& files, const std::string& folder);
Result<std::unique_ptr<TrainingData>> read_text(env::Files& files, const std::string& path);

}  // namespace orrery::profile
