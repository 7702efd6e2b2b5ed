#include "hardware/cluster_file.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/yaml.h"
#include "hardware/placement.h"

namespace orrery::hardware {
namespace {

constexpr std::size_t kNameBytesMax = 200;
constexpr int kPortsMax = 64;
constexpr int kCoresMax = 1 << 16;
constexpr double kMachineMemoryGibMax = 1e6;

// Looks a name up; the lookup's error gets the place of the field.
template <class Found, class Lookup>
Result<Found> named(const YamlFields& fields, std::string_view key, const std::string& name, Lookup lookup) {
  auto found = lookup(name);
  if (!found) return fields.error(key, found.error().message());
  return *found;
}

// A name: short enough to be compared with others and safe to be repeated in a message or a table.
Result<std::optional<std::string>> name_in(YamlFields& fields, std::string_view key) {
  ORRERY_TRY(auto text, fields.text(key));
  if (text && (text->size() > kNameBytesMax || !is_printable(*text))) {
    return fields.error(key, fmt::format("expected one line of at most {} bytes without tabs", kNameBytesMax));
  }
  return text;
}

Result<Machine> preset_machine(YamlFields& fields, const std::string& preset) {
  for (const std::string_view key : {"device", "devices"}) {
    if (fields.has(key)) return fields.error(key, "a preset has its own; give preset or device, not both");
  }
  ORRERY_TRY(const Machine* machine, named<const Machine*>(fields, "preset", preset, find_machine));
  return *machine;
}

Result<Machine> own_machine(YamlFields& fields, const std::optional<std::string>& device, int devices,
                            const Link& network) {
  if (!device) return fields.error("device", "missing; a machine is a preset, or a device and how many of it");
  Machine machine;
  ORRERY_TRY(machine.device, named<const Device*>(fields, "device", *device, find_device));
  machine.name = fmt::format("{} × {}", devices, machine.device->name);
  machine.device_count = devices;
  machine.device_link = peer_link(*machine.device);
  machine.host_link = host_link(*machine.device);
  machine.network = network;
  return machine;
}

// A link that joins machines; the ones inside a machine do not.
Result<Link> network_link(const YamlFields& fields, std::string_view key, const std::string& name) {
  ORRERY_TRY(const Link link, named<Link>(fields, key, name, find_link));
  if (link.kind == LinkKind::kNetwork || link.kind == LinkKind::kMemory) return link;
  return fields.error(
      key, fmt::format("{} does not join machines; expected a network such as {}", link.name, kDefaultNetwork));
}

Result<MachineGroup> read_group(YamlFields& fields, const Link& network) {
  ORRERY_TRY(const auto preset, name_in(fields, "preset"));
  ORRERY_TRY(const auto device, name_in(fields, "device"));
  ORRERY_TRY(const auto devices, fields.integer("devices", 1, kDevicesMax));
  ORRERY_TRY(const auto count, fields.integer("count", 1, kDevicesMax));
  ORRERY_TRY(const auto name, name_in(fields, "name"));
  ORRERY_TRY(const auto own_network, name_in(fields, "network"));
  ORRERY_TRY(const auto ports, fields.integer("network_ports", 1, kPortsMax));
  ORRERY_TRY(const auto cores, fields.integer("cpu_cores", 1, kCoresMax));
  ORRERY_TRY(const auto memory_gib, fields.number("memory_gib", 0, kMachineMemoryGibMax));
  ORRERY_TRY_VOID(fields.check_unknown());

  MachineGroup group;
  group.count = count.value_or(1);
  Machine& machine = group.machine;
  if (preset) {
    ORRERY_TRY(machine, preset_machine(fields, *preset));
  } else {
    ORRERY_TRY(machine, own_machine(fields, device, devices.value_or(1), network));
  }
  if (own_network) {
    ORRERY_TRY(machine.network, network_link(fields, "network", *own_network));
  }
  machine.name = name.value_or(machine.name);
  machine.network_ports = ports.value_or(machine.network_ports);
  machine.cpu_cores = cores.value_or(machine.cpu_cores);
  if (memory_gib) machine.memory = gibibytes(*memory_gib);
  return group;
}

}  // namespace

Result<Cluster> read_cluster(std::string_view yaml, std::string_view file) {
  ORRERY_TRY(const YamlValue root, parse_yaml(yaml, file));
  ORRERY_TRY(YamlFields fields, YamlFields::of(root, std::string(file), ""));
  ORRERY_TRY(const auto name, name_in(fields, "name"));
  ORRERY_TRY(const auto network, name_in(fields, "network"));
  ORRERY_TRY(const YamlValue* machines, fields.list("machines"));
  ORRERY_TRY_VOID(fields.check_unknown());
  if (machines == nullptr || machines->items.empty()) return fields.error("machines", "missing; expected a list");
  if (machines->items.size() > kMachineGroupsMax) {
    return fields.error("machines", fmt::format("more than {} groups", kMachineGroupsMax));
  }

  Cluster cluster;
  cluster.name = name.value_or("cluster");
  ORRERY_TRY(cluster.network, network_link(fields, "network", network.value_or(std::string(kDefaultNetwork))));
  std::int64_t devices = 0;
  for (std::size_t i = 0; i < machines->items.size(); ++i) {
    ORRERY_TRY(YamlFields group_fields,
               YamlFields::of(machines->items[i], std::string(file), fmt::format("machines[{}]", i)));
    ORRERY_TRY(MachineGroup group, read_group(group_fields, cluster.network));
    devices += std::int64_t{group.count} * group.machine.device_count;
    if (devices > kDevicesMax) {
      return group_fields.error("count", fmt::format("more than {} devices in the cluster", kDevicesMax));
    }
    cluster.machines.push_back(std::move(group));
  }
  return cluster;
}

}  // namespace orrery::hardware
