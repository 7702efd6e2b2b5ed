#pragma once
// Runs that were predicted and then measured: how good predictions of a device were, and how the next one is corrected.
//
// With r = log(measured / predicted) over the n runs of one device and kind of predictor, mean m and deviation s, a new
// prediction p becomes p · exp(m) with the interval
//
//   p · exp(m ± t · s · √(1 + 1/n))        t: the 90th percentile of Student's distribution with n − 1 degrees
//
// which holds four of five new runs if their ratios are alike. With fewer than kObservationsMin nothing is corrected.
// From eight runs on those more than six median deviations from the median are left out and counted.
//
// The file: one JSON object per line (docs/reference/formats/observations.md).

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "env/files.h"
#include "predict/scaling/convergence.h"

namespace orrery::predict {

// What the losses of a run said: the curve fitted to them (scaling/convergence.h) and when the run will be done.
struct ObservedLosses {
  ConvergenceCurve curve{};
  bool counts_epochs = false;
  double last = 0;                   // step of the last loss
  double step = 0;                   // needed; kNever: the curve stays above the target
  double low = 0, high = 0;          // four of five
  std::optional<double> target{};    // the loss to be reached; empty: the rule of convergence
  double threshold = 0, window = 0;  // of the rule
  std::uint64_t losses = 0, seed = 0;
};

struct Observation {
  std::string device;     // as in hardware/device.h
  std::string predictor;  // "analytic", "measured"
  std::string run;        // for people: model, batch, devices
  double predicted = 0;   // seconds of an iteration, both above 0
  double measured = 0;
  std::optional<ObservedLosses> losses{};
};

inline constexpr std::size_t kObservationsMin = 5;

struct Correction {
  double factor = 1;         // of the predicted time
  double low = 1, high = 1;  // of the corrected time: four of five measured ones
  std::size_t runs = 0;      // it comes from
  std::size_t outliers = 0;  // left out
  double error_before = 0;   // mean relative error as predicted
  double error_after = 0;    // of each run corrected by the others
};

// Empty with fewer than kObservationsMin runs of this device and predictor.
std::optional<Correction> correction_of(std::span<const Observation> all, std::string_view device,
                                        std::string_view predictor);

// Any text gives observations or an error that names the line.
Result<std::vector<Observation>> parse_observations(std::string_view text);
// A file that does not exist has none.
Result<std::vector<Observation>> read_observations(env::Files& files, const std::string& path);
// Durable when it returns. What could not be read again is refused: times that are not above 0, texts that are too
// long.
Status append_observation(env::Files& files, const std::string& path, const Observation& observation);

}  // namespace orrery::predict
