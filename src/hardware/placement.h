#pragma once
// Where one training run runs: how many devices of one kind, spread over how many machines, joined by which links.

#include <string>
#include <string_view>

#include "base/result.h"
#include "hardware/device.h"
#include "hardware/link.h"
#include "hardware/machine.h"

namespace orrery::hardware {

struct Placement {
  const Device* device = nullptr;  // never null in a placement from make_placement; exists as long as the program
  int devices = 1;
  int devices_per_machine = 1;   // at most; the last machine may hold fewer
  Link inside;                   // between devices of one machine
  Link between;                  // between machines, all adapters of one together
  int adapters = 1;              // of a machine: as many such links `between` is
  bool assumed_network = false;  // the link between machines was not given

  int machines() const { return (devices + devices_per_machine - 1) / devices_per_machine; }
  bool crosses_machines() const { return machines() > 1; }
  // The slowest link a collective over all devices has to use.
  const Link& bottleneck() const { return crosses_machines() ? between : inside; }
};

// Names of link.h; empty: the device's own link (or its host bus) inside, 100 Gb/s Ethernet between. A machine of
// kBoardDevices data-centre devices or more has as many adapters as devices if no network is named; a named one is all
// that a machine has.
inline constexpr int kBoardDevices = 8;
// Whether devices of this kind come on boards whose machines have a network adapter for each: known by their link.
bool has_own_adapter(const Device& device);
// "8 × Ethernet 100G".
std::string network_text(const Placement& placement);
struct LinkChoice {
  std::string_view inside;
  std::string_view between;
};

inline constexpr int kDevicesMax = 1 << 20;

// The placement keeps a pointer to `device`, which must outlive it.
Result<Placement> make_placement(const Device& device, int devices, int devices_per_machine, LinkChoice links = {});
Result<Placement> make_placement(std::string_view device, int devices, int devices_per_machine, LinkChoice links = {});

// `devices` devices on as many machines of this kind as they need. Several network ports count as one wide link.
Result<Placement> make_placement(const Machine& machine, int devices);

// How devices of this kind reach each other in one machine, at this device's own bandwidth.
Link peer_link(const Device& device);
// How the device reaches its host.
Link host_link(const Device& device);

}  // namespace orrery::hardware
