// The Executor on libtorch.

#include <ATen/SequenceNumber.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <fmt/format.h>
#include <malloc.h>
#include <torch/csrc/api/include/torch/version.h>

#include "profile/module.h"
#include "profile/torch/model.h"
#include "profile/torch/recorder.h"
#include "profile/torch/threads.h"
#include "profile/torch/update.h"

namespace orrery::profile {

using workload::Operator;
using workload::OperatorIndex;
using workload::Phase;

namespace {

class TorchExecutor final : public Executor {
 public:
  TorchExecutor(std::shared_ptr<const workload::TrainingRun> run, Model model, const ExecutorOptions& options,
                const env::Clock& clock)
      : run_(std::move(run)),
        model_(std::move(model)),
        clock_(clock),
        on_gpu_(options.on_gpu),
        updater_(run_->optimizer, options.learning_rate, size()) {}

  std::string library() const override { return "libtorch " TORCH_VERSION; }

  Result<StepRecord> step(Trace trace) override {
    return guarded<StepRecord>([&] { return trace == Trace::kYes ? traced_step() : plain_step(); });
  }

  Result<std::vector<LibraryCall>> list_calls() override {
    return guarded<std::vector<LibraryCall>>([&] {
      Recorder recorder(clock_, size());
      CallLister lister;
      const at::Tensor loss = forward([&](OperatorIndex at) { lister.enter(at, Phase::kForward); },
                                      [&](OperatorIndex at) {
                                        recorder.forward_ends(at, next_sequence());
                                        lister.enter(OperatorIndex(), Phase::kForward);
                                      });
      lister.enter_backward(recorder);
      loss.backward();
      update([&](OperatorIndex at) { lister.enter(at, Phase::kUpdate); }, [](OperatorIndex) {});
      return lister.take();
    });
  }

  Result<double> compute_gradients() override {
    return guarded<double>([&] {
      clear_gradients();
      const at::Tensor loss = forward([](OperatorIndex) {}, [](OperatorIndex) {});
      loss.backward();
      return loss.item<double>();
    });
  }

  Result<std::vector<float>> scores() override {
    return guarded<std::vector<float>>([&]() -> Result<std::vector<float>> {
      const at::NoGradGuard no_grad;
      workload::ByOperator<std::vector<at::Tensor>> values(size());
      for (const OperatorIndex at : values.indices()) {
        const std::vector<at::Tensor> inputs = inputs_of(at, values);
        if (run_->graph[at].kind == workload::OperatorKind::kCrossEntropy) return numbers_of(inputs[0]);
        values[at] = run_operator(model_, at, inputs);
      }
      return Error::unsupported(fmt::format("{} chooses between no classes", run_->graph.name()));
    });
  }

  Result<std::vector<float>> parameter(const std::string& name) const override {
    ORRERY_TRY(const at::Tensor tensor, find_parameter(name));
    return numbers_of(tensor);
  }

  Result<std::vector<float>> gradient(const std::string& name) const override {
    ORRERY_TRY(const at::Tensor tensor, find_parameter(name));
    if (!tensor.grad().defined()) return Error::not_found(fmt::format("{} has no gradient", name));
    return numbers_of(tensor.grad());
  }

  Status set_parameter(const std::string& name, std::span<const float> values) override {
    ORRERY_TRY(at::Tensor tensor, find_parameter(name));
    const at::NoGradGuard no_grad;
    return copy_into(tensor, values);
  }

  Result<std::vector<float>> parameters() const override {
    return guarded<std::vector<float>>([&] { return flat([](const at::Tensor& tensor) { return tensor; }); });
  }

  Result<std::vector<float>> gradients() const override {
    return guarded<std::vector<float>>([&] {
      return flat(
          [](const at::Tensor& tensor) { return tensor.grad().defined() ? tensor.grad() : at::zeros_like(tensor); });
    });
  }

  Status set_parameters(std::span<const float> values) override {
    const at::NoGradGuard no_grad;
    for (auto& of_operator : model_.parameters) {
      for (at::Tensor& tensor : of_operator) {
        const auto size = static_cast<std::size_t>(tensor.numel());
        if (values.size() < size) return Error::invalid("fewer numbers than parameters");
        ORRERY_TRY_VOID(copy_into(tensor, values.first(size)));
        values = values.subspan(size);
      }
    }
    return values.empty() ? Status() : Error::invalid("more numbers than parameters");
  }

  Status set_input(std::size_t index, std::span<const float> values) override {
    ORRERY_TRY(at::Tensor tensor, nth(model_.sources, index, "input"));
    return copy_into(tensor, values);
  }
  Result<std::vector<float>> input(std::size_t index) const override {
    ORRERY_TRY(const at::Tensor tensor, nth(model_.sources, index, "input"));
    return numbers_of(tensor);
  }
  Status set_target(std::size_t index, std::span<const float> values) override {
    ORRERY_TRY(at::Tensor tensor, nth(model_.targets, index, "target"));
    return copy_into(tensor, values);
  }
  Result<std::vector<float>> target(std::size_t index) const override {
    ORRERY_TRY(const at::Tensor tensor, nth(model_.targets, index, "target"));
    return numbers_of(tensor);
  }

 private:
  std::size_t size() const { return run_->graph.operators().size(); }
  static std::uint64_t next_sequence() { return at::sequence_number::peek(); }

  // Exceptions of the library become errors.
  template <class T, class Body>
  static Result<T> guarded(Body body) {
    try {
      return body();
    } catch (const c10::Error& error) {
      return Error::unsupported(fmt::format("the model could not be run: {}", error.what_without_backtrace()));
    } catch (const std::exception& error) {
      return Error::unavailable(fmt::format("the model could not be run: {}", error.what()));
    }
  }

  // A GPU works asynchronously; times are meaningful only once it is done.
  void wait_for_gpu() const {
    if (on_gpu_) at::detail::getCUDAHooks().deviceSynchronize(0);
  }

  std::vector<at::Tensor> inputs_of(OperatorIndex at,
                                    const workload::ByOperator<std::vector<at::Tensor>>& values) const {
    std::vector<at::Tensor> inputs;
    for (const workload::Value& input : run_->graph[at].inputs) {
      inputs.push_back(values[input.op][static_cast<std::size_t>(input.output)]);
    }
    return inputs;
  }

  // Runs every operator; values that none reads any more are dropped at once. Returns the sum of all losses.
  template <class Before, class After>
  at::Tensor forward(Before before, After after) {
    workload::ByOperator<std::vector<at::Tensor>> values(size());
    for (const OperatorIndex at : values.indices()) {
      before(at);
      values[at] = run_operator(model_, at, inputs_of(at, values));
      after(at);
      for (const OperatorIndex used : model_.last_uses[at]) values[used].clear();
    }
    return total_loss(values);
  }

  // The remaining values are the ends of the graph. Those that are scalars and learn something are its losses.
  static at::Tensor total_loss(const workload::ByOperator<std::vector<at::Tensor>>& values) {
    at::Tensor total;
    for (const auto& outputs : values) {
      for (const at::Tensor& output : outputs) {
        if (!output.defined() || output.dim() > 0 || !output.requires_grad()) continue;
        total = total.defined() ? total + output : output;
      }
    }
    TORCH_CHECK(total.defined(), "the graph ends in no loss");
    return total;
  }

  template <class Before, class After>
  void update(Before before, After after) {
    updater_.next_step();
    for (const OperatorIndex at : model_.parameters.indices()) {
      if (model_.parameters[at].empty()) continue;
      before(at);
      updater_.update(at, model_.parameters[at]);
      after(at);
    }
  }

  StepRecord plain_step() {
    StepRecord record;
    record.start = clock_.monotonic();
    const at::Tensor loss = forward([](OperatorIndex) {}, [](OperatorIndex) {});
    loss.backward();
    update([](OperatorIndex) {}, [](OperatorIndex) {});
    wait_for_gpu();
    record.end = clock_.monotonic();
    record.loss = loss.item<double>();
    return record;
  }

  StepRecord traced_step() {
    StepRecord record;
    Recorder recorder(clock_, size());
    recorder.samples().reserve(size() * 4);
    record.start = clock_.monotonic();
    const at::Tensor loss = forward([&](OperatorIndex at) { recorder.begin(at, Phase::kForward); },
                                    [&](OperatorIndex at) {
                                      wait_for_gpu();
                                      recorder.end();
                                      recorder.forward_ends(at, next_sequence());
                                    });
    {
      const Recorder::Backward recording(recorder);
      loss.backward();
    }
    update([&](OperatorIndex at) { recorder.begin(at, Phase::kUpdate); },
           [&](OperatorIndex) {
             wait_for_gpu();
             recorder.end();
           });
    record.end = clock_.monotonic();
    record.loss = loss.item<double>();
    record.samples = std::move(recorder.samples());
    return record;
  }

  void clear_gradients() {
    for (auto& of_operator : model_.parameters) {
      for (at::Tensor& parameter : of_operator) parameter.mutable_grad().reset();
    }
  }

  Result<at::Tensor> find_parameter(const std::string& name) const {
    const std::size_t dot = name.rfind('.');
    for (const OperatorIndex at : model_.parameters.indices()) {
      const Operator& op = run_->graph[at];
      if (dot == std::string::npos || name.compare(0, dot, op.name) != 0) continue;
      for (std::size_t j = 0; j < op.parameters.size(); ++j) {
        if (name.compare(dot + 1, std::string::npos, op.parameters[j].name) == 0) return model_.parameters[at][j];
      }
    }
    return Error::not_found(fmt::format("{} has no parameter \"{}\"", run_->graph.name(), name));
  }

  static Result<at::Tensor> nth(const std::vector<at::Tensor>& tensors, std::size_t index, std::string_view what) {
    std::size_t seen = 0;
    for (const at::Tensor& tensor : tensors) {
      if (tensor.defined() && seen++ == index) return tensor;
    }
    return Error::not_found(fmt::format("there are only {} {}s, no number {}", seen, what, index));
  }

  static std::vector<float> numbers_of(const at::Tensor& tensor) {
    const at::Tensor flat = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
    return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
  }

  // The numbers of `part_of` each parameter, one parameter after the other.
  template <class PartOf>
  std::vector<float> flat(PartOf part_of) const {
    std::vector<float> numbers;
    for (const auto& of_operator : model_.parameters) {
      for (const at::Tensor& tensor : of_operator) {
        const at::Tensor part = part_of(tensor).detach().to(at::kCPU, at::kFloat).contiguous();
        numbers.insert(numbers.end(), part.data_ptr<float>(), part.data_ptr<float>() + part.numel());
      }
    }
    return numbers;
  }

  static Status copy_into(at::Tensor& tensor, std::span<const float> values) {
    if (static_cast<std::int64_t>(values.size()) != tensor.numel()) {
      return Error::invalid(fmt::format("expected {} numbers, got {}", tensor.numel(), values.size()));
    }
    const at::Tensor given = at::empty(tensor.sizes(), at::kFloat);
    std::copy(values.begin(), values.end(), given.data_ptr<float>());
    tensor.copy_(given);
    return {};
  }

  std::shared_ptr<const workload::TrainingRun> run_;  // model_ refers to its graph
  Model model_;
  const env::Clock& clock_;
  bool on_gpu_;
  Updater updater_;
};

// Freed tensors stay with the process, as with the caching allocator of a GPU. Else every step maps its memory anew:
// a third of its time, and most of its spread.
void keep_freed_memory() {
  constexpr int kNever = 0, kAlways = std::numeric_limits<int>::max();
  mallopt(M_MMAP_MAX, kNever);
  mallopt(M_TRIM_THRESHOLD, kAlways);
}

Result<std::unique_ptr<Executor>> make(const workload::TrainingRun& run, const ExecutorOptions& options,
                                       const env::Clock& clock) {
  if (run.precision != Precision::kFp32) {
    return Error::unsupported(fmt::format("models are run in fp32, not {}", to_string(run.precision)));
  }
  if (options.on_gpu && !at::hasCUDA()) return Error::unsupported("this libtorch has no CUDA device");
  keep_freed_memory();
  set_threads(options.threads);
  const auto floats = at::TensorOptions(at::kFloat).device(options.on_gpu ? at::kCUDA : at::kCPU);
  auto kept = std::make_shared<const workload::TrainingRun>(run);
  try {
    ORRERY_TRY(Model model, make_model(kept->graph, floats, options.is_random, options.seed));
    return std::make_unique<TorchExecutor>(kept, std::move(model), options, clock);
  } catch (const c10::Error& error) {
    return Error::unavailable(fmt::format("the model could not be made: {}", error.what_without_backtrace()));
  }
}

}  // namespace

extern "C" Result<std::unique_ptr<Executor>> orrery_make_executor(const workload::TrainingRun& run,
                                                                  const ExecutorOptions& options,
                                                                  const env::Clock& clock) {
  return make(run, options, clock);
}

}  // namespace orrery::profile
