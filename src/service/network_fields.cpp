#include "service/network_fields.h"

namespace orrery::service {

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

template <class Values, class Value>
OptionRecord named_choice(std::string name, Value usual, const Values& values, std::string help) {
  return choice_option(std::move(name), std::string(to_string(usual)), names_of(values), std::move(help));
}

Fields<predict::GroupingOptions> grouping_fields() {
  using G = predict::GroupingOptions;
  const G usual = predict::ResourceNetworkOptions().grouping;
  return Fields<G>()
      .add(&G::grouping,
           named_choice("grouping", usual.grouping, kGroupings,
                        "how nodes are merged before the Driple network reads them"),
           named_values(kGroupings))
      .add(&G::groups, integer_option("groups", static_cast<std::int64_t>(usual.groups), "groups of uniform grouping")
                           .bounds(1, 1e4))
      .add(&G::rule,
           named_choice("group-rule", usual.rule, kGroupRules,
                        "number of groups of proportional grouping, as a function of the nodes of a batch of graphs"),
           named_values(kGroupRules));
}

}  // namespace

const Fields<predict::SequenceOptions>& sequence_fields() {
  using S = predict::SequenceOptions;
  static const auto kFields = [] {
    const S usual;
    return Fields<S>()
        .add(&S::structure, named_choice("structure", usual.structure, kStructures, "structure of the ETS network"),
             named_values(kStructures))
        .add(&S::layers, integer_option("layers", usual.layers, "layers of the ETS network").bounds(1, 16))
        .add(&S::width, integer_option("width", usual.width, "operators in a window of the ETS network").bounds(1, 256))
        .add(&S::stride,
             integer_option("stride", usual.stride, "operators between the starts of two windows").bounds(1, 256))
        .add(&S::loss, named_choice("loss", usual.loss, kLosses, "loss that the ETS network minimises"),
             named_values(kLosses))
        .add(&S::schedule,
             flag_option("falling-rate",
                         "let the learning rate of the ETS network fall to 0 (default: it stays constant)"),
             [](const std::string& flag) -> Result<predict::LearningRate> {
               return flag_value(flag) ? predict::LearningRate::kFalling : predict::LearningRate::kConstant;
             });
  }();
  return kFields;
}

const Fields<predict::ResourceNetworkOptions>& resource_network_fields() {
  using R = predict::ResourceNetworkOptions;
  static const auto kFields = [] {
    const R usual;
    return Fields<R>()
        .add(&R::graph_layer,
             named_choice("graph-layer", usual.graph_layer, kGraphLayers, "graph layer of the Driple network"),
             named_values(kGraphLayers))
        .add(&R::readout, named_choice("readout", usual.readout, kReadouts, "readout of the Driple network"),
             named_values(kReadouts))
        .add(&R::depth,
             named_choice("depth", usual.depth, kDepths,
                          "number of graph layers of the Driple network, as a function of the nodes of a graph"),
             named_values(kDepths))
        .add(&R::grouping, grouping_fields());
  }();
  return kFields;
}

}  // namespace orrery::service
