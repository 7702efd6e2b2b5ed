#pragma once
// Folders of measured layers: conv_DEVICE.csv.gz and dense_DEVICE.csv.gz, one layer of TensorFlow 1 per row, forward or
// one training step with one of six optimizers.

#include "lab/baselines/layer_mlp.h"
#include "lab/evaluate/suites.h"
#include "lab/lab.h"
#include "lab/methods/layer_rows.h"
#include "predict/operators/device_ensemble.h"

namespace orrery::lab {

struct LayerData {
  std::vector<DeviceFacts> devices;
  Features features{layer_feature_names()};
  std::vector<WorkRow> rows;
  std::vector<char> is_scored;
  Features hyper_parameters{layer_mlp_names()};  // only with baselines
};

// Adds the layers of one class in a folder; `to_fit` and `to_score` say what they are for.
Status read_layers(const SuiteInput& input, const std::string& folder, LayerClass layer_class, bool to_fit,
                   bool to_score, LayerData& data);

}  // namespace orrery::lab
