#include "predict/neural/sequence_batches.h"

#include <cmath>

#include "predict/ets/backward_match.h"

namespace orrery::predict {

float to_target(double microseconds, TargetForm form) {
  const double positive = std::max(microseconds, 0.0);
  return static_cast<float>(form == TargetForm::kLogarithms ? std::log1p(positive) : positive);
}

double from_target(double target, TargetForm form) {
  return form == TargetForm::kLogarithms ? std::expm1(target) : target;
}

void SequenceBatcher::add_row(const LaunchTrace& trace, std::size_t row, NetworkBatch& batch) const {
  const std::size_t at = batch.inputs.size();
  batch.inputs.resize(at + kEtsFeatures);
  const std::span<float> inputs = std::span(batch.inputs).subspan(at);
  ets_features(trace, row, weights_.types, weights_.sizes, inputs);
  weights_.inputs.to_scores(inputs);
  const bool is_measured = row < trace.times.size();
  batch.weights.push_back(is_measured ? 1 : 0);
  const double times[] = {is_measured ? trace.times[row].device : 0, is_measured ? trace.times[row].gap : 0};
  for (std::size_t i = 0; i < kSequenceOutputs; ++i) {
    batch.targets.push_back(weights_.outputs.score(to_target(times[i], weights_.targets), i));
  }
}

void SequenceBatcher::add_padding(NetworkBatch& batch) const {
  for (std::size_t c = 0; c < kEtsFeatures; ++c) batch.inputs.push_back(weights_.inputs.score(0, c));
  batch.weights.push_back(0);
  batch.targets.insert(batch.targets.end(), kSequenceOutputs, 0);
}

void SequenceBatcher::add_window(const LaunchTrace& trace, std::size_t start, NetworkBatch& batch) const {
  const std::size_t end = start + static_cast<std::size_t>(weights_.network.length);
  for (std::size_t row = start; row < end; ++row) {
    if (row < trace.operators.size()) {
      add_row(trace, row, batch);
    } else {
      add_padding(batch);
    }
  }
}

void SequenceBatcher::add_graph(const LaunchTrace& trace, NetworkBatch& batch) const {
  const auto first = static_cast<std::int64_t>(batch.weights.size());
  const auto edge = [&](std::size_t from, std::size_t to) {
    batch.sources.push_back(first + static_cast<std::int64_t>(from));
    batch.sinks.push_back(first + static_cast<std::int64_t>(to));
  };
  const BackwardMatch match = match_backward(trace);
  for (std::size_t row = 0; row < trace.operators.size(); ++row) {
    add_row(trace, row, batch);
    if (row > 0) edge(row - 1, row);
    if (match.forward[row] == kUnmatched) continue;
    const auto forward = static_cast<std::size_t>(match.forward[row]);
    if (forward + 1 != row) edge(forward, row);
  }
}

}  // namespace orrery::predict
