// Any bytes are YAML or an error with its line; a cluster that was read is within its limits and can be shown.

#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "base/yaml.h"
#include "cli/main.h"
#include "env/sim_env.h"
#include "expect.h"
#include "hardware/cluster_file.h"
#include "hardware/placement.h"

namespace {

using namespace orrery;

// Depth of the tree, whose values all have a line.
std::size_t check(const YamlValue& value, std::size_t lines) {
  expect(value.line >= 1 && value.line <= lines);
  std::size_t deepest = 0;
  for (const YamlValue& item : value.items) deepest = std::max(deepest, check(item, lines));
  for (const YamlEntry& entry : value.entries) deepest = std::max(deepest, check(entry.value, lines));
  return deepest + 1;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tree = parse_yaml(text, "f");
  if (tree) expect(check(*tree, size + 1) <= kYamlDepthMax + 1);
  const auto cluster = hardware::read_cluster(text, "f");
  if (!cluster) {
    expect(cluster.error().message().starts_with("f:") && is_printable(cluster.error().message()));
    return 0;
  }
  expect(hardware::total_devices(*cluster) >= 1 && hardware::total_devices(*cluster) <= hardware::kDevicesMax);
  for (const hardware::MachineGroup& group : cluster->machines) {
    expect(hardware::make_placement(group.machine, group.machine.device_count).has_value());
  }
  env::SimEnv sim;
  expect(sim.files.write_atomically("f", text).has_value());
  expect(cli::run({"cluster", "show", "f"}, sim.env()).exit_code == cli::kDone);
  return 0;
}
