#include "cli/job_traces.h"

#include <fmt/format.h>
#include <map>

#include "base/text.h"
#include "base/yaml.h"
#include "env/files.h"
#include "hardware/cluster_file.h"
#include "simulate/data_file.h"

namespace orrery::cli {

using simulate::JobTraceFile;

std::vector<OptionRecord> job_trace_options() {
  std::vector<std::string> formats = {"auto"};
  for (const simulate::JobTraceFormat& format : simulate::job_trace_formats()) formats.push_back(format.name);
  return {
      choice_option("format", "auto", formats, "form of the trace; auto looks at its columns"),
      text_option("speeds", "", "speeds for traces that give steps: Gavel's JSON, or a folder with applications.csv")
          .in("PATH"),
      choice_option(
          "missing-speeds", "refuse", {"refuse", "predict"},
          "what to do with jobs whose model and GPUs are not in the table: a bad row, or predicted from others"),
      flag_option("strict", "stop at the first bad row instead of skipping and counting it")};
}

namespace {

Result<simulate::SpeedTable> load_speeds(Context& context, const std::string& path) {
  if (context.env.files.exists(path + "/applications.csv")) {
    ORRERY_TRY(const simulate::Applications applications, simulate::read_applications(context.env.files, path, "aws"));
    return simulate::SpeedTable::of(applications);
  }
  ORRERY_TRY(const std::string json, simulate::read_data_file(context.env.files, path));
  return simulate::SpeedTable::parse(json);
}

constexpr int kMachinesMax = 1 << 20;

}  // namespace

Result<JobTraceFile> load_job_trace(Context& context, const std::string& path, const OptionValues& options) {
  return load_job_trace(context, path, options, false);
}

Result<JobTraceFile> load_job_trace(Context& context, const std::string& path, const OptionValues& options,
                                    bool is_queue) {
  simulate::ReadOptions read;
  read.queue = is_queue;
  read.format = options.text("format");
  read.strict = options.flag("strict");
  read.predict_speeds = options.text("missing-speeds") == "predict";
  if (options.has("speeds")) {
    ORRERY_TRY(read.speeds, load_speeds(context, options.text("speeds")));
  }
  ORRERY_TRY(const std::string text, simulate::read_data_file(context.env.files, path));
  return simulate::read_job_trace(text, path, read);
}

std::string problems_text(const JobTraceFile& file, std::size_t shown) {
  std::string text;
  if (file.out_of_order) text += "submissions were not in order of time and were sorted\n";
  if (file.predicted > 0) {
    text += fmt::format("predicted the speed of {} jobs:\n", format_whole(static_cast<double>(file.predicted)));
    for (std::size_t i = 0; i < std::min(shown, file.predictions.size()); ++i) {
      text += fmt::format("  line {}: {}\n", file.predictions[i].line, file.predictions[i].what);
    }
  }
  if (file.skipped == 0) return text;
  text += fmt::format("skipped {} of {} rows:\n", format_whole(static_cast<double>(file.skipped)),
                      format_whole(static_cast<double>(file.rows)));
  for (std::size_t i = 0; i < std::min(shown, file.problems.size()); ++i) {
    text += fmt::format("  line {}: {}\n", file.problems[i].line, file.problems[i].what);
  }
  if (file.skipped > shown)
    text += fmt::format("  and {} more; orrery jobtrace show --problems lists them\n", file.skipped - shown);
  return text;
}

namespace {

// Appends "32x8" to the machines; false if it is not of that form.
Result<bool> add_machines(const std::string& text, std::int32_t device, ClusterChoice& result) {
  const std::size_t cross = text.find('x');
  const auto machines = cross == std::string::npos ? std::nullopt : parse_number(text.substr(0, cross));
  const auto each = cross == std::string::npos ? std::nullopt : parse_number(text.substr(cross + 1));
  if (!machines || !each) return false;
  const bool in_range = *machines >= 1 && *each >= 1 && *each <= 1024 &&
                        static_cast<double>(result.machines.size()) + *machines <= kMachinesMax;
  if (!in_range) {
    return Error::invalid(fmt::format("cluster: {} is not 1 to {} machines with 1 to 1024 GPUs", text, kMachinesMax));
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
      return Error::invalid(fmt::format("cluster: expected TYPE=MACHINESxGPUS instead of {}", quote(part)));
    }
    result.devices.push_back(type);
    result.text += " (" + type + ")";
  }
  return result;
}

}  // namespace

Result<ClusterChoice> load_cluster(Context& context, const std::string& choice) {
  ClusterChoice result;
  ORRERY_TRY(const bool counted, add_machines(choice, 0, result));
  if (counted) return result;
  if (choice.find('=') != std::string::npos) return typed_cluster(choice);
  if (!context.env.files.exists(choice)) {
    return Error::not_found(
        fmt::format("cluster: no file {}; give a cluster file or MACHINESxGPUS such as 32x8", quote(choice)));
  }
  ORRERY_TRY(const std::string yaml, context.env.files.read(choice, kYamlBytesMax));
  ORRERY_TRY(const hardware::Cluster cluster, hardware::read_cluster(yaml, choice));
  std::map<std::string_view, std::int32_t> devices;
  for (const hardware::MachineGroup& group : cluster.machines) {
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

}  // namespace orrery::cli
