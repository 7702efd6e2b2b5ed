#include "predict/neural/sequence_model.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/random.h"
#include "predict/neural/sequence_batches.h"
#include "predict/neural/weights.h"
#include "predict/neural/windows.h"

namespace orrery::predict {

namespace {

constexpr std::size_t kWindowsAtOnce = 256;
constexpr double kShortestIteration = 1;  // microseconds: no iteration is shorter

struct Window {
  std::uint32_t trace = 0, start = 0;
};

bool is_learned_from(const LaunchTrace& trace) {
  return !trace.overlaps && !trace.operators.empty() && trace.times.size() == trace.operators.size();
}

Status fit_scores(std::span<const LaunchTrace* const> traces, SequenceWeights& weights) {
  weights.inputs = StandardScore(kEtsFeatures);
  weights.outputs = StandardScore(kSequenceOutputs);
  std::array<float, kEtsFeatures> features{};
  for (const LaunchTrace* trace : traces) {
    for (std::size_t row = 0; row < trace->operators.size(); ++row) {
      ets_features(*trace, row, weights.types, weights.sizes, features);
      weights.inputs.add(features);
      weights.outputs.add(std::array{to_target(trace->times[row].device, weights.targets),
                                     to_target(trace->times[row].gap, weights.targets)});
    }
    weights.operators += trace->operators.size();
  }
  ORRERY_TRY_VOID(weights.inputs.settle());
  return weights.outputs.settle();
}

NetworkOptions network_options(const SequenceOptions& options) {
  return {.structure = options.structure,
          .inputs = kEtsFeatures,
          .outputs = kSequenceOutputs,
          .layers = options.layers,
          .hidden = options.hidden,
          .length = options.width,
          .loss = options.loss,
          .seed = options.seed,
          .threads = options.threads};
}

Result<TrainingOutcome> train_on_windows(std::span<const LaunchTrace* const> traces, const SequenceOptions& options,
                                         const SequenceBatcher& batcher, Network& network, const TrainingPlan& plan,
                                         const TrainingWatch& watch) {
  std::vector<Window> windows;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    for (const std::size_t start : window_starts(traces[i]->operators.size(), static_cast<std::size_t>(options.width),
                                                 static_cast<std::size_t>(options.stride))) {
      windows.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(start)});
    }
  }
  const FillBatch fill = [&](std::span<const std::uint32_t> examples, NetworkBatch& batch) {
    for (const std::uint32_t example : examples) {
      batcher.add_window(*traces[windows[example].trace], windows[example].start, batch);
    }
  };
  TrainingPlan of_windows = plan;
  of_windows.batch = static_cast<std::size_t>(std::max(1, options.rows_per_step / options.width));
  return train(network, windows.size(), fill, of_windows, watch);
}

Result<TrainingOutcome> train_on_graphs(std::span<const LaunchTrace* const> traces, const SequenceOptions& options,
                                        std::uint64_t operators, const SequenceBatcher& batcher, Network& network,
                                        const TrainingPlan& plan, const TrainingWatch& watch) {
  const FillBatch fill = [&](std::span<const std::uint32_t> examples, NetworkBatch& batch) {
    for (const std::uint32_t example : examples) batcher.add_graph(*traces[example], batch);
  };
  TrainingPlan of_graphs = plan;
  const std::uint64_t mean_rows = std::max<std::uint64_t>(1, operators / traces.size());
  of_graphs.batch = std::max<std::size_t>(1, static_cast<std::size_t>(options.rows_per_step) / mean_rows);
  return train(network, traces.size(), fill, of_graphs, watch);
}

}  // namespace

Status validate(const SequenceOptions& options) {
  if (options.width < 1 || options.stride < 1 || options.stride > options.width) {
    return Error::invalid(fmt::format("windows of {} operators every {}: the stride must be 1 to the width",
                                      options.width, options.stride));
  }
  if (!answers_rows_in_order(options.structure)) {
    return Error::invalid(
        fmt::format("{} does not answer for each operator of a sequence", to_string(options.structure)));
  }
  if (options.rows_per_step < 1 || !(options.learning_rate > 0)) {
    return Error::invalid("rows per step and the learning rate must be above 0");
  }
  return validate(network_options(options));
}

std::uint64_t fingerprint_of(std::span<const LaunchTrace* const> traces, const SequenceOptions& options) {
  ByteWriter all;
  for (const LaunchTrace* trace : traces) {
    all.text(trace->id);
    all.u64(trace->operators.size());
    all.f64(trace->iteration);
  }
  write_options(network_options(options), all);
  all.u32(static_cast<std::uint32_t>(options.stride));
  all.u8(static_cast<std::uint8_t>(options.sizes));
  all.u8(static_cast<std::uint8_t>(options.targets));
  all.u8(static_cast<std::uint8_t>(options.schedule));
  all.f64(options.learning_rate);
  all.u32(static_cast<std::uint32_t>(options.rows_per_step));
  all.u64(options.steps);
  return hash64(all.bytes());
}

Result<SequenceModel> SequenceModel::fit(std::span<const LaunchTrace* const> traces,
                                         const std::map<std::int32_t, std::string>& kinds,
                                         const SequenceOptions& options, const TrainingWatch& watch) {
  ORRERY_TRY_VOID(validate(options));
  std::vector<const LaunchTrace*> chosen;
  for (const LaunchTrace* trace : traces) {
    if (is_learned_from(*trace)) chosen.push_back(trace);
  }
  if (chosen.empty()) return Error::invalid("no trace to learn from: all overlap or are empty");
  SequenceWeights weights;
  weights.gpu = chosen.front()->gpu;
  weights.types = ets_types_of(kinds);
  weights.sizes = options.sizes;
  weights.targets = options.targets;
  weights.stride = options.stride;
  weights.traces = chosen.size();
  weights.fingerprint = fingerprint_of(traces, options);
  weights.network = network_options(options);
  ORRERY_TRY_VOID(fit_scores(chosen, weights));
  ORRERY_TRY(std::unique_ptr<Network> network, make_network(weights.network));
  const TrainingPlan plan{.steps = options.steps,
                          .learning_rate = options.learning_rate,
                          .schedule = options.schedule,
                          .seed = options.seed};
  TrainingWatch own = watch;
  own.fingerprint = weights.fingerprint;
  const SequenceBatcher batcher(weights);
  if (options.structure == Structure::kGcn) {
    ORRERY_TRY(weights.training, train_on_graphs(chosen, options, weights.operators, batcher, *network, plan, own));
  } else {
    ORRERY_TRY(weights.training, train_on_windows(chosen, options, batcher, *network, plan, own));
  }
  weights.parameters = network->state().parameters;
  return SequenceModel(std::move(weights), std::move(network));
}

Result<SequenceModel> SequenceModel::make(SequenceWeights weights) {
  ORRERY_TRY(std::unique_ptr<Network> network, make_network(weights.network));
  NetworkState state;
  state.parameters = weights.parameters;
  state.first_moments.resize(state.parameters.size());
  state.second_moments.resize(state.parameters.size());
  ORRERY_TRY_VOID(network->set_state(state));
  return SequenceModel(std::move(weights), std::move(network));
}

Result<SequencePrediction> SequenceModel::predict(const LaunchTrace& trace) const {
  const std::size_t rows = trace.operators.size();
  if (rows == 0) return Error::invalid("a trace without operators");
  const bool is_graph = weights_.network.structure == Structure::kGcn;
  const auto width = is_graph ? rows : static_cast<std::size_t>(weights_.network.length);
  const std::vector<std::size_t> starts =
      is_graph ? std::vector<std::size_t>{0} : window_starts(rows, width, static_cast<std::size_t>(weights_.stride));
  const SequenceBatcher batcher(weights_);
  WindowMean mean(rows, kSequenceOutputs);
  NetworkBatch batch;
  for (std::size_t begin = 0; begin < starts.size(); begin += kWindowsAtOnce) {
    const std::size_t end = std::min(starts.size(), begin + kWindowsAtOnce);
    batch.clear();
    for (std::size_t i = begin; i < end; ++i) {
      if (is_graph) {
        batcher.add_graph(trace, batch);
      } else {
        batcher.add_window(trace, starts[i], batch);
      }
    }
    ORRERY_TRY(const std::vector<float> answers, network_->predict(batch));
    std::vector<double> times(answers.size());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      times[i] = from_target(weights_.outputs.value(answers[i], i % kSequenceOutputs), weights_.targets);
    }
    const std::size_t of_window = width * kSequenceOutputs;
    for (std::size_t i = begin; i < end; ++i) {
      mean.add(starts[i], std::span(times).subspan((i - begin) * of_window, of_window));
    }
  }
  SequencePrediction prediction;
  for (std::size_t row = 0; row < rows; ++row) {
    prediction.execution.push_back(mean.mean(row, 0));
    prediction.gap.push_back(mean.mean(row, 1));
    const double both = prediction.execution.back() + prediction.gap.back();
    prediction.phases[static_cast<std::size_t>(trace.operators[row].phase)] += both;
    prediction.iteration += both;
  }
  prediction.iteration = std::max(prediction.iteration, kShortestIteration);
  return prediction;
}

}  // namespace orrery::predict
