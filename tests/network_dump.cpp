// Runs a network once and writes its parameters, what went in and what came out.
//
// usage: network_dump FILE
//
// FILE holds records: a line "NAME COUNT" followed by COUNT floats in the machine's byte order and a line end. Two
// networks: "bilstm.*", a sequence model of ten operators in windows of four every two (its operators' features as
// scores, the answers of every window, the mean over windows), and "gcn.*", a graph of six nodes.

#include <cstdio>
#include <fmt/format.h>

#include "base/random.h"
#include "env/env.h"
#include "env/files.h"
#include "predict/neural/network.h"
#include "predict/neural/windows.h"

namespace {

using namespace orrery;
using namespace orrery::predict;

constexpr std::size_t kInputs = 5, kOutputs = 2;

void append(std::string& out, const std::string& name, const std::vector<float>& values) {
  out += fmt::format("{} {}\n", name, values.size());
  out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  out += '\n';
}

std::vector<float> random_numbers(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = static_cast<float>(random.normal());
  return numbers;
}

NetworkOptions options_of(Structure structure) {
  NetworkOptions options;
  options.structure = structure;
  options.inputs = kInputs;
  options.outputs = kOutputs;
  options.layers = 2;
  options.hidden = 7;
  options.length = 4;
  return options;
}

// Answers, loss and gradients, then the parameters after three steps of Adam.
Status dump_network(const std::string& name, const NetworkOptions& options, const NetworkBatch& batch,
                    std::string& out) {
  ORRERY_TRY(const auto network, make_network(options));
  append(out, name + ".parameters", network->state().parameters);
  append(out, name + ".inputs", batch.inputs);
  append(out, name + ".targets", batch.targets);
  ORRERY_TRY(const std::vector<float> answers, network->predict(batch));
  append(out, name + ".answers", answers);
  std::vector<float> gradients;
  ORRERY_TRY(const double loss, network->gradients(batch, gradients));
  append(out, name + ".loss", {static_cast<float>(loss)});
  append(out, name + ".gradients", gradients);
  for (int step = 0; step < 3; ++step) ORRERY_TRY_VOID(network->learn(batch, 1e-2));
  append(out, name + ".after", network->state().parameters);
  return {};
}

Status dump_windows(std::string& out) {
  constexpr std::size_t kRows = 10, kWidth = 4, kStride = 2;
  const NetworkOptions options = options_of(Structure::kBiLstm);
  const std::vector<float> rows = random_numbers(kRows * kInputs, 1);
  const std::vector<float> targets = random_numbers(kRows * kOutputs, 2);
  const std::vector<std::size_t> starts = window_starts(kRows, kWidth, kStride);
  NetworkBatch batch;
  for (const std::size_t start : starts) {
    for (std::size_t row = start; row < start + kWidth; ++row) {
      const bool is_real = row < kRows;
      for (std::size_t i = 0; i < kInputs; ++i) batch.inputs.push_back(is_real ? rows[row * kInputs + i] : 0);
      for (std::size_t i = 0; i < kOutputs; ++i) batch.targets.push_back(is_real ? targets[row * kOutputs + i] : 0);
      batch.weights.push_back(is_real ? 1 : 0);
    }
  }
  ORRERY_TRY_VOID(dump_network("bilstm", options, batch, out));
  ORRERY_TRY(const auto network, make_network(options));
  ORRERY_TRY(const std::vector<float> answers, network->predict(batch));
  WindowMean mean(kRows, kOutputs);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto begin = answers.begin() + static_cast<std::ptrdiff_t>(i * kWidth * kOutputs);
    mean.add(starts[i], std::vector<double>(begin, begin + kWidth * kOutputs));
  }
  std::vector<float> means;
  for (std::size_t i = 0; i < kRows * kOutputs; ++i) {
    means.push_back(static_cast<float>(mean.mean(i / kOutputs, i % kOutputs)));
  }
  append(out, "bilstm.rows", rows);
  append(out, "bilstm.means", means);
  return {};
}

Status dump_graph(std::string& out) {
  NetworkBatch batch;
  batch.inputs = random_numbers(6 * kInputs, 3);
  batch.targets = random_numbers(6 * kOutputs, 4);
  batch.sources = {0, 1, 2, 3, 4, 0, 1};
  batch.sinks = {1, 2, 3, 4, 5, 5, 4};
  append(out, "gcn.sources", {batch.sources.begin(), batch.sources.end()});
  append(out, "gcn.sinks", {batch.sinks.begin(), batch.sinks.end()});
  NetworkOptions options = options_of(Structure::kGcn);
  options.loss = Loss::kMse;
  options.weight_decay = 0.1;
  return dump_network("gcn", options, batch, out);
}

Status dump(const std::string& path) {
  std::string out;
  ORRERY_TRY_VOID(dump_windows(out));
  ORRERY_TRY_VOID(dump_graph(out));
  return env::make_real_env().files.write_atomically(path, out);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: network_dump FILE\n", stderr);
    return 2;
  }
  const Status status = dump(argv[1]);
  if (status) return 0;
  std::fputs((status.error().to_string() + "\n").c_str(), stderr);
  return 1;
}
