#pragma once
// What this machine, some of its processes and a command use of its resources, sampled at a fixed period.

#include "base/fields.h"
#include "base/table.h"
#include "env/env.h"
#include "profile/sampler.h"
#include "service/watch.h"

namespace orrery::service {

struct SampleRequest {
  FieldNames names;
  Setting<double> seconds;  // with a command, the default is until it ends
  Seconds period;
  std::vector<std::string> interfaces;  // empty: all but lo
  std::vector<std::int64_t> pids;       // with their descendants

  friend bool operator==(const SampleRequest&, const SampleRequest&) = default;
};
const Fields<SampleRequest>& sample_fields();

struct SampleAnswer {
  profile::Samples samples;
  Status ended;  // an error if the command failed
};
// `command`: words of a program to start and to end with the samples; empty: none. It is no field, because only who
// sits at this machine may start one.
Result<SampleAnswer> sample(env::Env env, const SampleRequest& request, const std::vector<std::string>& command,
                            Watch& watch);

// One row per series.
Table sample_table(const profile::Samples& samples);

}  // namespace orrery::service
