#include "hardware/placement.h"

#include <fmt/format.h>

#include "base/check.h"

namespace orrery::hardware {
namespace {

Link known_link(std::string_view name) {
  const auto link = find_link(name);
  ORRERY_CHECK(link.has_value());  // the device table names only links of the link table; a test checks it
  return *link;
}

Status check_count(std::string_view field, int count) {
  if (count >= 1 && count <= kDevicesMax) return {};
  return Error::invalid(fmt::format("{}: {} is out of range; expected 1 to {}", field, count, kDevicesMax));
}

Result<Link> inside_link(const Device& device, std::string_view name) {
  if (name.empty()) return peer_link(device);
  ORRERY_TRY(const Link link, find_link(name));
  if (link.kind != LinkKind::kDeviceLink) return link;
  if (link.name == device.link) return peer_link(device);
  const Link own = peer_link(device);
  return Error::invalid(
      fmt::format("{} has no {}; its devices reach each other over {}", device.name, link.name, own.name));
}

// Per direction. NVLink of V100 and later devices; bridges between two workstation cards have less.
constexpr BytesPerSecond kBoardLink = gigabytes_per_second(150);

}  // namespace

bool has_own_adapter(const Device& device) {
  return !device.link.empty() && device.link_bandwidth >= kBoardLink;
}

std::string network_text(const Placement& placement) {
  return placement.adapters == 1 ? std::string(placement.between.name)
                                 : fmt::format("{} × {}", placement.adapters, placement.between.name);
}

Link peer_link(const Device& device) {
  if (device.link.empty()) return host_link(device);
  Link link = known_link(device.link);
  link.bandwidth = device.link_bandwidth;
  return link;
}

Link host_link(const Device& device) {
  return known_link(device.pcie.empty() ? "Shared memory" : device.pcie);
}

Result<Placement> make_placement(const Device& device, int devices, int devices_per_machine, LinkChoice links) {
  ORRERY_TRY_VOID(check_count("devices", devices));
  ORRERY_TRY_VOID(check_count("devices_per_machine", devices_per_machine));
  ORRERY_TRY(const Link inside, inside_link(device, links.inside));
  ORRERY_TRY(Link between, find_link(links.between.empty() ? kDefaultNetwork : links.between));
  const bool assumed = links.between.empty();
  const bool on_board = devices_per_machine >= kBoardDevices && has_own_adapter(device);
  const int adapters = assumed && on_board ? devices_per_machine : 1;
  between.bandwidth = between.bandwidth * adapters;
  return Placement{&device, devices, devices_per_machine, inside, between, adapters, assumed};
}

Result<Placement> make_placement(std::string_view device, int devices, int devices_per_machine, LinkChoice links) {
  ORRERY_TRY(const Device* found, find_device(device));
  return make_placement(*found, devices, devices_per_machine, links);
}

Result<Placement> make_placement(const Machine& machine, int devices) {
  ORRERY_CHECK(machine.device != nullptr);
  ORRERY_TRY_VOID(check_count("devices", devices));
  ORRERY_TRY_VOID(check_count("device_count", machine.device_count));
  Link between = machine.network;
  between.bandwidth = network_bandwidth(machine);
  return Placement{machine.device, devices, machine.device_count, machine.device_link, between, machine.network_ports};
}

}  // namespace orrery::hardware
