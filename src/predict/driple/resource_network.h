#pragma once
// What training jobs use of a GPU, from their graphs, by Driple's network trained here.
//
// Where this differs from the published training, which learns from raw sizes and does not keep its scales: sizes and
// counts enter as logarithms, all features as standard scores; answers are shares of the largest training value; both
// scales are part of the model. Batches are drawn at random and hold graphs of any size side by side. The GRU cell
// begins as the identity of its input (neural/inspector_form.h), the learning rate rises first, and gradients are
// limited. Of the parameters during the training those with the smallest validation error are kept
// (neural/validated_training.h).
//
// Transfer from a network of another setting: its features' scales stay, and of its parameters only those that
// `Transfer` names learn on.

#include <memory>

#include "predict/driple/grouping.h"
#include "predict/driple/resource_trees.h"
#include "predict/neural/standard_score.h"
#include "predict/neural/validated_training.h"

namespace orrery::predict {

// Graph layers for a graph of m nodes: ⌊m/2⌋ (published), ⌊log2 m⌋, m; at least 1.
enum class DepthRule { kHalf, kLog2, kNodes };
std::string_view to_string(DepthRule rule);
std::int64_t depth_of(std::size_t nodes, DepthRule rule);

inline constexpr std::size_t kResourceNodeInputs = 3;  // size, count, type

struct ResourceNetworkOptions {
  GroupingOptions grouping{.grouping = Grouping::kNone};
  DepthRule depth = DepthRule::kLog2;
  std::int32_t depth_max = 50;
  GraphLayer graph_layer = GraphLayer::kGcn;
  Readout readout = Readout::kSet2Set;
  std::int32_t readout_steps = 4;  // of Set2Set
  std::int32_t hidden = 32;
  std::uint64_t steps = 300;   // at most
  std::uint64_t patience = 0;  // steps; 0: the learning rate falls over all steps
  std::uint64_t warm_up = 50;  // steps in which the learning rate rises
  std::size_t batch = 16;
  double learning_rate = 3e-3;
  double gradient_max = 0.1;
  std::uint64_t check_every = 100;  // steps between validations
  std::uint64_t seed = 1;
  std::int32_t threads = 1;

  friend bool operator==(const ResourceNetworkOptions&, const ResourceNetworkOptions&) = default;
};

struct ResourceNetworkReport {
  ValidatedOutcome outcome{};            // its error is the mean squared error of the shares
  std::int64_t trained = 0, frozen = 0;  // parameters
};

class ResourceNetwork {
 public:
  // All examples must have as many metrics, all finite, and graphs that can be grouped as asked.
  static Result<ResourceNetwork> fit(std::span<const ResourceExample* const> train,
                                     std::span<const ResourceExample* const> validation,
                                     const ResourceNetworkOptions& options, const TrainingWatch& watch = {});
  // Continues from this network on examples of another setting. Layers, readout, width and depths are this network's.
  Result<ResourceNetwork> transferred(std::span<const ResourceExample* const> train,
                                      std::span<const ResourceExample* const> validation, Transfer transfer,
                                      const ResourceNetworkOptions& options, const TrainingWatch& watch = {}) const;

  // One row of metrics per example, never below 0.
  Result<std::vector<std::vector<double>>> predict(std::span<const ResourceExample* const> examples) const;

  const ResourceNetworkReport& report() const { return report_; }
  // How many metrics it answers.
  std::size_t metrics() const { return largest_.size(); }

  // For files; read needs the module of networks.
  std::string to_bytes() const;
  static Result<ResourceNetwork> from_bytes(std::string_view bytes);

 private:
  ResourceNetwork(const ResourceNetworkOptions& options, StandardScore features, std::vector<double> largest)
      : options_(options), features_(std::move(features)), largest_(std::move(largest)) {}

  Result<std::vector<NodeGraph>> graphs_of(std::span<const ResourceExample* const> examples) const;
  void add(const NodeGraph& graph, NetworkBatch& batch) const;
  Status learn(std::span<const ResourceExample* const> train, std::span<const ResourceExample* const> validation,
               const TrainingWatch& watch);
  Result<std::vector<float>> shares(const std::vector<NodeGraph>& graphs) const;

  ResourceNetworkOptions options_;
  StandardScore features_;
  std::vector<double> largest_;  // of every metric
  std::unique_ptr<Network> network_;
  ResourceNetworkReport report_;
};

// The parameters of one inspector as the beginning of another that learns parts of it: found by name, the copy of the
// further layer from the layer itself. Fails if a size differs.
Result<NetworkState> transferred_state(const NetworkOptions& from, const NetworkState& state, const NetworkOptions& to);

}  // namespace orrery::predict
