#include "lab/evaluate/suites.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "lab/evaluate/driple_ablations_suite.h"
#include "lab/evaluate/driple_suite.h"
#include "lab/evaluate/ets_ablations_suite.h"
#include "lab/evaluate/ets_faithful_suite.h"
#include "lab/evaluate/ets_suite.h"
#include "lab/evaluate/graph_suite.h"
#include "lab/evaluate/jobs_suite.h"
#include "lab/evaluate/kineto_suite.h"
#include "lab/evaluate/layers_suite.h"
#include "lab/evaluate/llm_graph_suite.h"
#include "lab/evaluate/llm_suite.h"
#include "lab/evaluate/memory_suite.h"
#include "lab/evaluate/operators_suite.h"
#include "lab/evaluate/own_suite.h"
#include "lab/evaluate/polimi_suite.h"
#include "lab/evaluate/profet_suite.h"
#include "lab/evaluate/scaling_suite.h"
#include "lab/evaluate/transfer_suite.h"

namespace orrery::lab {

const std::vector<Suite>& all_suites() {
  static const std::vector<Suite> kSuites = {
      {"ets-p1", "iterations on a GPU: configurations never seen, of models that were", run_ets_configurations_suite},
      {"ets-p2", "iterations on a GPU: model families never seen", run_ets_families_suite},
      {"ets-p3", "iterations on one GPU from the trace of another", run_ets_devices_suite},
      {"ets-graph", "how long a GPU is busy, from the graph alone", run_graph_suite},
      {"ets-faithful", "the same as ets-p1 by the published ETS network, trained here", run_ets_faithful_suite},
      {"ets-ablations", "what structure, layers, windows and loss do to the ETS network", run_ets_ablations_suite},
      {"own", "iterations on a processor, from a data set of this tool (default data/cpu.dataset)", run_own_suite},
      {"operators", "operators on GPUs that were not measured", run_operators_suite},
      {"layers", "single layers on GPUs that were not measured", run_layers_suite},
      {"llm", "iterations of language models on GPUs that were not measured", run_llm_suite},
      {"llm-graph", "the same from the zoo's own graphs, as `predict --predictor operators` does", run_llm_graph_suite},
      {"profet", "training steps on other machines from a profile on one", run_profet_suite},
      {"polimi", "training runs with batches, GPUs, devices and modules not measured", run_polimi_suite},
      {"ps-workers", "speeds of parameter-server jobs not measured", run_ps_workers_suite},
      {"scaling", "step times of data-parallel jobs on placements not measured", run_scaling_suite},
      {"transfer", "layers on a device of which few were measured, with and without another device",
       run_transfer_suite},
      {"memory", "peak memory of trainings on a GPU", run_memory_suite},
      {"jobs", "bursts of processor, memory and network of data-parallel jobs (default data/jobs.dataset)",
       run_jobs_suite},
      {"driple", "memory and activity of a GPU that trainings use, from their graphs", run_driple_suite},
      {"driple-ablations", "what grouping, graph layer, depth and readout do to Driple's network",
       run_driple_ablations_suite},
      {"kineto", "the last step of a profiled run from the steps before it", run_kineto_suite},
  };
  return kSuites;
}

Result<Suite> find_suite(std::string_view name) {
  std::vector<std::string> names;
  std::string list;
  for (const Suite& suite : all_suites()) {
    if (suite.name == name) return suite;
    names.push_back(suite.name);
    list += fmt::format("\n  {:<14}{}", suite.name, suite.help);
  }
  return Error::invalid(fmt::format("unknown suite {}{}; there are:{}", quote(name), did_you_mean(name, names), list));
}

std::string training_folder(const SuiteInput& input, std::string_view set) {
  return input.train.empty() ? fmt::format("{}/{}", input.data, set) : input.train;
}

}  // namespace orrery::lab
