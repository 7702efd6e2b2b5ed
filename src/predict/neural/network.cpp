#include "predict/neural/network.h"

#include <fmt/format.h>

#include "predict/neural/inspector_form.h"
#include "profile/module.h"

namespace orrery::predict {

namespace {

constexpr std::int64_t kSizeMax = 1 << 16;
constexpr std::int64_t kLayersMax = 64;
constexpr std::int64_t kParametersMax = 1 << 26;

// Of the order of the structure's size; a file that claims more than memory must be rejected.
std::int64_t rough_parameters(const NetworkOptions& options) {
  const std::int64_t hidden = options.hidden;
  std::int64_t total = hidden * (options.inputs + options.outputs + options.length + options.edge_inputs);
  total += 8 * options.layers * hidden * hidden;
  std::int64_t in = options.inputs;
  for (const std::int32_t width : options.widths) {
    total += in * width;
    in = width;
  }
  return total;
}

Status in_range(std::string_view name, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return {};
  return Error::invalid(fmt::format("a network's {} must be {} to {}, not {}", name, low, high, value));
}

}  // namespace

std::string_view to_string(Structure structure) {
  switch (structure) {
    case Structure::kBiLstm:
      return "bilstm";
    case Structure::kLstm:
      return "lstm";
    case Structure::kGru:
      return "gru";
    case Structure::kRnn:
      return "rnn";
    case Structure::kTransformer:
      return "transformer";
    case Structure::kGcn:
      return "gcn";
    case Structure::kAttention:
      return "attention";
    case Structure::kMlp:
      return "mlp";
    case Structure::kInspector:
      return "inspector";
  }
  return "?";
}

std::string_view to_string(GraphLayer layer) {
  switch (layer) {
    case GraphLayer::kGcn:
      return "gcn";
    case GraphLayer::kGin:
      return "gin";
    case GraphLayer::kGat:
      return "gat";
    case GraphLayer::kMpnn:
      return "mpnn";
  }
  return "?";
}

std::string_view to_string(Readout readout) {
  switch (readout) {
    case Readout::kSet2Set:
      return "set2set";
    case Readout::kSum:
      return "sum";
    case Readout::kMean:
      return "mean";
  }
  return "?";
}

std::string_view to_string(Transfer transfer) {
  switch (transfer) {
    case Transfer::kNone:
      return "none";
    case Transfer::kMlp:
      return "mlp";
    case Transfer::kHalf:
      return "half";
  }
  return "?";
}

std::string_view to_string(Loss loss) {
  switch (loss) {
    case Loss::kL1:
      return "l1";
    case Loss::kSmoothL1:
      return "smooth-l1";
    case Loss::kMse:
      return "mse";
  }
  return "?";
}

Status validate(const NetworkOptions& options) {
  ORRERY_TRY_VOID(in_range("inputs", options.inputs, 1, kSizeMax));
  ORRERY_TRY_VOID(in_range("outputs", options.outputs, 1, kSizeMax));
  ORRERY_TRY_VOID(in_range("layers", options.layers, 1, kLayersMax));
  ORRERY_TRY_VOID(in_range("hidden values", options.hidden, 1, kSizeMax));
  ORRERY_TRY_VOID(in_range("length", options.length, 1, kSizeMax));
  ORRERY_TRY_VOID(in_range("edge inputs", options.edge_inputs, 0, kSizeMax));
  ORRERY_TRY_VOID(in_range("threads", options.threads, 1, 1024));
  ORRERY_TRY_VOID(in_range("widths", static_cast<std::int64_t>(options.widths.size()),
                           options.structure == Structure::kMlp ? 1 : 0, kLayersMax));
  for (const std::int32_t width : options.widths) ORRERY_TRY_VOID(in_range("width", width, 1, kSizeMax));
  if (!(options.dropout >= 0 && options.dropout < 1)) return Error::invalid("dropout must be at least 0 and below 1");
  if (!(options.adam_epsilon > 0) || !(options.weight_decay >= 0) || !(options.gradient_max >= 0)) {
    return Error::invalid("the epsilon of Adam must be above 0, the weight decay and the longest gradient not below 0");
  }
  if (options.structure == Structure::kInspector &&
      (options.inputs > options.hidden || options.hidden % kInspectorHeads != 0)) {
    return Error::invalid(fmt::format(
        "an inspector's hidden values must be a multiple of {} and not fewer than its inputs", kInspectorHeads));
  }
  if (rough_parameters(options) > kParametersMax) {
    return Error::invalid(fmt::format("a network with more than {} parameters", kParametersMax));
  }
  return {};
}

Result<std::unique_ptr<Network>> make_network(const NetworkOptions& options) {
  ORRERY_TRY_VOID(validate(options));
  ORRERY_TRY(void* const symbol, profile::module_symbol(kMakeNetworkSymbol));
  return reinterpret_cast<MakeNetwork>(symbol)(options);
}

}  // namespace orrery::predict
