#include "hardware/machine.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"
#include "hardware/name_key.h"
#include "hardware/placement.h"

namespace orrery::hardware {
namespace {

struct Preset {
  std::string_view name;
  std::string_view device;
  int device_count;
  std::string_view network;
  int network_ports;
  int cpu_cores;
  double memory_gib;
};

// Of rented shapes, cpu_cores is half the number of virtual CPUs: the provider counts hardware threads.
constexpr Preset kPresets[] = {
    {"p2.16xlarge", "K80", 16, "Ethernet 25G", 1, 32, 732},    {"p3.2xlarge", "V100", 1, "Ethernet 10G", 1, 4, 61},
    {"p3.16xlarge", "V100", 8, "Ethernet 25G", 1, 32, 488},    {"g4dn.12xlarge", "T4", 4, "Ethernet 50G", 1, 24, 192},
    {"p4d.24xlarge", "A100", 8, "Ethernet 100G", 4, 48, 1152}, {"DGX-1", "V100 32GB", 8, "InfiniBand EDR", 4, 40, 512},
    {"DGX A100", "A100", 8, "InfiniBand HDR", 8, 128, 1024},   {"DGX H100", "H100", 8, "InfiniBand NDR", 8, 112, 2048},
    {"workstation", "RTX 3090", 1, "Ethernet 10G", 1, 16, 64}, {"small server", "CPU", 1, "Ethernet 10G", 1, 2, 24},
};

Machine to_machine(const Preset& preset) {
  const auto device = find_device(preset.device);
  ORRERY_CHECK(device.has_value());
  const auto network = find_link(preset.network);
  ORRERY_CHECK(network.has_value());
  return {
      .name = std::string(preset.name),
      .device = *device,
      .device_count = preset.device_count,
      .device_link = peer_link(**device),
      .host_link = host_link(**device),
      .network = *network,
      .network_ports = preset.network_ports,
      .cpu_cores = preset.cpu_cores,
      .memory = gibibytes(preset.memory_gib),
  };
}

std::vector<Machine> make_presets() {
  std::vector<Machine> machines;
  for (const Preset& preset : kPresets) machines.push_back(to_machine(preset));
  return machines;
}

}  // namespace

std::span<const Machine> machine_presets() {
  static const std::vector<Machine> kMachines = make_presets();
  return kMachines;
}

Result<const Machine*> find_machine(std::string_view name) {
  const std::string key = name_key(name);
  std::vector<std::string> names;
  for (const Machine& machine : machine_presets()) {
    if (name_key(machine.name) == key) return &machine;
    names.push_back(machine.name);
  }
  return Error::not_found(fmt::format("unknown machine \"{}\"{}", name, did_you_mean(name, names)));
}

BytesPerSecond network_bandwidth(const Machine& machine) {
  return machine.network.bandwidth * machine.network_ports;
}

int total_machines(const Cluster& cluster) {
  int total = 0;
  for (const MachineGroup& group : cluster.machines) total += group.count;
  return total;
}

int total_devices(const Cluster& cluster) {
  int total = 0;
  for (const MachineGroup& group : cluster.machines) total += group.count * group.machine.device_count;
  return total;
}

}  // namespace orrery::hardware
