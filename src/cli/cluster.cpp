#include <fmt/format.h>

#include "base/text.h"
#include "base/yaml.h"
#include "cli/commands.h"
#include "env/files.h"
#include "hardware/cluster_file.h"

namespace orrery::cli {

using hardware::Cluster;
using hardware::MachineGroup;

namespace {

// What all devices of a group or cluster have together.
struct Totals {
  Bytes memory;
  FlopsPerSecond fp32;
  FlopsPerSecond fastest16;  // fp16 or bf16, whichever is faster

  void add(const MachineGroup& group) {
    const hardware::Device& device = *group.machine.device;
    const double devices = static_cast<double>(group.count) * group.machine.device_count;
    memory += device.memory * devices;
    fp32 += hardware::matrix_peak(device, Precision::kFp32) * devices;
    fastest16 +=
        std::max(hardware::matrix_peak(device, Precision::kFp16), hardware::matrix_peak(device, Precision::kBf16)) *
        devices;
  }
};

Table machine_table(const Cluster& cluster) {
  Table table({{"machine", "machine"},
               {"machines", "machines", CellFormat::kInteger},
               {"device", "device"},
               {"devices_per_machine", "devices each", CellFormat::kInteger},
               {"devices", "devices", CellFormat::kInteger},
               {"device_memory_bytes", "device memory", CellFormat::kBytes},
               {"device_link", "device link"},
               {"network", "network"},
               {"network_ports", "ports", CellFormat::kInteger},
               {"network_bytes_per_s", "network B/s", CellFormat::kCount, false},
               {"cpu_cores", "cores", CellFormat::kInteger},
               {"memory_bytes", "memory", CellFormat::kBytes},
               {"peak_fp32_flops_per_s", "FP32 FLOP/s", CellFormat::kCount},
               {"peak_16bit_flops_per_s", "16-bit FLOP/s", CellFormat::kCount}});
  for (const MachineGroup& group : cluster.machines) {
    const hardware::Machine& machine = group.machine;
    Totals totals;
    totals.add(group);
    table.add({machine.name, std::int64_t{group.count}, std::string(machine.device->name),
               std::int64_t{machine.device_count}, std::int64_t{group.count} * machine.device_count,
               machine.device->memory.value(), std::string(machine.device_link.name), std::string(machine.network.name),
               std::int64_t{machine.network_ports}, hardware::network_bandwidth(machine).value(),
               machine.cpu_cores > 0 ? Cell(std::int64_t{machine.cpu_cores}) : Cell(),
               machine.memory > Bytes(0) ? Cell(machine.memory.value()) : Cell(), totals.fp32.value(),
               totals.fastest16.value()});
  }
  return table;
}

Status run_cluster_show(Context& context, const Arguments& arguments) {
  const std::string& path = arguments.words[0];
  ORRERY_TRY(const std::string yaml, context.env.files.read(path, kYamlBytesMax));
  ORRERY_TRY(const Cluster cluster, hardware::read_cluster(yaml, path));
  if (for_people(arguments.options)) {
    Totals totals;
    for (const MachineGroup& group : cluster.machines) totals.add(group);
    context.print(fmt::format(
        "{}: {} machines, {} devices with {} of memory, joined by {}; peak {}FLOP/s in fp32, {}FLOP/s in 16 bit\n\n",
        cluster.name, format_whole(hardware::total_machines(cluster)), format_whole(hardware::total_devices(cluster)),
        format_bytes(totals.memory), cluster.network.name, format_count(totals.fp32.value()),
        format_count(totals.fastest16.value())));
  }
  return context.print_table(machine_table(cluster), arguments.options);
}

}  // namespace

Command cluster_show_command() {
  return {"cluster show",
          "FILE",
          1,
          1,
          "show the machines, devices and peaks of a cluster file",
          table_options(),
          {"orrery cluster show examples/cluster.yaml", "orrery cluster show examples/cluster.yaml --json"},
          run_cluster_show};
}

}  // namespace orrery::cli
