#pragma once
// Driple's network trained on measured use of resources, in a file (docs/formats/model.md, `orrery-resources`).
//
// Runs are drawn 60 : 20 : 20, repetitions of one together: the network learns from the first part, keeps the
// parameters that are best on the second, and its errors on the third, which it has not seen in any way, give the error
// and the intervals (learn/conformal.h), metric by metric.
//
// A graph is in the domain if nearly all of its operators were in graphs learned from, and its nodes, all of its
// tensors and its largest one are at most twice beyond what they had.

#include <set>

#include "predict/driple/resource_metrics.h"
#include "predict/driple/resource_network.h"
#include "predict/learn/conformal.h"

namespace orrery::predict {

// What graphs are made of: all that a training step runs (node_graph.h), or its forward pass alone.
enum class GraphForm : std::uint8_t { kTraining, kForward };

// A metric by its name and unit: "GPU burst" in "s", "peak memory" in "MiB".
struct MetricLabel {
  std::string name, unit;
  friend bool operator==(const MetricLabel&, const MetricLabel&) = default;
};

struct NamedExample {
  std::string name;  // repetitions of a run share it
  ResourceExample example;
};
using NamedExamples = std::vector<std::unique_ptr<const NamedExample>>;

// Measured runs to learn from.
struct ResourceSet {
  std::string measured;  // what and where, for people
  GraphForm form = GraphForm::kTraining;
  std::vector<MetricLabel> metrics;
  OpFrequencies frequencies;
  NamedExamples examples;
};

struct ResourceModel {
  std::string measured;
  GraphForm form = GraphForm::kTraining;
  std::vector<MetricLabel> metrics;
  OpFrequencies frequencies;
  std::uint64_t seed = 1, runs = 0, left_out = 0, steps = 0;
  std::vector<double> errors;  // of each metric: root of the mean squared error over the range, of runs left out
  std::vector<double>
      smallest;  // of each: what a prediction counts as at least when an interval is put around it; 0: it was always 0
  Conformal intervals{};      // by metric
  std::set<std::string> ops;  // of the graphs learned from
  struct Range {
    double least = 0, most = 0;
  };
  Range nodes, elements, largest;  // of these graphs
  std::string network;             // bytes of a ResourceNetwork

  double error() const;  // mean of errors
};

// A training that is kept in a checkpoint cannot be watched: then the second part is learned from too.
Result<ResourceModel> fit_resources(const ResourceSet& set, const ResourceNetworkOptions& options,
                                    const TrainingWatch& watch = {});

std::string to_bytes(const ResourceModel& model);
// Any bytes give a model or an error.
Result<ResourceModel> parse_resource_model(std::string_view bytes);

struct PredictedMetric {
  MetricLabel label;
  double value = 0, low = 0, high = 0;
};
struct ResourcePrediction {
  std::vector<PredictedMetric> metrics;
  bool in_domain = false;
  std::vector<std::string> notes;
  std::size_t nodes = 0;
};

// Needs the module of networks.
class FittedResources {
 public:
  static Result<FittedResources> make(ResourceModel model);
  Result<ResourcePrediction> predict(const workload::TrainingRun& run) const;
  const ResourceModel& model() const { return model_; }

 private:
  FittedResources(ResourceModel model, ResourceNetwork network)
      : model_(std::move(model)), network_(std::move(network)) {}

  ResourceModel model_;
  ResourceNetwork network_;
};

// Builds the graph of a run as a model's graphs are.
BuiltGraph resource_graph(const workload::TrainingRun& run, GraphForm form, const OpFrequencies& frequencies);

// The names of Driple's twelve metrics of four resources, in its order: idle, burst, amount of each.
std::vector<MetricLabel> driple_labels(const std::array<std::string_view, kResources>& resources,
                                       const std::array<std::string_view, kResources>& units);

}  // namespace orrery::predict
