#include "hardware/cluster_file.h"

#include <gtest/gtest.h>

namespace orrery::hardware {
namespace {

TEST(ClusterFileTest, PresetsAndOwnMachines) {
  const auto cluster = read_cluster(
      "name: lab\n"
      "network: HDR\n"
      "machines:\n"
      "  - preset: dgx a100\n"
      "    count: 4\n"
      "  - name: old rack\n"
      "    device: Tesla V100-SXM2-16GB\n"
      "    devices: 8\n"
      "    count: 2\n"
      "    network_ports: 2\n"
      "    cpu_cores: 40\n"
      "    memory_gib: 512\n",
      "c.yaml");
  ASSERT_TRUE(cluster) << cluster.error().message();
  EXPECT_EQ(cluster->name, "lab");
  EXPECT_EQ(cluster->network.name, "InfiniBand HDR");
  EXPECT_EQ(total_machines(*cluster), 6);
  EXPECT_EQ(total_devices(*cluster), 48);
  const Machine& old_rack = cluster->machines[1].machine;
  EXPECT_EQ(old_rack.device->name, "V100");
  EXPECT_EQ(old_rack.device_link.name, "NVLink 2");
  EXPECT_EQ(old_rack.network.name, "InfiniBand HDR");
  EXPECT_EQ(old_rack.network_ports, 2);
  EXPECT_EQ(old_rack.memory, gibibytes(512));
}

TEST(ClusterFileTest, MistakesNameFileLineAndField) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "c.yaml:1: expected fields (name: value)"},
      {"name: x\n", "c.yaml:1: machines: missing; expected a list"},
      {"machines: 3\n", "c.yaml:1: machines: expected a list (- …)"},
      {"netwrok: 10G\nmachines:\n- preset: DGX-1\n", "c.yaml:1: netwrok: unknown field; did you mean \"network\"?"},
      {"machines:\n- preset: DGX-1\n  cuont: 2\n",
       "c.yaml:3: machines[0].cuont: unknown field; did you mean \"count\"?"},
      {"machines:\n- preset: DGX-1\n- device: V10O\n",
       "c.yaml:3: machines[1].device: unknown device \"V10O\"; did you mean \"V100\"?"},
      {"machines:\n- preset: DGX-7\n",
       "c.yaml:2: machines[0].preset: unknown machine \"DGX-7\"; did you mean \"DGX-1\"?"},
      {"machines:\n- preset: DGX-1\n  device: V100\n",
       "c.yaml:3: machines[0].device: a preset has its own; give preset or device, not both"},
      {"machines:\n- count: 2\n",
       "c.yaml:2: machines[0].device: missing; a machine is a preset, or a device and how many of it"},
      {"machines:\n- device: T4\n  count: 0\n",
       "c.yaml:3: machines[0].count: 0 is out of range; expected 1 to 1048576"},
      {"machines:\n- device: T4\n  devices: 1000000\n  count: 1000000\n",
       "c.yaml:4: machines[0].count: more than 1048576 devices in the cluster"},
      {"network: NVLink 3\nmachines:\n- device: T4\n",
       "c.yaml:1: network: NVLink 3 does not join machines; expected a network such as Ethernet 100G"},
      {"machines:\n- T4\n", "c.yaml:2: machines[0]: expected fields (name: value)"},
      {"name: \"a\\nb\"\nmachines:\n- device: T4\n",
       "c.yaml:1: name: expected one line of at most 200 bytes without tabs"},
      {"network: Infini\tBand HDR\nmachines:\n- device: T4\n",
       "c.yaml:1: network: expected one line of at most 200 bytes without tabs"},
      {"machines:\n- device: " + std::string(1 << 20, 'x') + "\n",
       "c.yaml:2: machines[0].device: expected one line of at most 200 bytes without tabs"},
  };
  for (const auto& [yaml, message] : cases) {
    const auto cluster = read_cluster(yaml, "c.yaml");
    ASSERT_FALSE(cluster) << yaml;
    EXPECT_EQ(cluster.error().message(), message);
  }
}

}  // namespace
}  // namespace orrery::hardware
