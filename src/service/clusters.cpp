#include "service/clusters.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/text.h"
#include "base/yaml.h"
#include "env/files.h"
#include "hardware/cluster_file.h"

namespace orrery::service {

using hardware::Cluster;
using hardware::MachineGroup;

OptionRecord cluster_option() {
  return text_option("cluster", "32x8", "MACHINESxGPUS, TYPE=MACHINESxGPUS,…, or a cluster file").in("CLUSTER");
}

const Fields<ClusterRequest>& cluster_request_fields() {
  static const auto kFields = Fields<ClusterRequest>().add(
      &ClusterRequest::file, text_option("file", "", "cluster file").in("FILE").required().word());
  return kFields;
}

namespace {

constexpr int kMachinesMax = 1 << 20;

// Appends "32x8" to the machines; false if it is not of that form.
Result<bool> add_machines(const std::string& text, std::int32_t device, ClusterChoice& result) {
  const std::size_t cross = text.find('x');
  const auto machines = cross == std::string::npos ? std::nullopt : parse_number(text.substr(0, cross));
  const auto each = cross == std::string::npos ? std::nullopt : parse_number(text.substr(cross + 1));
  if (!machines || !each) return false;
  const bool in_range = *machines >= 1 && *each >= 1 && *each <= 1024 &&
                        static_cast<double>(result.machines.size()) + *machines <= kMachinesMax;
  if (!in_range) {
    return Error::invalid(fmt::format("{} is not 1 to {} machines with 1 to 1024 GPUs", text, kMachinesMax));
  }
  result.machines.insert(result.machines.end(), static_cast<std::size_t>(*machines),
                         {.gpus = static_cast<std::int32_t>(*each), .device = device});
  result.gpus += static_cast<int>(*machines) * static_cast<int>(*each);
  result.text += fmt::format("{}{:.0f} machines with {:.0f} GPUs", result.text.empty() ? "" : ", ", *machines, *each);
  return true;
}

// "V100=4x8,P100=2x4".
Result<ClusterChoice> typed_cluster(const std::string& choice) {
  ClusterChoice result;
  for (const std::string& part : split(choice, ',')) {
    const std::size_t equals = part.find('=');
    const std::string type(trim(part.substr(0, equals)));
    const bool named = equals != std::string::npos && !type.empty() && is_printable(type);
    const auto device = static_cast<std::int32_t>(result.devices.size());
    ORRERY_TRY(const bool added, named ? add_machines(part.substr(equals + 1), device, result) : Result<bool>(false));
    if (!added) {
      return Error::invalid(fmt::format("expected TYPE=MACHINESxGPUS instead of {}", quote(part)));
    }
    result.devices.push_back(type);
    result.text += " (" + type + ")";
  }
  return result;
}

// No value if it is the name of a file.
Result<std::optional<ClusterChoice>> written_cluster(const std::string& choice) {
  ClusterChoice result;
  ORRERY_TRY(const bool counted, add_machines(choice, 0, result));
  if (counted) return std::optional(std::move(result));
  if (choice.find('=') == std::string::npos) return std::optional<ClusterChoice>();
  ORRERY_TRY(result, typed_cluster(choice));
  return std::optional(std::move(result));
}

ClusterChoice choice_of(const Cluster& cluster) {
  ClusterChoice result;
  std::map<std::string_view, std::int32_t> devices;
  for (const MachineGroup& group : cluster.machines) {
    const auto device = devices.emplace(group.machine.device->name, static_cast<std::int32_t>(devices.size()));
    if (device.second) result.devices.emplace_back(group.machine.device->name);
    schedule::MachineView machine;
    machine.gpus = group.machine.device_count;
    machine.device = device.first->second;
    machine.cpus = group.machine.cpu_cores;
    machine.memory = group.machine.memory.value() / gibibytes(1).value();
    result.machines.insert(result.machines.end(), static_cast<std::size_t>(group.count), machine);
    result.gpus += group.count * machine.gpus;
  }
  result.text = fmt::format("{} ({} machines)", cluster.name, result.machines.size());
  return result;
}

Result<Cluster> read_file(env::Env env, const std::string& path) {
  ORRERY_TRY(const std::string yaml, env.files.read(path, kYamlBytesMax));
  return hardware::read_cluster(yaml, path);
}

}  // namespace

Result<ClusterChoice> load_cluster(env::Env env, const std::string& choice, const FieldNames& names) {
  auto written = written_cluster(choice);
  if (!written) return names.error("cluster", written.error());
  if (*written) return std::move(**written);
  if (!env.files.exists(choice)) {
    return names.error("cluster", Error::not_found(fmt::format(
                                      "no file {}; give a cluster file or MACHINESxGPUS such as 32x8", quote(choice))));
  }
  ORRERY_TRY(const Cluster cluster, read_file(env, choice));
  return choice_of(cluster);
}

Result<Cluster> show_cluster(env::Env env, const ClusterRequest& request) {
  return read_file(env, request.file);
}

namespace {

// What all devices of a group or cluster have together.
struct Totals {
  Bytes memory;
  FlopsPerSecond fp32;
  FlopsPerSecond fastest16;  // fp16 or bf16, whichever is faster

  void add(const MachineGroup& group) {
    const hardware::Device& device = *group.machine.device;
    const double devices = static_cast<double>(group.count) * group.machine.device_count;
    memory += device.memory * devices;
    fp32 += hardware::matrix_peak(device, Precision::kFp32) * devices;
    fastest16 +=
        std::max(hardware::matrix_peak(device, Precision::kFp16), hardware::matrix_peak(device, Precision::kBf16)) *
        devices;
  }
};

}  // namespace

Table machine_table(const Cluster& cluster) {
  Table table({{"machine", "machine"},
               {"machines", "machines", CellFormat::kInteger},
               {"device", "device"},
               {"devices_per_machine", "devices each", CellFormat::kInteger},
               {"devices", "devices", CellFormat::kInteger},
               {"device_memory_bytes", "device memory", CellFormat::kBytes},
               {"device_link", "device link"},
               {"network", "network"},
               {"network_ports", "ports", CellFormat::kInteger},
               {"network_bytes_per_s", "network B/s", CellFormat::kCount, false},
               {"cpu_cores", "cores", CellFormat::kInteger},
               {"memory_bytes", "memory", CellFormat::kBytes},
               {"peak_fp32_flops_per_s", "FP32 FLOP/s", CellFormat::kCount},
               {"peak_16bit_flops_per_s", "16-bit FLOP/s", CellFormat::kCount}});
  for (const MachineGroup& group : cluster.machines) {
    const hardware::Machine& machine = group.machine;
    Totals totals;
    totals.add(group);
    table.add({machine.name, std::int64_t{group.count}, std::string(machine.device->name),
               std::int64_t{machine.device_count}, std::int64_t{group.count} * machine.device_count,
               machine.device->memory.value(), std::string(machine.device_link.name), std::string(machine.network.name),
               std::int64_t{machine.network_ports}, hardware::network_bandwidth(machine).value(),
               machine.cpu_cores > 0 ? Cell(std::int64_t{machine.cpu_cores}) : Cell(),
               machine.memory > Bytes(0) ? Cell(machine.memory.value()) : Cell(), totals.fp32.value(),
               totals.fastest16.value()});
  }
  return table;
}

std::string cluster_line(const Cluster& cluster) {
  Totals totals;
  for (const MachineGroup& group : cluster.machines) totals.add(group);
  return fmt::format(
      "{}: {} machines, {} devices with {} of memory, joined by {}; peak {}FLOP/s in fp32, {}FLOP/s in 16 bit",
      cluster.name, format_whole(hardware::total_machines(cluster)), format_whole(hardware::total_devices(cluster)),
      format_bytes(totals.memory), cluster.network.name, format_count(totals.fp32.value()),
      format_count(totals.fastest16.value()));
}

}  // namespace orrery::service
