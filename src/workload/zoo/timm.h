#pragma once
// Names of the TIMM library (PyTorch Image Models) that describe architectures of the zoo.
//
// A name is read by its pattern and becomes a model text such as "mobilenet_v2:width=0.50,dropout=0": the same layers,
// without the regularisation TIMM leaves off by default, at the image size TIMM trains the model with. A pretraining
// tag after a dot ("resnet50.a1_in1k") is ignored; "resnet50.yaml" is a file. Names whose architecture the zoo cannot
// build exactly give no value.

#include <optional>
#include <string>
#include <string_view>

namespace orrery::workload::zoo {

// Without a pretraining tag: small letters, digits and underscores after the only dot. A name that ends like a file has
// none.
std::string_view without_timm_tag(std::string_view name);

std::optional<std::string> timm_cnn_model(std::string_view name);
std::optional<std::string> timm_transformer_model(std::string_view name);

}  // namespace orrery::workload::zoo
