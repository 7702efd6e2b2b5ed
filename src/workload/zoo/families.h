#pragma once
// How the zoo's files register their models. Each file defines one register function; zoo.cpp calls them all.

#include "workload/graph_builder.h"
#include "workload/zoo/zoo.h"

namespace orrery::workload::zoo {

// Collects families and variants.
struct Catalog {
  std::vector<ModelFamily> families;
  std::vector<ModelVariant> variants;

  void family(std::string name, std::string summary, std::vector<OptionRecord> parameters,
              Result<TrainingGraph> (*build)(const std::string&, const OptionValues&));
  // `parameters` reads like a command line: "depth=50,width=128".
  void variant(std::string name, std::string_view family, std::string_view parameters = "");
  void alias(std::string name, std::string_view family, std::string_view parameters = "");
};

// Parameters that nearly every family has.
OptionRecord classes_parameter(std::int64_t default_value = 1000);
OptionRecord image_parameter(std::int64_t default_value = 224);
OptionRecord channels_parameter(std::int64_t default_value = 3);                              // of the input image
OptionRecord size_parameter(std::string name, std::int64_t default_value, std::string help);  // 1 … 2^20

// An image input [1, channels, input, input] from parameters "channels" and "input".
Value image_input(GraphBuilder& g, const OptionValues& p);

void register_alexnet(Catalog& catalog);
void register_dense(Catalog& catalog);
void register_language(Catalog& catalog);
void register_recurrent(Catalog& catalog);
void register_resnet(Catalog& catalog);
void register_swin(Catalog& catalog);
void register_vit(Catalog& catalog);
void register_lenet(Catalog& catalog);
void register_vgg(Catalog& catalog);
void register_densenet(Catalog& catalog);
void register_inception(Catalog& catalog);
void register_squeezenet(Catalog& catalog);
void register_mobilenet(Catalog& catalog);
void register_mnasnet(Catalog& catalog);
void register_efficientnet(Catalog& catalog);
void register_shufflenet(Catalog& catalog);
void register_regnet(Catalog& catalog);
void register_convnext(Catalog& catalog);
void register_randwire(Catalog& catalog);
void register_vae(Catalog& catalog);

}  // namespace orrery::workload::zoo
