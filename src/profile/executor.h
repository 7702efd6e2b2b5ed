#pragma once
// Executor: one model in memory that can be trained, step by step, for real.
//
// The implementation is a module (torch/) that is loaded when it is first needed: the library under it takes most of a
// second to load, and commands that only predict must not pay that. Not thread-safe.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "env/clock.h"
#include "workload/training_run.h"

namespace orrery::profile {

struct ExecutorOptions {
  int threads = 1;         // inside operators
  bool on_gpu = false;     // the first CUDA device
  bool is_random = true;   // false: dropout and stochastic depth keep everything
  std::uint64_t seed = 1;  // of parameters, inputs and targets
  double learning_rate = 1e-3;
};

// One operator of one step, on the monotonic clock. An operator may have several samples in a row.
struct OperatorSample {
  workload::OperatorIndex op;
  workload::Phase phase = workload::Phase::kForward;
  Seconds start;
  Seconds end;
};

struct StepRecord {
  Seconds start;
  Seconds end;
  double loss = 0;                      // before the update
  std::vector<OperatorSample> samples;  // empty unless the step was traced
};

// One call into the library, as it names it.
struct LibraryCall {
  workload::OperatorIndex op;  // none: of no operator, like the sum of several losses
  workload::Phase phase = workload::Phase::kForward;
  std::string name;                               // "aten::conv2d", "ConvolutionBackward0"
  int depth = 0;                                  // 0: not inside another call
  std::vector<std::vector<std::int64_t>> inputs;  // shapes of its tensors
};

enum class Trace { kNo, kYes };

class Executor {
 public:
  virtual ~Executor() = default;

  // What runs the model: "libtorch 1.13.1".
  virtual std::string library() const = 0;

  // One iteration: forward, backward, update.
  virtual Result<StepRecord> step(Trace trace) = 0;

  // One iteration with every call the library makes, nested ones included. It is slow, and its times are meaningless.
  virtual Result<std::vector<LibraryCall>> list_calls() = 0;

  // Forward and backward without the update: the gradients can be read until the next step.
  virtual Result<double> compute_gradients() = 0;

  // Forward only: what the first loss chooses between, one row of classes per sample, higher where more likely.
  // kUnsupported if the graph ends in no such choice.
  virtual Result<std::vector<float>> scores() = 0;

  // By "operator.parameter" ("layer1.0.conv1.weight"); fails on an unknown name or a wrong size.
  virtual Result<std::vector<float>> parameter(const std::string& name) const = 0;
  virtual Result<std::vector<float>> gradient(const std::string& name) const = 0;
  virtual Status set_parameter(const std::string& name, std::span<const float> values) = 0;

  // All of them as one vector, in the order of the graph; a parameter without a gradient has zeros.
  virtual Result<std::vector<float>> parameters() const = 0;
  virtual Result<std::vector<float>> gradients() const = 0;
  virtual Status set_parameters(std::span<const float> values) = 0;

  // The data of input number `index` of the graph; integers are given as floats too.
  virtual Status set_input(std::size_t index, std::span<const float> values) = 0;
  virtual Result<std::vector<float>> input(std::size_t index) const = 0;
  // Targets of the losses, in order; class numbers are given as floats too.
  virtual Status set_target(std::size_t index, std::span<const float> values) = 0;
  virtual Result<std::vector<float>> target(std::size_t index) const = 0;
};

// Makes parameters, inputs and targets of `run` from the seed. Fails with kUnsupported on operators that cannot be run
// (kOther), on precisions other than fp32, and when the module or the GPU is missing.
// `clock` must outlive the executor.
Result<std::unique_ptr<Executor>> make_executor(const workload::TrainingRun& run, const ExecutorOptions& options,
                                                const env::Clock& clock);

}  // namespace orrery::profile
