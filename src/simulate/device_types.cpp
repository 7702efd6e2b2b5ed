#include "simulate/device_types.h"

#include <fmt/format.h>

#include "base/text.h"

namespace orrery::simulate {

bool is_same_device(std::string_view a, std::string_view b) {
  const std::string x = to_lower(trim(a)), y = to_lower(trim(b));
  const std::string& shorter = x.size() < y.size() ? x : y;
  const std::string& longer = x.size() < y.size() ? y : x;
  if (shorter.empty() || !longer.starts_with(shorter)) return false;
  return longer.size() == shorter.size() || std::string_view("- _").find(longer[shorter.size()]) != std::string::npos;
}

Result<std::vector<std::vector<double>>> speeds_on(const JobTrace& job_trace, const std::vector<std::string>& devices) {
  std::vector<std::vector<double>> speeds;
  if (job_trace.speeds.empty() || devices.empty()) return speeds;
  std::vector<std::ptrdiff_t> place;  // of the cluster's types among the job trace's; -1: not there
  bool any = false;
  for (const std::string& device : devices) {
    std::ptrdiff_t found = -1;
    for (std::size_t i = 0; i < job_trace.devices.size() && found < 0; ++i) {
      if (is_same_device(job_trace.devices[i], device)) found = static_cast<std::ptrdiff_t>(i);
    }
    any = any || found >= 0;
    place.push_back(found);
  }
  if (!any) {
    return Error::invalid(
        fmt::format("the trace has speeds on {}, the cluster has {}; name its types as in V100=4x8,P100=2x4",
                    fmt::join(job_trace.devices, ", "), fmt::join(devices, ", ")));
  }
  for (const std::vector<double>& of_class : job_trace.speeds) {
    std::vector<double>& row = speeds.emplace_back();
    // The first class is that of jobs that run anywhere alike.
    const bool anywhere = speeds.size() == 1;
    for (const std::ptrdiff_t at : place) {
      row.push_back(anywhere ? 1 : (at < 0 ? 0 : of_class[static_cast<std::size_t>(at)]));
    }
  }
  return speeds;
}

}  // namespace orrery::simulate
