// The Network on libtorch.

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/random.h"
#include "predict/neural/inspector_form.h"
#include "predict/neural/torch/structures.h"
#include "profile/torch/threads.h"

namespace orrery::predict {

namespace {

constexpr double kFirstDecay = 0.9, kSecondDecay = 0.999;  // of Adam's moments

at::Tensor tensor_of(const std::vector<float>& values, at::IntArrayRef sizes) {
  const at::Tensor tensor = at::empty(sizes, at::kFloat);
  std::copy(values.begin(), values.end(), tensor.data_ptr<float>());
  return tensor;
}

at::Tensor tensor_of(const std::vector<std::int64_t>& values) {
  const at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::kLong);
  std::copy(values.begin(), values.end(), tensor.data_ptr<std::int64_t>());
  return tensor;
}

std::vector<float> numbers_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().contiguous();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

bool all_below(const std::vector<std::int64_t>& values, std::int64_t limit) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t value) { return value >= 0 && value < limit; });
}

class TorchNetwork final : public Network {
 public:
  explicit TorchNetwork(const NetworkOptions& options) : options_(options) {
    const std::vector<ParameterShape> shapes = parameter_shapes(options);
    std::int64_t total = 0;
    for (const ParameterShape& shape : shapes) total += c10::multiply_integers(shape.sizes);
    flat_ = at::empty({total}, at::kFloat);
    first_ = at::zeros_like(flat_);
    second_ = at::zeros_like(flat_);
    draw(shapes);
    // Every parameter is a leaf of its own inside the flat tensor, so that Adam is a handful of operations.
    std::int64_t at = 0;
    for (const ParameterShape& shape : shapes) {
      const std::int64_t size = c10::multiply_integers(shape.sizes);
      const bool learns = shape.is_trainable;
      parameters_.push_back(flat_.narrow(0, at, size).view(shape.sizes).detach().requires_grad_(learns));
      if (!learns && !learning_.defined()) learning_ = at::ones_like(flat_);
      if (!learns) learning_.narrow(0, at, size).zero_();
      at += size;
    }
  }

  const NetworkOptions& options() const override { return options_; }

  Result<double> learn(const NetworkBatch& batch, double learning_rate) override {
    return guarded<double>([&]() -> Result<double> {
      ORRERY_TRY(const double loss, backward(batch));
      adam(learning_rate);
      return loss;
    });
  }

  Result<double> gradients(const NetworkBatch& batch, std::vector<float>& gradients) override {
    return guarded<double>([&]() -> Result<double> {
      ORRERY_TRY(const double loss, backward(batch));
      gradients = numbers_of(gradient());
      return loss;
    });
  }

  Result<std::vector<float>> predict(const NetworkBatch& batch) const override {
    return guarded<std::vector<float>>([&]() -> Result<std::vector<float>> {
      ORRERY_TRY(const BatchTensors tensors, tensors_of(batch));
      const at::NoGradGuard no_grad;
      return numbers_of(run_structure(options_, parameters_, tensors, std::nullopt));
    });
  }

  NetworkState state() const override { return {steps_, numbers_of(flat_), numbers_of(first_), numbers_of(second_)}; }

  Status set_state(const NetworkState& state) override {
    const auto total = static_cast<std::size_t>(flat_.numel());
    for (const auto* part : {&state.parameters, &state.first_moments, &state.second_moments}) {
      if (part->size() == total) continue;
      return Error::invalid(fmt::format("a network of this form has {} parameters, not {}", total, part->size()));
    }
    const at::NoGradGuard no_grad;
    flat_.copy_(tensor_of(state.parameters, flat_.sizes()));
    first_.copy_(tensor_of(state.first_moments, flat_.sizes()));
    second_.copy_(tensor_of(state.second_moments, flat_.sizes()));
    steps_ = state.steps;
    return {};
  }

 private:
  // Exceptions of the library become errors. Threads are set here because each calling thread has its own number.
  template <class T, class Body>
  Result<T> guarded(Body body) const {
    try {
      profile::set_threads(options_.threads);
      return body();
    } catch (const c10::Error& error) {
      return Error::internal(fmt::format("the network failed: {}", error.what_without_backtrace()));
    } catch (const std::exception& error) {
      return Error::unavailable(fmt::format("the network failed: {}", error.what()));
    }
  }

  void draw(const std::vector<ParameterShape>& shapes) {
    Random random(options_.seed);
    float* at = flat_.data_ptr<float>();
    for (const ParameterShape& shape : shapes) {
      const std::int64_t size = c10::multiply_integers(shape.sizes);
      const double bound = shape.fan_in == 0 ? 0 : 1 / std::sqrt(static_cast<double>(shape.fan_in));
      for (std::int64_t i = 0; i < size; ++i) {
        *at++ = shape.fan_in == 0 ? shape.constant : static_cast<float>(random.uniform(-bound, bound));
      }
    }
    if (options_.structure != Structure::kInspector) return;
    let_nodes_through(options_, {flat_.data_ptr<float>(), static_cast<std::size_t>(flat_.numel())});
  }

  Result<BatchTensors> tensors_of(const NetworkBatch& batch) const {
    const auto rows = static_cast<std::int64_t>(batch.inputs.size()) / options_.inputs;
    const auto edges = static_cast<std::int64_t>(batch.sources.size());
    const bool has_graphs = options_.structure == Structure::kAttention || options_.structure == Structure::kInspector;
    const bool has_edges = options_.structure == Structure::kGcn || has_graphs;
    const std::int64_t length = has_edges || options_.structure == Structure::kMlp ? 1 : options_.length;
    if (rows == 0 || rows * options_.inputs != static_cast<std::int64_t>(batch.inputs.size()) || rows % length != 0) {
      return Error::invalid(fmt::format("{} numbers are not whole sequences of {} rows with {} inputs",
                                        batch.inputs.size(), length, options_.inputs));
    }
    if (batch.sinks.size() != batch.sources.size() || !all_below(batch.sources, rows) ||
        !all_below(batch.sinks, rows)) {
      return Error::invalid("edges must join rows of the batch");
    }
    BatchTensors tensors;
    tensors.rows = tensor_of(batch.inputs, {rows, options_.inputs});
    if (!has_edges) return tensors;
    tensors.sources = tensor_of(batch.sources);
    tensors.sinks = tensor_of(batch.sinks);
    if (!has_graphs) return tensors;
    if (batch.edge_inputs.size() != batch.sources.size() * static_cast<std::size_t>(options_.edge_inputs) ||
        static_cast<std::int64_t>(batch.graphs.size()) != rows || !all_below(batch.graphs, rows)) {
      return Error::invalid("every edge needs its inputs and every row its graph");
    }
    tensors.edges = tensor_of(batch.edge_inputs, {edges, options_.edge_inputs});
    tensors.graphs = tensor_of(batch.graphs);
    tensors.graph_count = 1 + *std::max_element(batch.graphs.begin(), batch.graphs.end());
    if (batch.depths.empty()) return tensors;
    if (static_cast<std::int64_t>(batch.depths.size()) != tensors.graph_count ||
        !all_below(batch.depths, options_.layers + 1)) {
      return Error::invalid(fmt::format("every graph needs a depth up to {}", options_.layers));
    }
    tensors.depths = tensor_of(batch.depths);
    return tensors;
  }

  Result<double> backward(const NetworkBatch& batch) {
    ORRERY_TRY(const BatchTensors tensors, tensors_of(batch));
    for (at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
    const std::uint64_t dropout_seed = mix64(options_.seed ^ mix64(steps_ + 1));
    const at::Tensor answers = run_structure(options_, parameters_, tensors, dropout_seed);
    if (static_cast<std::int64_t>(batch.targets.size()) != answers.numel() ||
        (!batch.weights.empty() && static_cast<std::int64_t>(batch.weights.size()) != answers.size(0))) {
      return Error::invalid(fmt::format("{} answers of {} numbers, but {} targets and {} weights", answers.size(0),
                                        answers.size(1), batch.targets.size(), batch.weights.size()));
    }
    const at::Tensor loss = loss_of(answers, batch);
    const double value = loss.item<double>();
    if (!std::isfinite(value)) return Error::invalid("the loss is not a number: inputs or targets are not finite");
    loss.backward();
    return value;
  }

  at::Tensor loss_of(const at::Tensor& answers, const NetworkBatch& batch) const {
    const at::Tensor targets = tensor_of(batch.targets, answers.sizes());
    at::Tensor each;
    if (options_.loss == Loss::kMse) {
      each = at::mse_loss(answers, targets, at::Reduction::None);
    } else if (options_.loss == Loss::kSmoothL1) {
      each = at::smooth_l1_loss(answers, targets, at::Reduction::None);
    } else {
      each = at::l1_loss(answers, targets, at::Reduction::None);
    }
    if (batch.weights.empty()) return each.mean();
    const auto counted = std::count_if(batch.weights.begin(), batch.weights.end(), [](float w) { return w != 0; });
    const at::Tensor weights = tensor_of(batch.weights, {answers.size(0), 1});
    return (each * weights).sum() / static_cast<double>(std::max<std::int64_t>(1, counted) * answers.size(1));
  }

  at::Tensor gradient() const {
    std::vector<at::Tensor> parts;
    for (const at::Tensor& parameter : parameters_) {
      const at::Tensor grad = parameter.grad();
      parts.push_back(grad.defined() ? grad.reshape({-1}) : at::zeros({parameter.numel()}, at::kFloat));
    }
    return at::cat(parts);
  }

  // Kingma and Ba (2015), with the weight decay in the gradient as PyTorch's Adam has it.
  void adam(double learning_rate) {
    const at::NoGradGuard no_grad;
    at::Tensor g = gradient();
    if (options_.gradient_max > 0) g.mul_(std::min(1.0, options_.gradient_max / g.norm().item<double>()));
    if (options_.weight_decay > 0) g.add_(flat_, options_.weight_decay);
    if (learning_.defined()) g.mul_(learning_);  // weight decay must not move what is frozen
    ++steps_;
    const auto t = static_cast<double>(steps_);
    first_.mul_(kFirstDecay).add_(g, 1 - kFirstDecay);
    second_.mul_(kSecondDecay).addcmul_(g, g, 1 - kSecondDecay);
    const at::Tensor scale = second_.sqrt().div_(std::sqrt(1 - std::pow(kSecondDecay, t))).add_(options_.adam_epsilon);
    flat_.addcdiv_(first_, scale, -learning_rate / (1 - std::pow(kFirstDecay, t)));
  }

  NetworkOptions options_;
  at::Tensor flat_, first_, second_;
  at::Tensor learning_;  // 1 where a parameter learns, 0 where it is frozen; undefined: all learn
  std::vector<at::Tensor> parameters_;
  std::uint64_t steps_ = 0;
};

}  // namespace

extern "C" Result<std::unique_ptr<Network>> orrery_make_network(const NetworkOptions& options) {
  try {
    return std::make_unique<TorchNetwork>(options);
  } catch (const std::exception& error) {
    return Error::unavailable(fmt::format("the network could not be made: {}", error.what()));
  }
}

}  // namespace orrery::predict
