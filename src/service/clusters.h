#pragma once
// Clusters that requests name or write down.

#include "base/fields.h"
#include "base/table.h"
#include "env/env.h"
#include "hardware/machine.h"
#include "schedule/cluster_view.h"

namespace orrery::service {

struct ClusterChoice {
  schedule::Machines machines;
  std::string text;  // "32 machines with 8 GPUs"
  int gpus = 0;
  std::vector<std::string> devices;  // names of types, by MachineView::device; empty: not given
};
OptionRecord cluster_option();
// "32x8": machines x GPUs; "V100=4x8,P100=2x4": of several types; or a cluster file.
Result<ClusterChoice> load_cluster(env::Env env, const std::string& choice, const FieldNames& names);

struct ClusterRequest {
  FieldNames names;
  std::string file;

  bool operator==(const ClusterRequest&) const = default;
};
const Fields<ClusterRequest>& cluster_request_fields();
Result<hardware::Cluster> show_cluster(env::Env env, const ClusterRequest& request);

// Its machines, with what they have together.
Table machine_table(const hardware::Cluster& cluster);
// "pool: 12 machines, 64 devices with …": all machines together.
std::string cluster_line(const hardware::Cluster& cluster);

}  // namespace orrery::service
