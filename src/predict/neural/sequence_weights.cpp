// The file of a SequenceModel.

#include <cmath>
#include <fmt/format.h>

#include "predict/learn/sealed.h"
#include "predict/neural/sequence_batches.h"
#include "predict/neural/weights.h"

namespace orrery::predict {

namespace {

constexpr SealedKind kWeightsKind{"orrery-neural", 1, "neural model", "orrery-lab evaluate ets-faithful --keep DIR"};
constexpr std::size_t kGpuNameBytesMax = 4096, kTypesMax = 1 << 16;

}  // namespace

std::string to_bytes(const SequenceWeights& weights) {
  ByteWriter body;
  body.text(weights.gpu);
  body.u32(static_cast<std::uint32_t>(weights.types.size()));
  for (const auto& [kind, type] : weights.types) {
    body.u32(static_cast<std::uint32_t>(kind));
    body.u8(type);
  }
  body.u8(static_cast<std::uint8_t>(weights.sizes));
  body.u8(static_cast<std::uint8_t>(weights.targets));
  body.u32(static_cast<std::uint32_t>(weights.stride));
  weights.inputs.write(body);
  weights.outputs.write(body);
  for (const std::uint64_t number : {weights.traces, weights.operators, weights.fingerprint, weights.training.steps}) {
    body.u64(number);
  }
  body.f64(weights.training.seconds);
  body.f64(weights.training.loss);
  write_options(weights.network, body);
  write_numbers(weights.parameters, body);
  return seal(kWeightsKind, body.bytes());
}

Result<SequenceWeights> parse_sequence_weights(std::string_view bytes) {
  ORRERY_TRY(const std::string_view body, unseal(kWeightsKind, bytes));
  ByteReader in(body);
  SequenceWeights weights;
  ORRERY_TRY(weights.gpu, in.text(kGpuNameBytesMax));
  ORRERY_TRY(const std::size_t types, in.count(5, kTypesMax));
  for (std::size_t i = 0; i < types; ++i) {
    ORRERY_TRY(const std::uint32_t kind, in.u32());
    ORRERY_TRY(const std::uint8_t type, in.u8());
    if (type >= kEtsTypes) return Error::invalid(fmt::format("no type of operator has the number {}", type));
    weights.types[static_cast<std::int32_t>(kind)] = type;
  }
  ORRERY_TRY(const std::uint8_t sizes, in.u8());
  ORRERY_TRY(const std::uint8_t targets, in.u8());
  ORRERY_TRY(const std::uint32_t stride, in.u32());
  if (sizes > 1 || targets > 1) return Error::invalid("an unknown form of sizes or targets");
  weights.sizes = static_cast<SizeForm>(sizes);
  weights.targets = static_cast<TargetForm>(targets);
  weights.stride = static_cast<std::int32_t>(stride);
  ORRERY_TRY(weights.inputs, StandardScore::read(in));
  ORRERY_TRY(weights.outputs, StandardScore::read(in));
  for (std::uint64_t* number : {&weights.traces, &weights.operators, &weights.fingerprint, &weights.training.steps}) {
    ORRERY_TRY(*number, in.u64());
  }
  ORRERY_TRY(weights.training.seconds, in.f64());
  ORRERY_TRY(weights.training.loss, in.f64());
  ORRERY_TRY(weights.network, read_options(in));
  ORRERY_TRY(weights.parameters, read_numbers(in));
  if (!in.at_end()) return Error::invalid("bytes behind its end");
  const NetworkOptions& network = weights.network;
  if (!answers_rows_in_order(network.structure) || network.inputs != static_cast<std::int32_t>(kEtsFeatures) ||
      network.outputs != static_cast<std::int32_t>(kSequenceOutputs) || weights.inputs.columns() != kEtsFeatures ||
      weights.outputs.columns() != kSequenceOutputs || weights.stride < 1 || weights.stride > network.length) {
    return Error::invalid("its network does not fit the operators of an iteration");
  }
  return weights;
}

}  // namespace orrery::predict
