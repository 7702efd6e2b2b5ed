// The file of a ResourceNetwork.

#include <cmath>

#include "predict/driple/resource_network.h"
#include "predict/learn/sealed.h"
#include "predict/neural/weights.h"

namespace orrery::predict {

namespace {

constexpr SealedKind kNetworkKind{"orrery-driple", 2, "resource network", "orrery-lab evaluate driple --keep DIR"};
constexpr std::size_t kLabelsMax = 1024;

}  // namespace

std::string ResourceNetwork::to_bytes() const {
  ByteWriter body;
  write_options(network_->options(), body);
  body.u8(static_cast<std::uint8_t>(options_.depth));
  body.u8(static_cast<std::uint8_t>(options_.grouping.grouping));
  body.u8(static_cast<std::uint8_t>(options_.grouping.rule));
  body.u64(options_.grouping.groups);
  body.f64(options_.grouping.share);
  body.u64(options_.grouping.seed);
  features_.write(body);
  body.u32(static_cast<std::uint32_t>(largest_.size()));
  for (const double one : largest_) body.f64(one);
  write_numbers(network_->state().parameters, body);
  return seal(kNetworkKind, body.bytes());
}

Result<ResourceNetwork> ResourceNetwork::from_bytes(std::string_view bytes) {
  ORRERY_TRY(const std::string_view body, unseal(kNetworkKind, bytes));
  ByteReader in(body);
  ORRERY_TRY(const NetworkOptions form, read_options(in));
  if (form.structure != Structure::kInspector || form.inputs != kResourceNodeInputs) {
    return Error::invalid("its network does not read graphs");
  }
  ResourceNetworkOptions options;
  options.depth_max = form.layers;
  options.hidden = form.hidden;
  options.readout_steps = form.length;
  options.graph_layer = form.graph_layer;
  options.readout = form.readout;
  options.seed = form.seed;
  ORRERY_TRY(const std::uint8_t depth, in.u8());
  ORRERY_TRY(const std::uint8_t grouping, in.u8());
  ORRERY_TRY(const std::uint8_t rule, in.u8());
  if (depth > static_cast<std::uint8_t>(DepthRule::kNodes) ||
      grouping > static_cast<std::uint8_t>(Grouping::kProportional) ||
      rule > static_cast<std::uint8_t>(GroupRule::kShare)) {
    return Error::invalid("an unknown rule for depths or groups");
  }
  options.depth = static_cast<DepthRule>(depth);
  options.grouping.grouping = static_cast<Grouping>(grouping);
  options.grouping.rule = static_cast<GroupRule>(rule);
  ORRERY_TRY(options.grouping.groups, in.u64());
  ORRERY_TRY(options.grouping.share, in.f64());
  ORRERY_TRY(options.grouping.seed, in.u64());
  ORRERY_TRY(StandardScore features, StandardScore::read(in));
  ORRERY_TRY(const std::size_t metrics, in.count(8, kLabelsMax));
  std::vector<double> largest(metrics);
  for (double& one : largest) {
    ORRERY_TRY(one, in.f64());
    if (!std::isfinite(one) || !(one > 0)) return Error::invalid("the largest value of a metric is not above 0");
  }
  if (features.columns() != kResourceNodeInputs || largest.size() != static_cast<std::size_t>(form.outputs) ||
      options.grouping.groups == 0 || !(options.grouping.share >= 0)) {
    return Error::invalid("its scales do not fit its network");
  }
  ResourceNetwork model(options, std::move(features), std::move(largest));
  NetworkState state;
  ORRERY_TRY(state.parameters, read_numbers(in));
  if (!in.at_end()) return Error::invalid("bytes behind its end");
  state.first_moments.assign(state.parameters.size(), 0.0F);
  state.second_moments = state.first_moments;
  ORRERY_TRY(model.network_, make_network(form));
  ORRERY_TRY_VOID(model.network_->set_state(state));
  return model;
}

}  // namespace orrery::predict
