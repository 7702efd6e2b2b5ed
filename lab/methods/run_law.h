#pragma once
// How long a whole training run takes, from runs of the same network: a start, then iterations in which computing and
// loading overlap (regression/overlap_fit.h).
//
//   t = a + I · (C^g + L^g)^(1/g)            I: iterations, b: batch of all GPUs together, n: GPUs, th: loading threads
//
//   L           l1 · b/th + l2 · b
//   C  kScale   c1 + c2 · b/n + c3 · b + c4 · (n − 1)/n + c5 · (n − 1)
//      kModules c1 + c2 · b + c3 · d + c4 · d · b                           d: inner modules of the network
//      kDevice  c1 + c2/F + c3 · b/(n F) + c4 · (n − 1)/n                   F: FLOP/s a GPU can hold; see DeviceTerms
//
// With kModules the start is a + a2 · b: the first batch has to be loaded before anything is computed. For larger
// batches than were measured, that term would count as start what belongs to the iterations.
//
// With relative errors and coefficients ≥ 0 it may be used where nothing was measured: a larger batch, more GPUs,
// another GPU.

#include <span>
#include <vector>

#include "lab/lab.h"
#include "predict/regression/overlap_fit.h"

namespace orrery::lab {

struct MeasuredRun {
  double iterations = 1;
  double batch = 1;  // of all GPUs together
  double gpus = 1;
  double threads = 1;  // that load data
  double modules = 0;  // only for kModules
  double peak = 0;     // FLOP/s of one GPU; above 0 for kDevice
  int host = 0;        // kind of host, 0 or 1; only for kDevice
  double seconds = 0;  // above 0 to learn from
};

enum class RunTerms { kScale, kModules, kDevice };

// What else runs on several kinds of GPUs and hosts may depend on.
struct DeviceTerms {
  bool device = true;         // c2 and c3: false for a job that waits for its host
  bool images = false;        // c5 · b/n in C: work of the host for each example
  bool hosts = false;         // c1 for each kind of host
  bool host_loading = false;  // l2 for each kind of host
};

struct RunForm {
  RunTerms terms = RunTerms::kScale;
  double sharpness = 1;  // g
  DeviceTerms device{};  // only for kDevice
};

class RunLaw {
 public:
  // `weights` may be empty: all 1.
  static Result<RunLaw> fit(std::span<const MeasuredRun> runs, std::span<const double> weights, const RunForm& form);
  double seconds(const MeasuredRun& run) const;

 private:
  RunForm form_;
  OverlapFit fit_;
};

// Runs to learn from, and others to be predicted with it.
struct RunSplit {
  std::vector<MeasuredRun> known;
  std::vector<double> weights;  // of the known
  std::vector<MeasuredRun> asked;
};

// The form with the least mean of |log(predicted / measured)|, every split counting the same; the first of equals.
// Precondition: there is a form; without splits it is the first.
Result<RunForm> choose_form(std::span<const RunForm> forms, std::span<const RunSplit> splits);

// Forms for several jobs on the same machines, one split per job. What belongs to the machines is the same for all of
// them; what belongs to a job, such as whether it waits for the device or for its host, is its own. `grid` has a row
// for every choice of the first kind and in it a form for every choice of the second, simple ones first. With the mean
// of |log(predicted / measured)| as error:
//
//   in each row  every job takes the first form whose error is within one standard error of its best one (Breiman et
//                al., "Classification and Regression Trees", 1984, section 3.4.3)
//   of the rows  the one with the least sum of these errors answers, the first of equals
//
// A job without a split gets `otherwise`: in that row the form with the least sum of errors over all splits.
struct FormChoice {
  std::vector<RunForm> of_split;
  RunForm otherwise{};
};
// Precondition: the grid has a row, its rows have as many forms, and every split has a run.
Result<FormChoice> choose_forms(std::span<const std::vector<RunForm>> grid, std::span<const RunSplit> splits);

}  // namespace orrery::lab
