#pragma once
// Training for a few steps to measure it: in one process, every operator; in several processes, their use of processor,
// memory and network, measured or predicted.

#include <variant>

#include "service/profile_workers.h"
#include "service/watch.h"
#include "trace/execution_trace.h"

namespace orrery::service {

// Of a training in one process.
struct AloneFields {
  Setting<workload::Optimizer> optimizer;
  Setting<int> repetitions, warmup;
  bool gpu = false;
  Setting<std::string> data;  // synthetic, fashion-mnist, or a text file

  friend bool operator==(const AloneFields&, const AloneFields&) = default;
};

struct ProfileRequest {
  FieldNames names;
  TrainedFields trained;
  AloneFields alone;
  std::optional<int> workers;  // nothing: one process
  ExchangeFields exchange;
  MeasuringFields measuring;
  bool predict = false;  // of workers: from jobs that were measured; nothing runs
  std::optional<BytesPerSecond> rate;
  Setting<std::string> predictor;

  friend bool operator==(const ProfileRequest&, const ProfileRequest&) = default;
};
const Fields<ProfileRequest>& profile_fields();

using ProfileAnswer = std::variant<profile::Profile, MeasuredWorkers, PredictedWorker>;
Result<ProfileAnswer> profile(env::Env env, const ProfileRequest& request, Watch& watch);

// One row per operator; shares are of the whole iteration. `top` operators, longest first, or all as they ran.
Table operator_table(const profile::Profile& profile, std::optional<std::size_t> top = {});
// For people: times by phase, how far to trust them, the loss.
std::string profile_text(const profile::Profile& profile);

}  // namespace orrery::service
