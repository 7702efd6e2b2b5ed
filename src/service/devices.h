#pragma once
// The devices that Orrery knows, and their peaks.

#include "base/fields.h"
#include "base/table.h"
#include "hardware/device.h"

namespace orrery::service {

struct DevicesRequest {
  FieldNames names;
  std::string text;  // in name, vendor or architecture; empty: all devices

  bool operator==(const DevicesRequest&) const = default;
};
const Fields<DevicesRequest>& devices_fields();
// An error if no device matches.
Result<std::vector<const hardware::Device*>> list_devices(const DevicesRequest& request);

Table device_table(const std::vector<const hardware::Device*>& devices, bool with_sources);

}  // namespace orrery::service
