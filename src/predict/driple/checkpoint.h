#pragma once
// Checkpoint: named tensors from a file of PyTorch's (torch.save of a state dictionary, the ZIP form of version 1.6 and
// later). It is read without PyTorch and without executing anything in the file.
//
// Only float32 tensors that are stored row by row are read, in the byte order of the machines they are made on
// (little-endian).

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace orrery::predict {

struct CheckpointTensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

using Checkpoint = std::map<std::string, CheckpointTensor>;

inline constexpr Bytes kCheckpointMax = mebibytes(256);
inline constexpr std::size_t kCheckpointNumbersMax = 1 << 26;  // of all tensors

// Errors name the tensor.
Result<Checkpoint> parse_checkpoint(std::string_view bytes);

}  // namespace orrery::predict
