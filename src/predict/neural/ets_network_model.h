#pragma once
// The ETS network of one machine and what is known of its errors, in a file (docs/formats/model.md, `orrery-ets`).
//
// A fifth of the configurations is left out of the training. How far the network is off there, through the same steps
// as a user's prediction, gives the error and the intervals (learn/conformal.h).
//
// The published loss is absolute, so that a network learns medians, and medians of skewed times add up to less than an
// iteration: all times are multiplied by the factor that keeps sums right on iterations it has learned from.
//
// A network answers for anything, so its time of a step counts only if the model knows the step (known_steps.h); any
// other step takes the roofline, or where iterations ran under a profiler the median step of its phase if that is
// longer: the host launches no faster. A run is in the domain if at most a tenth of its steps and of its time are such
// and nearly all of its motifs were learned from.

#include "predict/analytic/analytic.h"
#include "predict/learn/conformal.h"
#include "predict/measured/known_steps.h"
#include "predict/measured/step_features.h"
#include "predict/neural/ets_lessons.h"
#include "predict/neural/sequence_model.h"

namespace orrery::predict {

// What is put upon the answers of a network.
struct EtsScale {
  double factor = 1;
  std::array<double, 3> floors{};  // seconds of a step of each phase that is by formulas, at least
};

struct EtsNetworkModel {
  MeasuredMachine machine;
  bool was_profiled = false;   // it predicts iterations under the profiler that they were measured with
  std::uint64_t left_out = 0;  // iterations the error and the intervals come from
  double error = 0;            // mean relative error on these
  Conformal intervals{};
  KnownSteps known{};
  EtsScale scale{};
  SequenceWeights weights{};
};

// Learns from four fifths of the iterations, of which there must be twenty. `watch` as SequenceModel::fit has it.
Result<EtsNetworkModel> fit_ets_network(const EtsLessons& lessons, const SequenceOptions& options,
                                        const TrainingWatch& watch = {});

std::string to_bytes(const EtsNetworkModel& model);
// Any bytes give a model or an error.
Result<EtsNetworkModel> parse_ets_network(std::string_view bytes);

// What the network says of each step of a run, and which of it counts.
struct EtsTimes {
  std::vector<double> seconds{};  // by step of the execution order, execution and gap
  std::vector<bool> learned{};    // by step; the others are formulas
  double iteration = 0;
  double formula_steps = 0;   // share of steps that run
  double formula_share = 0;   // of the time
  double unknown_motifs = 0;  // share of operators
  bool in_domain() const {
    return formula_steps <= kLargePart && formula_share <= kLargePart && unknown_motifs <= kUnknownMotifsMax;
  }
};
Result<EtsTimes> ets_times(const SequenceModel& network, const KnownSteps& known, const EtsScale& scale,
                           const workload::TrainingRun& run, const hardware::Device& device);

// Predicts runs on the device a network was learned on. The network between devices, memory and cost are the analytic
// predictor's.
class EtsNetworkPredictor final : public Predictor {
 public:
  // Needs the module of networks.
  static Result<std::unique_ptr<EtsNetworkPredictor>> make(EtsNetworkModel model);

  std::string_view name() const override { return "ets-network"; }
  Result<Prediction> predict(const workload::TrainingRun& run, const hardware::Placement& placement) const override;

 private:
  EtsNetworkPredictor(EtsNetworkModel model, SequenceModel network)
      : model_(std::move(model)), network_(std::move(network)) {}

  EtsNetworkModel model_;
  SequenceModel network_;
};

}  // namespace orrery::predict
