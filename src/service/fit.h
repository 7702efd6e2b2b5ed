#pragma once
// Learning a model of times or of resources from measurements, into a file that predictions are made with.

#include "base/fields.h"
#include "base/table.h"
#include "env/env.h"
#include "predict/driple/resource_network.h"
#include "predict/neural/sequence_model.h"
#include "service/watch.h"

namespace orrery::service {

enum class FitForm { kAuto, kMeasured, kLaunches, kOperators, kJobs, kEtsNetwork, kRegression, kDriple };
std::string_view to_string(FitForm form);

struct FitRequest {
  FieldNames names;
  std::string source;
  std::string out;  // model file to write
  FitForm form = FitForm::kAuto;
  std::string device;
  std::uint64_t seed = 0;
  int threads = 0;
  std::uint64_t steps = 0;            // of the training of a network; 0: as many as its form takes
  std::optional<Seconds> time_limit;  // of that training
  std::string keep;                   // folder of its checkpoint; empty: none
  std::string time_of, unit, model;   // of a regression
  std::string frequencies;            // CSV for driple; empty: from the graphs
  std::vector<std::string> setting;   // of the jobs that driple learns from
  predict::SequenceOptions sequence;
  predict::ResourceNetworkOptions network;

  friend bool operator==(const FitRequest&, const FitRequest&) = default;
};
const Fields<FitRequest>& fit_fields();

struct FitAnswer {
  Table table;
  std::string text;  // for people; may be empty
};
// Writes the model to `out`.
Result<FitAnswer> fit(env::Env env, const FitRequest& request, Watch& watch);

}  // namespace orrery::service
