#include "hardware/link.h"

#include <array>
#include <fmt/format.h>

#include "base/text.h"
#include "hardware/name_key.h"

namespace orrery::hardware {
namespace {

constexpr BytesPerSecond gigabits_per_second(double n) {
  return BytesPerSecond(n * 1e9 / 8);
}

constexpr Link bus(std::string_view name, double gb_s) {
  return {name, LinkKind::kHostBus, gigabytes_per_second(gb_s), 0.8, microseconds(5)};
}

constexpr Link device_link(std::string_view name, double gb_s) {
  return {name, LinkKind::kDeviceLink, gigabytes_per_second(gb_s), 0.85, microseconds(3)};
}

constexpr Link infiniband(std::string_view name, double gbit_s) {
  return {name, LinkKind::kNetwork, gigabits_per_second(gbit_s), 0.92, microseconds(5)};
}

// Through the kernel's TCP stack, which keeps up less well the faster the port is.
constexpr Link ethernet(std::string_view name, double gbit_s, double efficiency, double latency_us) {
  return {name, LinkKind::kNetwork, gigabits_per_second(gbit_s), efficiency, microseconds(latency_us)};
}

constexpr std::array kLinks = {
    bus("PCIe 2 x16", 8.0),
    bus("PCIe 3 x16", 15.75),
    bus("PCIe 4 x8", 15.75),
    bus("PCIe 4 x16", 31.5),
    bus("PCIe 5 x16", 63.0),
    bus("NVLink-C2C", 450),
    device_link("NVLink 1", 80),
    device_link("NVLink 2", 150),
    device_link("NVLink 3", 300),
    device_link("NVLink 4", 450),
    device_link("NVLink 5", 900),
    device_link("Infinity Fabric", 448),
    device_link("Gaudi RoCE", 600),
    device_link("ICI", 600),
    ethernet("Ethernet 1G", 1, 0.94, 50),
    ethernet("Ethernet 10G", 10, 0.92, 30),
    ethernet("Ethernet 25G", 25, 0.90, 25),
    ethernet("Ethernet 40G", 40, 0.90, 25),
    ethernet("Ethernet 50G", 50, 0.88, 20),
    ethernet("Ethernet 100G", 100, 0.85, 20),
    ethernet("Ethernet 200G", 200, 0.80, 20),
    ethernet("Ethernet 400G", 400, 0.80, 20),
    infiniband("InfiniBand FDR", 54.5),  // 56 Gb/s on the wire, 64b/66b coded
    infiniband("InfiniBand EDR", 100),
    infiniband("InfiniBand HDR", 200),
    infiniband("InfiniBand NDR", 400),
    Link{"Loopback", LinkKind::kMemory, gigabytes_per_second(5), 0.8, microseconds(15)},
    Link{"Shared memory", LinkKind::kMemory, gigabytes_per_second(12), 0.8, microseconds(1)},
};

struct ShortName {
  std::string_view key;
  std::string_view name;
};

constexpr std::array kShortNames = {
    ShortName{"pcie2", "PCIe 2 x16"},     ShortName{"pcie3", "PCIe 3 x16"},   ShortName{"pcie4", "PCIe 4 x16"},
    ShortName{"pcie5", "PCIe 5 x16"},     ShortName{"1g", "Ethernet 1G"},     ShortName{"10g", "Ethernet 10G"},
    ShortName{"25g", "Ethernet 25G"},     ShortName{"40g", "Ethernet 40G"},   ShortName{"50g", "Ethernet 50G"},
    ShortName{"100g", "Ethernet 100G"},   ShortName{"200g", "Ethernet 200G"}, ShortName{"400g", "Ethernet 400G"},
    ShortName{"fdr", "InfiniBand FDR"},   ShortName{"edr", "InfiniBand EDR"}, ShortName{"hdr", "InfiniBand HDR"},
    ShortName{"ndr", "InfiniBand NDR"},   ShortName{"shm", "Shared memory"},  ShortName{"localhost", "Loopback"},
    ShortName{"xgmi", "Infinity Fabric"},
};

std::string full_key(std::string_view name) {
  std::string key = name_key(name);
  for (const ShortName& short_name : kShortNames) {
    if (short_name.key == key) return name_key(short_name.name);
  }
  return key;
}

}  // namespace

std::span<const Link> all_links() {
  return kLinks;
}

Result<Link> find_link(std::string_view name) {
  const std::string key = full_key(name);
  std::vector<std::string> names;
  for (const Link& link : kLinks) {
    if (name_key(link.name) == key) return link;
    names.emplace_back(link.name);
  }
  for (const ShortName& short_name : kShortNames) names.emplace_back(short_name.key);
  return Error::not_found(fmt::format("unknown link \"{}\"{}", name, did_you_mean(name, names)));
}

BytesPerSecond achievable_bandwidth(const Link& link) {
  return link.bandwidth * link.efficiency;
}

Seconds transfer_time(const Link& link, Bytes size) {
  return link.latency + size / achievable_bandwidth(link);
}

}  // namespace orrery::hardware
