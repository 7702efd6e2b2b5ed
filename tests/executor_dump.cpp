// Runs forward and backward of a model once, without randomness, and writes what went in and what came out.
//
// usage: executor_dump MODEL BATCH FILE
//
// FILE holds records: a line "call NAME", or a line "KIND NAME COUNT" (input, target, parameter, gradient, loss)
// followed by COUNT floats in the machine's byte order and a line end.

#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>

#include "env/clock.h"
#include "env/env.h"
#include "env/files.h"
#include "profile/executor.h"
#include "workload/zoo/zoo.h"

namespace {

using namespace orrery;

void append(std::string& out, const std::string& kind, const std::string& name, const std::vector<float>& values) {
  out += fmt::format("{} {} {}\n", kind, name, values.size());
  out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  out += '\n';
}

Status append_parameters(std::string& out, const workload::TrainingGraph& graph, const profile::Executor& executor) {
  for (const workload::Operator& op : graph.operators()) {
    for (const workload::Parameter& parameter : op.parameters) {
      const std::string name = op.name + "." + parameter.name;
      ORRERY_TRY(const auto values, executor.parameter(name));
      append(out, "parameter", name, values);
      ORRERY_TRY(const auto gradient, executor.gradient(name));
      append(out, "gradient", name, gradient);
    }
  }
  return {};
}

Status dump(const std::string& model, std::int64_t batch, const std::string& path) {
  const env::Env env = env::make_real_env();
  ORRERY_TRY(const workload::TrainingGraph single, workload::build_model(model));
  ORRERY_TRY(workload::TrainingGraph graph, single.with_batch(batch));
  workload::TrainingRun run{std::move(graph)};
  profile::ExecutorOptions options;
  options.is_random = false;
  ORRERY_TRY(const auto executor, profile::make_executor(run, options, env.clock));
  std::string out;
  ORRERY_TRY(const double loss, executor->compute_gradients());
  append(out, "loss", "loss", {static_cast<float>(loss)});
  ORRERY_TRY(const auto input, executor->input(0));
  append(out, "input", "0", input);
  ORRERY_TRY(const auto target, executor->target(0));
  append(out, "target", "0", target);
  ORRERY_TRY_VOID(append_parameters(out, run.graph, *executor));
  ORRERY_TRY(const auto calls, executor->list_calls());
  for (const profile::LibraryCall& call : calls) {
    if (call.phase == workload::Phase::kForward && call.depth == 0 && call.op.valid())
      out += fmt::format("call {}\n", call.name);
  }
  return env.files.write_atomically(path, out);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: executor_dump MODEL BATCH FILE\n", stderr);
    return 2;
  }
  const Status status = dump(argv[1], std::atoll(argv[2]), argv[3]);
  if (status) return 0;
  std::fputs((status.error().to_string() + "\n").c_str(), stderr);
  return 1;
}
