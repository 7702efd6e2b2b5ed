#include "lab/evaluate/listed_devices.h"

#include <algorithm>

namespace orrery::lab {

Result<std::vector<ListedDevice>> read_listed_devices(const SuiteInput& input, const std::string& train) {
  ORRERY_TRY(const std::string csv, read_data(input.files, train, "devices.csv"));
  ORRERY_TRY(std::vector<ListedDevice> devices, parse_devices(csv));
  if (input.test.empty() || !input.files.exists(input.test + "/devices.csv")) return devices;
  ORRERY_TRY(const std::string more, read_data(input.files, input.test, "devices.csv"));
  ORRERY_TRY(const std::vector<ListedDevice> others, parse_devices(more));
  for (const ListedDevice& other : others) {
    const auto same = [&](const ListedDevice& device) { return device.facts.name == other.facts.name; };
    if (std::none_of(devices.begin(), devices.end(), same)) devices.push_back(other);
  }
  return devices;
}

}  // namespace orrery::lab
