#include "cli/network_options.h"

namespace orrery::cli {

namespace {

constexpr predict::Structure kStructures[] = {predict::Structure::kBiLstm,      predict::Structure::kLstm,
                                              predict::Structure::kGru,         predict::Structure::kRnn,
                                              predict::Structure::kTransformer, predict::Structure::kGcn};
constexpr predict::GraphLayer kGraphLayers[] = {predict::GraphLayer::kGcn, predict::GraphLayer::kGin,
                                                predict::GraphLayer::kGat, predict::GraphLayer::kMpnn};
constexpr predict::Readout kReadouts[] = {predict::Readout::kSet2Set, predict::Readout::kSum, predict::Readout::kMean};
constexpr predict::DepthRule kDepths[] = {predict::DepthRule::kHalf, predict::DepthRule::kLog2,
                                          predict::DepthRule::kNodes};
constexpr predict::Grouping kGroupings[] = {predict::Grouping::kNone, predict::Grouping::kUniform,
                                            predict::Grouping::kProportional};
constexpr predict::GroupRule kGroupRules[] = {predict::GroupRule::kLog10, predict::GroupRule::kLog2,
                                              predict::GroupRule::kSquareRoot, predict::GroupRule::kShare};
constexpr predict::Loss kLosses[] = {predict::Loss::kL1, predict::Loss::kSmoothL1, predict::Loss::kMse};

template <class Values>
std::vector<std::string> names_of(const Values& values) {
  std::vector<std::string> names;
  for (const auto value : values) names.emplace_back(to_string(value));
  return names;
}

// The value whose name is among the choices of an option.
template <class Values>
auto named(const Values& values, const std::string& name) {
  for (const auto value : values) {
    if (to_string(value) == name) return value;
  }
  return values[0];
}

}  // namespace

std::vector<OptionRecord> sequence_records() {
  const predict::SequenceOptions form;
  return {
      choice_option("structure", std::string(to_string(form.structure)), names_of(kStructures),
                    "structure of the ETS network"),
      integer_option("layers", form.layers, "layers of the ETS network").bounds(1, 16),
      integer_option("width", form.width, "operators in a window of the ETS network").bounds(1, 256),
      integer_option("stride", form.stride, "operators between the starts of two windows").bounds(1, 256),
      choice_option("loss", std::string(to_string(form.loss)), names_of(kLosses),
                    "loss that the ETS network minimises"),
      flag_option("falling-rate", "let the learning rate of the ETS network fall to 0 (default: it stays constant)")};
}

std::vector<OptionRecord> resource_records() {
  const predict::ResourceNetworkOptions resource;
  return {choice_option("graph-layer", std::string(to_string(resource.graph_layer)), names_of(kGraphLayers),
                        "graph layer of the Driple network"),
          choice_option("readout", std::string(to_string(resource.readout)), names_of(kReadouts),
                        "readout of the Driple network"),
          choice_option("depth", std::string(to_string(resource.depth)), names_of(kDepths),
                        "number of graph layers of the Driple network, as a function of the nodes of a graph"),
          choice_option("grouping", std::string(to_string(resource.grouping.grouping)), names_of(kGroupings),
                        "how nodes are merged before the Driple network reads them"),
          integer_option("groups", static_cast<std::int64_t>(resource.grouping.groups), "groups of uniform grouping")
              .bounds(1, 1e4),
          choice_option("group-rule", std::string(to_string(resource.grouping.rule)), names_of(kGroupRules),
                        "number of groups of proportional grouping, as a function of the nodes of a batch of graphs")};
}

predict::SequenceOptions sequence_options(const OptionValues& options) {
  predict::SequenceOptions form;
  form.structure = named(kStructures, options.text("structure"));
  form.layers = static_cast<std::int32_t>(options.integer("layers"));
  form.width = static_cast<std::int32_t>(options.integer("width"));
  form.stride = static_cast<std::int32_t>(options.integer("stride"));
  form.loss = named(kLosses, options.text("loss"));
  if (options.flag("falling-rate")) form.schedule = predict::LearningRate::kFalling;
  return form;
}

predict::ResourceNetworkOptions resource_options(const OptionValues& options) {
  predict::ResourceNetworkOptions form;
  form.graph_layer = named(kGraphLayers, options.text("graph-layer"));
  form.readout = named(kReadouts, options.text("readout"));
  form.depth = named(kDepths, options.text("depth"));
  form.grouping.grouping = named(kGroupings, options.text("grouping"));
  form.grouping.groups = static_cast<std::size_t>(options.integer("groups"));
  form.grouping.rule = named(kGroupRules, options.text("group-rule"));
  return form;
}

}  // namespace orrery::cli
