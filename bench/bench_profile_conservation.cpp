// Conservation: do the operators and gaps of a trace add up to the time of an iteration that is not traced?
//
// Profiles 20 models of the zoo and prints for each the iteration, what the trace adds up to, and what tracing costs.
// Exits with 1 when the median of the absolute conservation errors is above 3 %, or that of the costs above 5 %.

#include <cmath>
#include <cstdio>
#include <fmt/format.h>

#include "base/statistics.h"
#include "base/text.h"
#include "env/clock.h"
#include "env/env.h"
#include "profile/profiler.h"
#include "workload/zoo/zoo.h"

namespace {

using namespace orrery;

constexpr double kConservationBar = 0.03, kOverheadBar = 0.05;

constexpr const char* kModels[] = {"alexnet:input=64",
                                   "bert_tiny:seq=64,vocab=5000",
                                   "densenet121:input=64",
                                   "efficientnet_b0:input=64",
                                   "googlenet:input=64",
                                   "gpt2:layers=2,hidden=128,heads=4,seq=64,vocab=5000",
                                   "lenet",
                                   "mlp:hidden=1024",
                                   "mnasnet0_5:input=96",
                                   "mobilenet_v2:input=64",
                                   "mobilenet_v3_small:input=96",
                                   "nmt:hidden=128,vocab=5000,seq=16",
                                   "randwire_small:input=64,width=16",
                                   "regnet_y_400mf:input=64",
                                   "resnet18:input=64",
                                   "resnet50:input=64",
                                   "rnn:hidden=128,vocab=5000",
                                   "shufflenet_v2_x0_5:input=96",
                                   "squeezenet1_1:input=96",
                                   "vit_b_16:layers=4,hidden=256,heads=4,mlp=512,input=64"};

Result<profile::Profile> profile_model(env::Env env, const char* model) {
  ORRERY_TRY(const workload::TrainingGraph single, workload::build_model(model));
  ORRERY_TRY(workload::TrainingGraph graph, single.with_batch(4));
  const workload::TrainingRun run{std::move(graph)};
  ORRERY_TRY(const auto executor, profile::make_executor(run, {}, env.clock));
  const profile::ProfileOptions options{.warmup = 3, .repetitions = 40, .time_max = Seconds(3)};
  return profile::measure(run, *executor, options, env.files, env.clock);
}

}  // namespace

int main() {
  const env::Env env = env::make_real_env();
  std::vector<double> errors, costs;
  fmt::print(
      "| model, batch 4, one thread | iteration | operators + gaps | difference | tracing costs | steps spread |\n");
  fmt::print("|---|---|---|---|---|---|\n");
  for (const char* model : kModels) {
    const auto p = profile_model(env, model);
    if (!p) {
      std::fputs((std::string(model) + ": " + p.error().to_string() + "\n").c_str(), stderr);
      return 1;
    }
    errors.push_back(std::abs(p->conservation));
    costs.push_back(p->overhead);
    fmt::print("| `{}` | {} | {} | {:+.1f} % | {:.1f} % | {:.1f} %{} |\n", model, format_seconds(p->iteration),
               format_seconds(p->trace.iteration()), 100 * p->conservation, 100 * p->overhead, 100 * p->spread,
               p->is_noisy ? ", noisy" : "");
    std::fflush(stdout);
  }
  const double error = median(errors), cost = median(costs);
  const bool is_met = error <= kConservationBar && cost <= kOverheadBar;
  fmt::print("\nmedian difference {:.2f} % (bar 3 %), median cost of tracing {:.2f} % (bar 5 %): {}\n", 100 * error,
             100 * cost, is_met ? "met" : "missed");
  return is_met ? 0 : 1;
}
