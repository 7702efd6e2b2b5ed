#pragma once
// A connection between two devices, a device and its host, or two machines.
//
// `bandwidth` is the line rate per direction; `efficiency` is the share of it that large messages reach in practice;
// `latency` is one small message, software included. The last two are typical values to start from: a fit to
// measurements replaces them.

#include <span>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace orrery::hardware {

enum class LinkKind {
  kHostBus,     // PCIe and the like: between a device and its host, or peers through it
  kDeviceLink,  // NVLink and the like: between devices only; the device states how much it has
  kNetwork,     // between machines
  kMemory,      // within one host
};

struct Link {
  std::string_view name;
  LinkKind kind = LinkKind::kNetwork;
  BytesPerSecond bandwidth;
  double efficiency = 1;
  Seconds latency;
};

// Between machines, where no link is given.
inline constexpr std::string_view kDefaultNetwork = "Ethernet 100G";

// Every known link. Of a device link it gives the fullest configuration of that generation.
std::span<const Link> all_links();

// Finds a link by name or short name ("100G", "EDR", "nvlink3"), ignoring case, spaces and dashes.
Result<Link> find_link(std::string_view name);

BytesPerSecond achievable_bandwidth(const Link& link);

// latency + size / achievable bandwidth.
Seconds transfer_time(const Link& link, Bytes size);

}  // namespace orrery::hardware
