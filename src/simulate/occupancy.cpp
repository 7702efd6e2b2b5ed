#include "simulate/occupancy.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/plot/plots.h"

namespace orrery::simulate {

namespace {

constexpr std::size_t kTenantsShown = 6;  // with the others, more would share colours

// The tenants with the most jobs; the others are one kind behind them.
std::map<std::int32_t, std::size_t> kinds_of(const Workload& workload) {
  std::map<std::int32_t, std::size_t> jobs;
  for (const TraceJob& job : workload.jobs) ++jobs[job.facts.tenant];
  std::vector<std::pair<std::size_t, std::int32_t>> order;
  for (const auto& [tenant, count] : jobs) order.push_back({count, tenant});
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  std::map<std::int32_t, std::size_t> kinds;
  for (std::size_t i = 0; i < order.size(); ++i) kinds[order[i].second] = std::min(i, kTenantsShown);
  return kinds;
}

std::vector<std::string> kind_names(const Workload& workload, const std::map<std::int32_t, std::size_t>& kinds) {
  std::vector<std::string> names(std::min(kinds.size(), kTenantsShown + 1));
  for (const auto& [tenant, kind] : kinds) {
    const auto t = static_cast<std::size_t>(tenant);
    names[kind] = kind == kTenantsShown ? "others" : t < workload.tenants.size() ? workload.tenants[t] : "jobs";
  }
  return names;
}

}  // namespace

std::vector<Lane> lanes_of(const RunResult& run, const std::vector<schedule::MachineView>& machines) {
  std::vector<std::vector<Lane>> by_machine(machines.size());
  for (std::size_t m = 0; m < machines.size(); ++m) {
    for (std::int32_t gpu = 0; gpu < machines[m].gpus; ++gpu) {
      by_machine[m].push_back({.machine = static_cast<std::int32_t>(m), .gpu = gpu});
    }
  }
  std::vector<Holding> holdings = run.holdings;
  std::sort(holdings.begin(), holdings.end(), [](const Holding& a, const Holding& b) {
    return a.from_ns != b.from_ns ? a.from_ns < b.from_ns : a.job < b.job;
  });
  for (const Holding& holding : holdings) {
    std::vector<Lane>& lanes = by_machine[static_cast<std::size_t>(holding.machine)];
    std::int32_t missing = holding.gpus;
    for (std::size_t lane = 0; missing > 0; ++lane) {
      if (lane == lanes.size()) lanes.push_back({.machine = holding.machine, .gpu = static_cast<std::int32_t>(lane)});
      std::vector<LaneSlice>& slices = lanes[lane].slices;
      if (!slices.empty() && slices.back().to_ns > holding.from_ns) continue;
      slices.push_back({holding.job, holding.from_ns, holding.to_ns});
      --missing;
    }
  }
  std::vector<Lane> all;
  for (std::vector<Lane>& lanes : by_machine) {
    std::move(lanes.begin(), lanes.end(), std::back_inserter(all));
  }
  return all;
}

std::string gantt_svg(const Workload& workload, const RunResult& run, const std::vector<Lane>& lanes) {
  constexpr double kHourNs = 3600e9;
  constexpr double kThinnest = 1.0 / 3000;  // of the run: less is not seen
  const auto kinds = kinds_of(workload);
  plot::GanttPlot figure;
  figure.heading.title = fmt::format("GPUs under {}", run.policy);
  if (lanes.size() > kGanttLanes) figure.heading.subtitle = fmt::format("the first {} GPUs", kGanttLanes);
  figure.x.unit = "h";
  figure.kinds = kind_names(workload, kinds);
  for (std::size_t i = 0; i < std::min(lanes.size(), kGanttLanes); ++i) {
    plot::GanttRow& row = figure.rows.emplace_back();
    row.name = fmt::format("{}.{}", lanes[i].machine, lanes[i].gpu);
    for (const LaneSlice& slice : lanes[i].slices) {
      const double length = static_cast<double>(slice.to_ns - slice.from_ns);
      if (length < kThinnest * static_cast<double>(run.makespan_ns)) continue;
      const TraceJob& job = workload.jobs[static_cast<std::size_t>(slice.job)];
      row.slices.push_back({.start = static_cast<double>(slice.from_ns) / kHourNs,
                            .end = static_cast<double>(slice.to_ns) / kHourNs,
                            .kind = kinds.at(job.facts.tenant),
                            .label = job.id});
    }
  }
  return plot::gantt_plot(figure);
}

}  // namespace orrery::simulate
