#include "service/devices.h"

#include <fmt/format.h>

#include "base/text.h"

namespace orrery::service {

using hardware::Device;

const Fields<DevicesRequest>& devices_fields() {
  static const auto kFields = Fields<DevicesRequest>().add(
      &DevicesRequest::text,
      text_option("text", "", "list only devices with this in name, vendor or architecture").word());
  return kFields;
}

Result<std::vector<const Device*>> list_devices(const DevicesRequest& request) {
  const std::string wanted = to_lower(request.text);
  std::vector<const Device*> devices;
  std::vector<std::string> names;
  for (const Device& device : hardware::all_devices()) {
    const std::string key = to_lower(fmt::format("{} {} {}", device.name, device.vendor, device.architecture));
    if (key.find(wanted) != std::string::npos) devices.push_back(&device);
    names.emplace_back(device.name);
  }
  if (!devices.empty()) return devices;
  return Error::not_found(fmt::format("no device matches \"{}\"{}", request.text, did_you_mean(wanted, names)));
}

namespace {

Cell teraflops_or_none(FlopsPerSecond rate) {
  if (rate == FlopsPerSecond(0)) return std::monostate();
  return rate.value() / 1e12;
}

}  // namespace

Table device_table(const std::vector<const Device*>& devices, bool with_sources) {
  Table table({{"device", "device"},
               {"vendor", "vendor"},
               {"architecture", "architecture"},
               {"year", "year", CellFormat::kInteger},
               {"fp32_tflops", "FP32 TF/s", CellFormat::kNumber},
               {"tf32_tflops", "TF32 TF/s", CellFormat::kNumber},
               {"fp16_tflops", "FP16 TF/s", CellFormat::kNumber},
               {"bf16_tflops", "BF16 TF/s", CellFormat::kNumber},
               {"memory_bytes", "memory", CellFormat::kBytes},
               {"bandwidth_gb_per_s", "GB/s", CellFormat::kNumber},
               {"sms", "SMs", CellFormat::kInteger},
               {"l2_bytes", "L2", CellFormat::kBytes, false},
               {"link", "link"},
               {"link_gb_per_s", "link GB/s", CellFormat::kNumber},
               {"host_link", "host link", CellFormat::kText, false},
               {"tdp_w", "W", CellFormat::kInteger},
               {"source", "source", CellFormat::kText, with_sources}});
  for (const Device* one : devices) {
    const Device& device = *one;
    const bool has_link = !device.link.empty();
    table.add({std::string(device.name), std::string(device.vendor), std::string(device.architecture),
               std::int64_t{device.year}, device.fp32.value() / 1e12, teraflops_or_none(device.tf32),
               teraflops_or_none(device.fp16), teraflops_or_none(device.bf16), device.memory.value(),
               device.memory_bandwidth.value() / 1e9, std::int64_t{device.sms}, device.l2.value(),
               has_link ? Cell(std::string(device.link)) : Cell(),
               has_link ? Cell(device.link_bandwidth.value() / 1e9) : Cell(), std::string(device.pcie),
               device.tdp > Watts(0) ? Cell(device.tdp.value()) : Cell(), std::string(device.source)});
  }
  return table;
}

}  // namespace orrery::service
