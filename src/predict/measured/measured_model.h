#pragma once
// What was learned from the iterations measured on one machine, and the file it is kept in
// (docs/reference/formats/model.md).
//
// The file: "orrery-model\n", version, length and FNV-1a hash of the rest as little-endian numbers, then the device,
// the machine, the library, threads, how many iterations, the error on iterations that were left out, intervals and the
// step model.

#include <functional>

#include "predict/learn/conformal.h"
#include "predict/measured/measured_dataset.h"

namespace orrery::predict {

inline constexpr std::uint32_t kModelVersion = 5;
inline constexpr Bytes kModelMax = mebibytes(256);

struct MeasuredModel {
  MeasuredMachine machine;
  std::uint64_t seed = 1;
  std::uint64_t iterations = 0;  // learned from
  double error = 0;              // mean relative error on iterations that were left out
  StepModel steps{};
  Conformal intervals{};  // of predictions that were left out
};

// How many threads may fit, and the random seed. `progress(fits)` is called after each of kFits.
inline constexpr int kFits = 6;
struct FitOptions {
  std::uint64_t seed = 1;
  int threads = 2;
  std::function<void(int fits)> progress{};
};
// Learns from iterations that are not noisy, of which it needs twenty.
Result<MeasuredModel> fit_measured(const MeasuredSet& set, const FitOptions& options);

std::string to_bytes(const MeasuredModel& model);
bool is_measured_model(std::string_view bytes);
// The device a model file is of, without reading the rest of it: damage elsewhere is found by parse_measured_model.
Result<std::string> device_of_model(std::string_view bytes);
// Any bytes give a model or an error: another version, cut, damaged, or not a model at all.
Result<MeasuredModel> parse_measured_model(std::string_view bytes);

}  // namespace orrery::predict
