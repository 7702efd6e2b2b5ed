#pragma once
// A multilayer perceptron on a table of numbers: columns become standard scores, targets too unless they must stay
// positive, rows are seen in random order. What the layer and operator networks of others have in common.

#include <memory>

#include "lab/lab.h"
#include "predict/learn/features.h"
#include "predict/neural/standard_score.h"
#include "predict/neural/trainer.h"

namespace orrery::lab {

struct MlpOptions {
  std::vector<std::int32_t> widths{};
  double dropout = 0;        // before the output
  bool is_positive = false;  // ReLU behind the output
  Loss loss = Loss::kL1;
  double adam_epsilon = 1e-8;
  double weight_decay = 0;
  TrainingPlan plan{};  // its seed draws the parameters too
};

class MlpRegression {
 public:
  // Targets as they are to be predicted; every number must be finite.
  static Result<MlpRegression> fit(const Features& features, std::span<const double> targets,
                                   const MlpOptions& options);

  Result<std::vector<double>> predict(const Features& features) const;

 private:
  MlpRegression(StandardScore scores, StandardScore target, std::unique_ptr<Network> network)
      : scores_(std::move(scores)), target_(std::move(target)), network_(std::move(network)) {}

  StandardScore scores_, target_;
  std::unique_ptr<Network> network_;
};

}  // namespace orrery::lab
