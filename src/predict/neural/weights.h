#pragma once
// Options and parameters of networks as bytes, for files of models and checkpoints.

#include "base/bytes.h"
#include "base/units.h"
#include "predict/neural/network.h"

namespace orrery::predict {

inline constexpr Bytes kWeightsMax = mebibytes(256);  // of one file

// Without threads: they do not change what is learned.
void write_options(const NetworkOptions& options, ByteWriter& out);
// What is read is valid, or an error.
Result<NetworkOptions> read_options(ByteReader& in);

void write_numbers(const std::vector<float>& numbers, ByteWriter& out);
// Every number is finite.
Result<std::vector<float>> read_numbers(ByteReader& in);

void write_state(const NetworkState& state, ByteWriter& out);
Result<NetworkState> read_state(ByteReader& in);

}  // namespace orrery::predict
