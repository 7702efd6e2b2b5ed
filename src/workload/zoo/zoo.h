#pragma once
// The model zoo: families of models with named parameters, and named variants that fix some of them.
//
//   build_model("resnet50")                               a variant
//   build_model("resnet50:classes=10,input=64")           a variant with some parameters changed
//   build_model("gpt2:layers=24,hidden=1024,heads=16")
//   build_model("timm/efficientnet_b3")                   as the TIMM library has it; the prefix is needed only where
//                                                         torchvision uses the same name for other settings
//
// Names follow torchvision where it has the model. All graphs are built for batch 1 at the model's usual input size and
// contain what runs in a training step, auxiliary heads and losses included.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/options.h"
#include "workload/graph.h"

namespace orrery::workload {

struct ModelFamily {
  std::string name;
  std::string summary;                   // one line for `orrery models`
  std::vector<OptionRecord> parameters;  // all with defaults
  Result<TrainingGraph> (*build)(const std::string& name, const OptionValues& parameters);
};

struct ModelVariant {
  std::string name;
  std::string family;
  std::vector<std::pair<std::string, std::string>> parameters;  // those that differ from the family's defaults
  bool listed = true;                                           // false: an alternative name, accepted but not shown
};

// Every family and variant, sorted by family then name. Built once; safe to use from any thread.
std::span<const ModelFamily> model_families();
std::span<const ModelVariant> model_variants();

const ModelFamily* find_family(std::string_view name);

// A model with all its parameters fixed, not yet built.
struct ModelSpec {
  const ModelFamily* family = nullptr;
  std::string name;  // as the user wrote it
  OptionValues parameters;
};

// Reads "variant[:parameter=value,…]". An unknown model or parameter is named with its nearest match.
Result<ModelSpec> parse_model(std::string_view text);
Result<TrainingGraph> build_model(const ModelSpec& spec);
Result<TrainingGraph> build_model(std::string_view text);

}  // namespace orrery::workload
