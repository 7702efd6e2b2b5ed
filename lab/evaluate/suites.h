#pragma once
// The suites of measurements `orrery evaluate SUITE` can score predictions against. A new one is one line of
// all_suites().

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "env/files.h"
#include "lab/evaluate/score.h"
#include "lab/lab.h"
#include "predict/driple/resource_network.h"
#include "predict/neural/sequence_model.h"
#include "predict/readers/data_files.h"

namespace orrery::lab {

// How suites that train networks do it.
struct SuiteTraining {
  SequenceOptions sequence{};
  ResourceNetworkOptions resource{};  // of driple; its steps and threads are those of the suite
  std::uint64_t steps = 0;            // 0: as many as the suite thinks right
  double seconds_max = std::numeric_limits<double>::infinity();  // of one training
  std::string keep{};                                            // folder for checkpoints and models; empty: none
  std::function<void(std::uint64_t done, std::uint64_t total)> progress{};  // steps of all trainings
};

// What a suite may read and how it is to run.
struct SuiteInput {
  env::Files& files;
  std::function<double()> now_s;  // seconds of a clock that never goes backwards
  std::string data;               // the folder of all data sets
  std::string train{};            // the folder to fit on; empty: the suite's own in `data`
  std::string test{};             // the folder to score on; empty: cross-validation inside the training folder
  std::uint64_t seed = 1;
  int threads = 2;
  bool baselines = false;  // also score what others published, fitted on the same data; slow
  SuiteTraining training{};
  std::function<void()> after_fit{};  // of each model of a cross-validation that takes minutes

  void report_fit() const {
    if (after_fit) after_fit();
  }
};

struct Suite {
  std::string name;
  std::string help;
  Result<SuiteReport> (*run)(const SuiteInput& input);
};

const std::vector<Suite>& all_suites();
// The error lists what there is.
Result<Suite> find_suite(std::string_view name);

// The folder to fit on: `train`, or `set` in the folder of data sets.
std::string training_folder(const SuiteInput& input, std::string_view set);

}  // namespace orrery::lab
