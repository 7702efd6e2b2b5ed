#pragma once
// A machine: devices of one kind in one host. A cluster: machines on one network.

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "hardware/device.h"
#include "hardware/link.h"

namespace orrery::hardware {

struct Machine {
  std::string name;
  const Device* device = nullptr;  // never null in a machine from this module; exists as long as the program
  int device_count = 0;
  Link device_link;  // between its devices
  Link host_link;    // between a device and the host
  Link network;      // one port
  int network_ports = 1;
  int cpu_cores = 0;
  Bytes memory;
};

struct MachineGroup {
  Machine machine;
  int count = 0;
};

struct Cluster {
  std::string name;
  std::vector<MachineGroup> machines;
  Link network;
};

// Rented shapes and well-known servers: "p3.2xlarge", "DGX A100", "workstation"…
std::span<const Machine> machine_presets();

Result<const Machine*> find_machine(std::string_view name);

// Line rate per direction of all network ports together.
BytesPerSecond network_bandwidth(const Machine& machine);

int total_machines(const Cluster& cluster);
int total_devices(const Cluster& cluster);

}  // namespace orrery::hardware
