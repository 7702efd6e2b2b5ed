#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "hardware/device.h"

namespace orrery::cli {

namespace {

Cell teraflops_or_none(FlopsPerSecond rate) {
  if (rate == FlopsPerSecond(0)) return std::monostate();
  return rate.value() / 1e12;
}

Status run_devices(Context& context, const Arguments& arguments) {
  const std::string wanted = arguments.words.empty() ? "" : to_lower(arguments.words[0]);
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
               {"source", "source", CellFormat::kText, arguments.options.flag("sources")}});
  for (const hardware::Device& device : hardware::all_devices()) {
    const std::string key = to_lower(fmt::format("{} {} {}", device.name, device.vendor, device.architecture));
    if (key.find(wanted) == std::string::npos) continue;
    const bool has_link = !device.link.empty();
    table.add({std::string(device.name), std::string(device.vendor), std::string(device.architecture),
               std::int64_t{device.year}, device.fp32.value() / 1e12, teraflops_or_none(device.tf32),
               teraflops_or_none(device.fp16), teraflops_or_none(device.bf16), device.memory.value(),
               device.memory_bandwidth.value() / 1e9, std::int64_t{device.sms}, device.l2.value(),
               has_link ? Cell(std::string(device.link)) : Cell(),
               has_link ? Cell(device.link_bandwidth.value() / 1e9) : Cell(), std::string(device.pcie),
               device.tdp > Watts(0) ? Cell(device.tdp.value()) : Cell(), std::string(device.source)});
  }
  if (table.rows() == 0) {
    std::vector<std::string> names;
    for (const hardware::Device& device : hardware::all_devices()) names.emplace_back(device.name);
    return Error::not_found(fmt::format("no device matches \"{}\"{}", arguments.words[0], did_you_mean(wanted, names)));
  }
  return context.print_table(table, arguments.options);
}

}  // namespace

Command devices_command() {
  return {"devices",
          "[TEXT]",
          0,
          1,
          "list the devices and their peaks",
          join({flag_option("sources", "show the source of every number")}, table_options()),
          {"orrery devices", "orrery devices hopper --sources", "orrery devices --json"},
          run_devices};
}

}  // namespace orrery::cli
