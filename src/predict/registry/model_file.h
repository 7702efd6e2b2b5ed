#pragma once
// Files of learned models: which kind one is, and the predictor it makes.

#include <memory>
#include <string_view>

#include "predict/predictor.h"
#include "predict/regression/run_facts.h"

namespace orrery::predict {

enum class ModelKind {
  kMeasured,    // operator times of a device
  kOperators,   // operators of several GPUs
  kEtsNetwork,  // the ETS network of a device
  kRegression,  // a regression of a table
  kResources,   // Driple's network
  kJobs,        // what workers of jobs use
  kWeights,     // weights that PyTorch saved
  kOther        // another file of this program: a checkpoint, a network alone
};

struct ModelFile {
  ModelKind kind = ModelKind::kOther;
  std::string_view noun;     // "a regression of a table"
  std::string_view used_by;  // the command that reads it
};

// What a file is by its first bytes; an error if it is nothing this program knows.
Result<ModelFile> model_file(std::string_view bytes);

// The predictor of times a file makes. One of another kind is an error that says what it is and which command reads it.
// `facts` are for a regression (regression_model.h).
Result<std::unique_ptr<Predictor>> predictor_of_file(std::string_view bytes, const RunFacts& facts = {});

}  // namespace orrery::predict
