#include "cli/commands.h"
#include "service/clusters.h"

namespace orrery::cli {

namespace {

Status run_cluster_show(Context& context, const Arguments& arguments) {
  ORRERY_TRY(const service::ClusterRequest request, service::cluster_request_fields().read(arguments.options));
  ORRERY_TRY(const hardware::Cluster cluster, service::show_cluster(context.env, request));
  if (for_people(arguments.options)) context.print(service::cluster_line(cluster) + "\n\n");
  return context.print_table(service::machine_table(cluster), arguments.options);
}

}  // namespace

Command cluster_show_command() {
  return {"cluster show",
          "show the machines, devices and peaks of a cluster file",
          join(service::cluster_request_fields().records(), table_options()),
          {"orrery cluster show examples/cluster.yaml", "orrery cluster show examples/cluster.yaml --json"},
          run_cluster_show};
}

}  // namespace orrery::cli
