#pragma once
// SequenceModel: the ETS form of prediction. A network gets the operators of an iteration and predicts how long each
// runs and how long the device then waits (execution and gap); sums give phases and the iteration.
//
// Sequence structures see windows (windows.h) over the whole iteration, forward to update, and overlapping windows are
// averaged; rows of padding neither count in the loss nor in the mean. The GCN sees a whole iteration as a graph: each
// operator is joined to the next, and a backward operator to its forward one. Inputs (ets_features.h) and both targets
// are standard scores over the operators learned from; targets are microseconds or, as a departure, log(1 + µs).
//
// Method: ETS (HPDC 2024) as its published code has it: four layers of bidirectional LSTM as wide as the 66 inputs, a
// linear map to two numbers at each place, L1 loss, Adam with rate 1e-3, 128 windows a step. Departures: padding is
// masked (there it enters loss, means and sums), and by default the learning rate falls, because a training of
// minutes on a processor has only a few percent of the published steps.

#include <array>
#include <memory>

#include "predict/neural/ets_features.h"
#include "predict/neural/standard_score.h"
#include "predict/neural/trainer.h"

namespace orrery::predict {

enum class TargetForm { kMicroseconds, kLogarithms };

struct SequenceOptions {
  Structure structure = Structure::kBiLstm;
  std::int32_t layers = 4;
  std::int32_t hidden = kEtsFeatures;
  std::int32_t width = 12;  // of a window
  std::int32_t stride = 3;  // from window to window
  Loss loss = Loss::kL1;
  SizeForm sizes = SizeForm::kPublished;
  TargetForm targets = TargetForm::kMicroseconds;
  LearningRate schedule = LearningRate::kConstant;
  double learning_rate = 1e-3;
  std::int32_t rows_per_step = 1536;  // 128 windows of 12
  std::uint64_t steps = 10000;
  std::uint64_t seed = 1;
  std::int32_t threads = 1;

  friend bool operator==(const SequenceOptions&, const SequenceOptions&) = default;
};

Status validate(const SequenceOptions& options);

// What is kept of a training; docs/reference/formats/model.md.
struct SequenceWeights {
  std::string gpu;
  EtsTypes types;
  SizeForm sizes = SizeForm::kPublished;
  TargetForm targets = TargetForm::kMicroseconds;
  std::int32_t stride = 1;
  StandardScore inputs, outputs;
  std::uint64_t traces = 0, operators = 0;  // learned from
  std::uint64_t fingerprint = 0;            // of traces and options
  TrainingOutcome training;
  NetworkOptions network;
  std::vector<float> parameters;
};

std::string to_bytes(const SequenceWeights& weights);
// Any bytes give weights or an error: another version, cut, damaged, or not such a file at all.
Result<SequenceWeights> parse_sequence_weights(std::string_view bytes);

struct SequencePrediction {
  std::vector<double> execution, gap;  // microseconds, by operator
  std::array<double, 3> phases{};
  double iteration = 0;
};

class SequenceModel {
 public:
  // Learns from traces of one GPU whose kernels do not overlap (others are left out). `watch.fingerprint` is not used.
  static Result<SequenceModel> fit(std::span<const LaunchTrace* const> traces,
                                   const std::map<std::int32_t, std::string>& kinds, const SequenceOptions& options,
                                   const TrainingWatch& watch = {});
  static Result<SequenceModel> make(SequenceWeights weights);

  // Looks at the trace's operators only, never at its times.
  Result<SequencePrediction> predict(const LaunchTrace& trace) const;

  const SequenceWeights& weights() const { return weights_; }

 private:
  SequenceModel(SequenceWeights weights, std::unique_ptr<Network> network)
      : weights_(std::move(weights)), network_(std::move(network)) {}

  SequenceWeights weights_;
  std::unique_ptr<Network> network_;
};

// Of the traces and options a model is learned from.
std::uint64_t fingerprint_of(std::span<const LaunchTrace* const> traces, const SequenceOptions& options);

}  // namespace orrery::predict
