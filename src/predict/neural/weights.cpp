#include "predict/neural/weights.h"

#include <cmath>
#include <fmt/format.h>

namespace orrery::predict {

namespace {

constexpr std::size_t kNumbersMax = 1 << 26;
constexpr std::size_t kWidthsMax = 64;

// An enumerator below `count`.
template <class Enum>
Result<Enum> read_enum(ByteReader& in, std::uint8_t count, std::string_view what) {
  ORRERY_TRY(const std::uint8_t value, in.u8());
  if (value >= count) return Error::invalid(fmt::format("no {} has the number {}", what, value));
  return static_cast<Enum>(value);
}

Result<std::int32_t> read_size(ByteReader& in) {
  ORRERY_TRY(const std::uint32_t value, in.u32());
  return static_cast<std::int32_t>(value);
}

}  // namespace

void write_options(const NetworkOptions& options, ByteWriter& out) {
  out.u8(static_cast<std::uint8_t>(options.structure));
  for (const std::int32_t size : {options.inputs, options.outputs, options.layers, options.hidden, options.length,
                                  options.edge_inputs, static_cast<std::int32_t>(options.widths.size())}) {
    out.u32(static_cast<std::uint32_t>(size));
  }
  for (const std::int32_t width : options.widths) out.u32(static_cast<std::uint32_t>(width));
  out.f64(options.dropout);
  out.u8(options.is_positive ? 1 : 0);
  out.u8(static_cast<std::uint8_t>(options.loss));
  out.f64(options.adam_epsilon);
  out.f64(options.weight_decay);
  out.u64(options.seed);
  if (options.structure != Structure::kInspector) return;
  out.u8(static_cast<std::uint8_t>(options.graph_layer));
  out.u8(static_cast<std::uint8_t>(options.readout));
  out.u8(static_cast<std::uint8_t>(options.transfer));
  out.f64(options.gradient_max);
}

Result<NetworkOptions> read_options(ByteReader& in) {
  NetworkOptions options;
  ORRERY_TRY(options.structure,
             read_enum<Structure>(in, static_cast<std::uint8_t>(Structure::kInspector) + 1, "structure"));
  for (std::int32_t* size :
       {&options.inputs, &options.outputs, &options.layers, &options.hidden, &options.length, &options.edge_inputs}) {
    ORRERY_TRY(*size, read_size(in));
  }
  ORRERY_TRY(const std::size_t widths, in.count(4, kWidthsMax));
  for (std::size_t i = 0; i < widths; ++i) {
    ORRERY_TRY(const std::int32_t width, read_size(in));
    options.widths.push_back(width);
  }
  ORRERY_TRY(options.dropout, in.f64());
  ORRERY_TRY(const std::uint8_t is_positive, in.u8());
  options.is_positive = is_positive != 0;
  ORRERY_TRY(options.loss, read_enum<Loss>(in, static_cast<std::uint8_t>(Loss::kMse) + 1, "loss"));
  ORRERY_TRY(options.adam_epsilon, in.f64());
  ORRERY_TRY(options.weight_decay, in.f64());
  ORRERY_TRY(options.seed, in.u64());
  if (options.structure == Structure::kInspector) {
    ORRERY_TRY(options.graph_layer,
               read_enum<GraphLayer>(in, static_cast<std::uint8_t>(GraphLayer::kMpnn) + 1, "layer"));
    ORRERY_TRY(options.readout, read_enum<Readout>(in, static_cast<std::uint8_t>(Readout::kMean) + 1, "readout"));
    ORRERY_TRY(options.transfer, read_enum<Transfer>(in, static_cast<std::uint8_t>(Transfer::kHalf) + 1, "transfer"));
    ORRERY_TRY(options.gradient_max, in.f64());
  }
  ORRERY_TRY_VOID(validate(options));
  return options;
}

void write_numbers(const std::vector<float>& numbers, ByteWriter& out) {
  out.u32(static_cast<std::uint32_t>(numbers.size()));
  for (const float number : numbers) out.f32(number);
}

Result<std::vector<float>> read_numbers(ByteReader& in) {
  ORRERY_TRY(const std::size_t count, in.count(4, kNumbersMax));
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    ORRERY_TRY(number, in.f32());
    if (!std::isfinite(number)) return Error::invalid("a parameter is not finite");
  }
  return numbers;
}

void write_state(const NetworkState& state, ByteWriter& out) {
  out.u64(state.steps);
  write_numbers(state.parameters, out);
  write_numbers(state.first_moments, out);
  write_numbers(state.second_moments, out);
}

Result<NetworkState> read_state(ByteReader& in) {
  NetworkState state;
  ORRERY_TRY(state.steps, in.u64());
  ORRERY_TRY(state.parameters, read_numbers(in));
  ORRERY_TRY(state.first_moments, read_numbers(in));
  ORRERY_TRY(state.second_moments, read_numbers(in));
  return state;
}

}  // namespace orrery::predict
