#include "hardware/placement.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <set>

#include "hardware/name_key.h"

namespace orrery::hardware {
namespace {

TEST(LinkTest, EveryLinkIsUsableAndNamedOnce) {
  std::set<std::string> keys;
  for (const Link& link : all_links()) {
    SCOPED_TRACE(link.name);
    EXPECT_TRUE(keys.insert(name_key(link.name)).second);
    EXPECT_GT(link.bandwidth, BytesPerSecond(0));
    EXPECT_GT(link.efficiency, 0);
    EXPECT_LE(link.efficiency, 1);
    EXPECT_GT(link.latency, Seconds(0));
    EXPECT_EQ(find_link(link.name)->name, link.name);
  }
}

TEST(LinkTest, ShortNamesAndMistakes) {
  EXPECT_EQ(find_link("100G")->name, "Ethernet 100G");
  EXPECT_EQ(find_link("edr")->name, "InfiniBand EDR");
  EXPECT_EQ(find_link("nvlink3")->name, "NVLink 3");
  EXPECT_EQ(find_link("pcie4")->name, "PCIe 4 x16");
  EXPECT_EQ(find_link("NVLink 7").error().message(), "unknown link \"NVLink 7\"; did you mean \"NVLink 1\"?");
}

// 20 us + 1.0625 GB / (12.5 GB/s × 0.85) = 0.1 s.
TEST(LinkTest, TransferTimeIsLatencyPlusSizeOverAchievableRate) {
  const Link link = *find_link("Ethernet 100G");
  EXPECT_DOUBLE_EQ(transfer_time(link, gigabytes(1.0625)).value(), 20e-6 + 0.1);
}

TEST(PlacementTest, TakesTheDevicesOwnLinkAndBandwidth) {
  const auto v100 = make_placement("V100", 16, 8);
  ASSERT_TRUE(v100.has_value());
  EXPECT_EQ(v100->inside.name, "NVLink 2");
  EXPECT_EQ(v100->inside.bandwidth, gigabytes_per_second(150));
  EXPECT_EQ(v100->between.name, "Ethernet 100G");
  EXPECT_EQ(v100->machines(), 2);
  EXPECT_EQ(v100->bottleneck().name, "Ethernet 100G");

  EXPECT_EQ(make_placement("RTX 3090", 2, 2)->inside.bandwidth, gigabytes_per_second(56.25));
  EXPECT_EQ(make_placement("T4", 4, 4)->inside.name, "PCIe 3 x16");
  EXPECT_EQ(make_placement("T4", 4, 4)->bottleneck().name, "PCIe 3 x16");
  EXPECT_EQ(make_placement("CPU", 2, 2)->inside.name, "Shared memory");
}

TEST(PlacementTest, ABoardOfEightHasAnAdapterForEachDevice) {
  const auto board = make_placement("H100", 16, 8);
  EXPECT_EQ(board->adapters, 8);
  EXPECT_EQ(board->between.bandwidth, find_link("100G")->bandwidth * 8);
  EXPECT_EQ(network_text(*board), "8 × Ethernet 100G");
  EXPECT_TRUE(board->assumed_network);
  EXPECT_EQ(make_placement("H100", 16, 4)->adapters, 1) << "part of a board";
  EXPECT_EQ(make_placement("RTX 3090", 16, 8)->adapters, 1) << "a workstation card";
  EXPECT_EQ(make_placement("T4", 16, 8)->adapters, 1) << "no board";
  const auto named = make_placement("H100", 16, 8, {.inside = {}, .between = "EDR"});
  EXPECT_EQ(network_text(*named), "InfiniBand EDR");
  EXPECT_FALSE(named->assumed_network);
}

TEST(PlacementTest, LinksCanBeChosen) {
  const auto placement = make_placement("V100", 8, 4, {.inside = "PCIe 3 x16", .between = "EDR"});
  EXPECT_EQ(placement->inside.name, "PCIe 3 x16");
  EXPECT_EQ(placement->between.name, "InfiniBand EDR");
  EXPECT_EQ(make_placement("A30", 2, 2, {.inside = "nvlink 3", .between = ""})->inside.bandwidth,
            gigabytes_per_second(100));
}

TEST(PlacementTest, SaysWhatIsWrong) {
  EXPECT_EQ(make_placement("V100", 0, 1).error().message(), "devices: 0 is out of range; expected 1 to 1048576");
  EXPECT_EQ(make_placement("V100", 1, 0).error().message(),
            "devices_per_machine: 0 is out of range; expected 1 to 1048576");
  EXPECT_FALSE(make_placement("V100", -3, 1).has_value());
  EXPECT_FALSE(make_placement("V10O", 1, 1).has_value());
  EXPECT_EQ(make_placement("T4", 2, 2, {.inside = "NVLink 2", .between = ""}).error().message(),
            "T4 has no NVLink 2; its devices reach each other over PCIe 3 x16");
  EXPECT_FALSE(make_placement("T4", 2, 2, {.inside = "", .between = "carrier pigeon"}).has_value());
}

TEST(PlacementTest, MachinesHoldAllDevicesAndNoMachineIsEmpty) {
  EXPECT_TRUE(rc::check("(machines - 1) · per machine < devices <= machines · per machine", [] {
    const int devices = *rc::gen::inRange(1, 5000);
    const int per_machine = *rc::gen::inRange(1, 65);
    const auto placement = make_placement("A100", devices, per_machine);
    RC_ASSERT(placement.has_value());
    RC_ASSERT(placement->machines() * per_machine >= devices);
    RC_ASSERT((placement->machines() - 1) * per_machine < devices);
  }));
}

TEST(MachineTest, PresetsAreCompleteAndFound) {
  for (const Machine& machine : machine_presets()) {
    SCOPED_TRACE(machine.name);
    ASSERT_NE(machine.device, nullptr);
    EXPECT_GT(machine.device_count, 0);
    EXPECT_GT(machine.cpu_cores, 0);
    EXPECT_GT(machine.memory, Bytes(0));
    EXPECT_GT(network_bandwidth(machine), BytesPerSecond(0));
    EXPECT_EQ(*find_machine(machine.name), &machine);
  }
  EXPECT_EQ((*find_machine("dgx-a100"))->device->name, "A100");
  EXPECT_EQ(find_machine("p3.2xlage").error().message(), "unknown machine \"p3.2xlage\"; did you mean \"p3.2xlarge\"?");
}

// DGX H100: eight 400 Gb/s ports are 400 GB/s per direction.
TEST(MachineTest, PlacementOnMachinesJoinsTheirPorts) {
  const Machine& dgx = **find_machine("DGX H100");
  const auto placement = make_placement(dgx, 32);
  ASSERT_TRUE(placement.has_value());
  EXPECT_EQ(placement->machines(), 4);
  EXPECT_EQ(placement->inside.name, "NVLink 4");
  EXPECT_EQ(placement->between.bandwidth, gigabytes_per_second(400));
  EXPECT_FALSE(make_placement(dgx, 0).has_value());
}

TEST(ClusterTest, CountsMachinesAndDevices) {
  const Cluster cluster = {"mixed", {{**find_machine("DGX-1"), 3}, {**find_machine("workstation"), 4}}, {}};
  EXPECT_EQ(total_machines(cluster), 7);
  EXPECT_EQ(total_devices(cluster), 28);
}

}  // namespace
}  // namespace orrery::hardware
