#pragma once
// The models the driple suite chooses among, behind one form.

#include <functional>
#include <string>

#include "lab/evaluate/suites.h"
#include "lab/lab.h"
#include "predict/driple/resource_trees.h"

namespace orrery::lab {

using Examples = std::vector<const ResourceExample*>;

// One row of metrics per example.
using ResourcePredictions = std::vector<std::vector<double>>;
using ResourcePredictor = std::function<Result<ResourcePredictions>(const Examples& examples)>;

struct ResourceModelKind {
  std::string name;
  // Learns from the first; the second is for models that watch an error while they learn, which therefore must not
  // learn from it later.
  std::function<Result<ResourcePredictor>(const Examples& train, const Examples& validation)> fit;
  bool watches_validation = false;
};

// The network is among them if it is given steps to train: that takes minutes where the others take seconds.
std::vector<ResourceModelKind> resource_model_kinds(const SuiteInput& input);

// Roots of mean squared errors of one metric, relative to what the names say.
struct NormalisedErrors {
  double range = 0, mean = 0, max_train = 0;
};
// The mean over metrics comes last.
std::vector<NormalisedErrors> normalised_errors(const Examples& examples, const ResourcePredictions& predicted,
                                                const Examples& train);

}  // namespace orrery::lab
