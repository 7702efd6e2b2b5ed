#pragma once
// A training application as measured: how long a step takes on a placement, and how the noise of its gradients changes
// over the epochs. Together they give its goodput (Pollux, OSDI'21).
//
// Folder layout, as redistributed with the Pollux and Sia artifacts:
//   applications.csv                   limits of every application
//   measured/APP/placements-GPU.csv    placement (digits: GPUs per node), local_bsz, step_time, sync_time
//   measured/APP/validation-B.csv      progress, iteration, metric, grad_sqr, grad_var by epoch, trained with batch B
//   GPU_interpolated_grid.csv.gz       step and sync time by (nodes, GPUs, batch per GPU) for other placements

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "env/files.h"
#include "schedule/allocation.h"

namespace orrery::simulate {

struct StepTime {
  double step_s = 0;
  double sync_s = 0;  // the part of it spent on exchange

  // With gradients of `accumulations` more batches added up before they are exchanged.
  double total_s(int accumulations) const { return step_s + (step_s - sync_s) * accumulations; }
};

// How a batch is dealt out to GPUs.
struct BatchSplit {
  int per_gpu = 0;
  int accumulations = 0;
};

class Application {
 public:
  const std::string& name() const { return name_; }
  double init_batch() const { return init_batch_; }
  int epochs() const { return epochs_; }

  std::vector<int> validated_batches() const;

  // GPUs beyond which a batch cannot be divided. The published simulators do not scale ncf at all.
  int gpus_max(int batch) const { return name_ == "ncf" ? 1 : batch / min_local_; }

  // `always_accumulates`: on one GPU even when the batch is the initial one.
  BatchSplit split(int batch, int gpus, bool always_accumulates) const;

  // `per_node`: GPUs on each node. The error names what was not measured.
  Result<StepTime> step_time(const std::vector<int>& per_node, int per_gpu) const;

  // The batch with which training on this placement makes most progress per second in an epoch, of some between the
  // smallest and the largest that were validated; the error says that none was measured.
  struct Goodput {
    int batch = 0;  // really used, of all GPUs together
    BatchSplit split{};
    double per_s = 0;
  };
  Result<Goodput> best_goodput(const std::vector<int>& per_node, int epoch) const;
  int goodput_gpus_max() const { return name_ == "ncf" ? 1 : validations_.back().batch / min_local_; }

  // Progress at which `epoch` epochs are done; it does not depend on the batch.
  double progress_at(int epoch) const;
  // Iterations done at the end of an epoch (from 0) with this batch.
  Result<double> iterations(int batch, int epoch) const;
  // How much more progress an iteration with batch `batch` makes than one with the initial batch.
  Result<double> gain(int batch, int epoch) const;

 private:
  friend class ApplicationReader;
  struct Validation {
    int batch = 0;
    std::vector<double> progress, iteration, grad_sqr, grad_var;  // by epoch
  };
  struct Measured {
    std::vector<double> per_gpu, step_s, sync_s;  // by increasing per_gpu
  };
  // A value by epoch, interpolated between the validated batches around `batch`.
  Result<double> interpolate(int batch, int epoch, std::vector<double> Validation::*values) const;

  std::string name_;
  double init_batch_ = 0, max_batch_ = 0;
  int min_local_ = 1, max_local_ = 1, epochs_ = 0;
  std::vector<Validation> validations_;                   // by increasing batch
  std::unordered_map<std::string, Measured> placements_;  // by digits, smallest rotation
  std::map<std::tuple<int, int, int>, StepTime> grid_;    // nodes, GPUs, per GPU
};

using Applications = std::map<std::string, Application, std::less<>>;

// `gpu`: "aws" for the T4 nodes of the Pollux testbed.
Result<Applications> read_applications(env::Files& files, const std::string& folder, std::string_view gpu);

}  // namespace orrery::simulate
