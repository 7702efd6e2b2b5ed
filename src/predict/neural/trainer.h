#pragma once
// Trains a network on examples in random order, one batch after the other, so that it can be killed at any time and
// continue from its last checkpoint.
//
// Epoch e is a permutation of the examples drawn from the seed and e, cut into batches; the remainder at its end is not
// used. Step, order and learning rate depend on the number of the step alone, so a training that was interrupted ends
// with the same parameters as one that was not. A falling learning rate goes to 0 in a straight line; with a warm-up it
// first rises to its height in a straight line.

#include <functional>
#include <limits>
#include <span>
#include <string>

#include "env/files.h"
#include "predict/neural/network.h"

namespace orrery::predict {

enum class LearningRate { kConstant, kFalling };

struct TrainingPlan {
  std::uint64_t steps = 1000;
  std::size_t batch = 128;  // examples of a step; fewer if there are not as many
  double learning_rate = 1e-3;
  LearningRate schedule = LearningRate::kConstant;
  std::uint64_t warm_up = 0;  // steps
  std::uint64_t seed = 1;
};

// How a training is watched and kept.
struct TrainingWatch {
  std::function<void(std::uint64_t steps)> progress{};  // after each step: how many are done
  std::function<bool()> is_enough{};                    // after each step: whether it was the last
  std::function<double()> now_s{};                      // never goes backwards; needed for all that follows
  double seconds_max = std::numeric_limits<double>::infinity();
  env::Files* files = nullptr;
  std::string checkpoint{};       // the file; empty: none
  std::uint64_t fingerprint = 0;  // of all that the training depends on beside its plan and network
  double checkpoint_every_s = 3;  // and at the end
};

struct TrainingOutcome {
  std::uint64_t steps = 0;
  double seconds = 0;  // of all parts of a training that was interrupted
  double loss = 0;     // mean of the last hundred steps
};

// Fills a batch with these examples.
using FillBatch = std::function<void(std::span<const std::uint32_t> examples, NetworkBatch& batch)>;

// Continues from the checkpoint if there is one; one of another training, cut or damaged is an error that names the
// file. Ends after the plan's steps, or sooner when it is enough or the time is used up.
Result<TrainingOutcome> train(Network& network, std::size_t examples, const FillBatch& fill, const TrainingPlan& plan,
                              const TrainingWatch& watch);

}  // namespace orrery::predict
