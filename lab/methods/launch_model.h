#pragma once
// Learns from launch traces how long each operator keeps the device and the host, and predicts an iteration by running
// both through the launch queue.
//
// Four quantities are learned per operator:
//   device    kernels of its own: the DeviceModel, in logarithms, weighted by its share of the iteration
//   hidden    kernels behind it, rowless: a multiple of their roofline, on rows where the device never waited
//   interval  host, since the launch before: a multiple of its neighbours' mean, on rows where the host never waited
//   launch    host, first to last launch: a multiple of the mean of its kind
// The multiples are boosted trees with squared error weighted by (base / iteration)², which makes every trace's
// relative error count the same and keeps sums unbiased. The device's share of the iteration is a feature (GPUs slow
// down under load): it comes from a first pass of the prediction itself.

#include <array>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "lab/lab.h"
#include "lab/methods/device_model.h"
#include "lab/methods/launch_queue.h"
#include "predict/ets/launch_features.h"
#include "predict/learn/boosted_trees.h"

namespace orrery::lab {

struct LaunchModelOptions {
  DevicePeaks peaks;
  int trees = 120;
  double learning_rate = 0.1;
  int leaves = 48;
  double update_share = 0.2;  // of update rows, which are half of all and much alike
  std::uint64_t seed = 1;
  int threads = 2;
};

// The means of values by a key, drawn towards a coarser key's mean where there are few.
class NeighbourMeans {
 public:
  void add(std::uint64_t fine, std::uint64_t coarse, double value, double weight);
  double mean(std::uint64_t fine, std::uint64_t coarse) const;

 private:
  struct Sum {
    double value = 0, weight = 0, count = 0;
  };
  std::unordered_map<std::uint64_t, Sum> fine_, coarse_;
  Sum all_;
};

struct LaunchPrediction {
  QueueTimes times;
  std::vector<QueuedOperator> operators;
  double unknown_share = 0;  // of forward operators, whose like was not in the training data
  bool in_domain() const { return unknown_share <= 0.05; }
};

inline constexpr std::size_t kPhases = 3;
// How a measured trace differs from what a model of its device expects: logarithms of measured over predicted.
struct LaunchResiduals {
  std::vector<double> device, hidden;  // by row
  std::array<double, kPhases> host{};
};

class LaunchModel {
 public:
  using ClassOf = std::function<WorkClass(std::int32_t kind)>;

  // With `asked`, the only traces to be predicted, and without residuals of another device: of the two regressions
  // (device_model.h) only those are learned that these need. The answers are the same.
  static Result<LaunchModel> fit(std::span<const LaunchTrace* const> traces, const ClassOf& class_of,
                                 const LaunchModelOptions& options, std::span<const LaunchTrace* const> asked = {});

  // Looks at the trace's operators only, never at its times. With `other`, the residuals of the same iteration on
  // another device, what was odd there is expected to be odd here too.
  LaunchPrediction predict(const LaunchTrace& trace, const LaunchResiduals* other = nullptr) const;
  // The queue with what the trace measured of its operators, predictions only where a wait hid the measured value: how
  // much of the error is the queue's own.
  QueueTimes replay(const LaunchTrace& trace, const LaunchPrediction& predicted) const;
  LaunchResiduals residuals(const LaunchTrace& trace) const;

 private:
  LaunchModel(const LaunchModelOptions& options, ClassOf class_of)
      : options_(options), class_of_(std::move(class_of)) {}

  void predict_host(const LaunchContext& context, std::vector<QueuedOperator>& operators) const;
  Status fit_host(std::span<const LaunchTrace* const> traces);
  Status fit_device(std::span<const LaunchTrace* const> traces, const DeviceModel::Sights& sights);
  DeviceModel::Sights sights_for(std::span<const LaunchTrace* const> asked) const;
  BoostOptions boost_options() const;
  double unknown_share(const LaunchTrace& trace) const;

  LaunchModelOptions options_;
  ClassOf class_of_;
  NeighbourMeans intervals_, launches_;
  DeviceModel device_;
  BoostedTrees hidden_, interval_, launch_;
  std::unordered_set<std::uint64_t> known_;  // operators without their batch and image
  double behind_batch_norm_ = 55, behind_backward_ = 100;
};

}  // namespace orrery::lab
