#pragma once
// The features of each step of an iteration in a model of measured operators. A step is an operator of the graph in a
// phase.

#include <span>
#include <string>
#include <vector>

#include "hardware/device.h"
#include "workload/training_run.h"

namespace orrery::predict {

// Steps whose kernels are alike.
enum class StepGroup { kConvolution, kGroupedConvolution, kProduct, kMemory, kRecurrence };
inline constexpr std::size_t kStepGroups = 5;

// What a device does in a second, roughly: a model learns the rest. One ordinary core unless given.
struct StepScale {
  double flops_per_second = 4e10;
  double bytes_per_second = 8e9;
  double call = 3e-6;  // seconds of the smallest step
};
StepScale scale_of(const hardware::Device& device);

class StepFeatures {
 public:
  // Precondition: the run outlives the features.
  explicit StepFeatures(const workload::TrainingRun& run, const StepScale& scale = {});

  std::span<const workload::PhaseStep> steps() const { return steps_; }
  StepGroup group(std::size_t step) const;

  // A rough time in seconds: arithmetic and traffic, one after the other, and a call; of a recurrence a call for each
  // kernel of each time step, which wait for one another.
  double prior(std::size_t step) const;

  // What any step can be described by.
  static std::vector<std::string> operator_size_names();
  void operator_sizes(std::size_t step, std::vector<float>& out) const;

  // What a step's group is learned from: the same, or a recurrence's own numbers; features are sizes and more.
  static std::vector<std::string> size_names(StepGroup group);
  static std::vector<std::string> feature_names(StepGroup group);
  void sizes(std::size_t step, std::vector<float>& out) const;
  void features(std::size_t step, std::vector<float>& out) const;

  // The same for steps that differ only by batch and input size. An update is identified by its optimizer and what it
  // updates, whatever the shape: it is a pass over the parameters.
  std::uint64_t likeness(std::size_t step) const;
  // The same for steps of one kind of operator and phase, whatever their shape; for updates by one optimizer.
  std::uint64_t kind_likeness(std::size_t step) const;

 private:
  void recurrence_sizes(std::size_t step, std::vector<float>& out) const;

  const workload::Operator& op(std::size_t step) const { return run_.graph[steps_[step].op]; }

  const workload::TrainingRun& run_;
  StepScale scale_;
  std::vector<workload::PhaseStep> steps_;
  std::vector<workload::OperatorCost> costs_;
  double parameters_ = 0, traffic_ = 0;  // bytes of the model, and of a whole iteration: what of it a cache can hold
};

}  // namespace orrery::predict
