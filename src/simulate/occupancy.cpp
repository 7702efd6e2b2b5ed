#include "simulate/occupancy.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/check.h"

namespace orrery::simulate {

namespace {

constexpr std::size_t kTenantsShown = 6;  // with the others, more would share colours

// The tenants with the most jobs; the others are one kind behind them.
std::map<std::int32_t, std::size_t> kinds_of(const JobTrace& job_trace) {
  std::map<std::int32_t, std::size_t> jobs;
  for (const TraceJob& job : job_trace.jobs) ++jobs[job.facts.tenant];
  std::vector<std::pair<std::size_t, std::int32_t>> order;
  for (const auto& [tenant, count] : jobs) order.push_back({count, tenant});
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  std::map<std::int32_t, std::size_t> kinds;
  for (std::size_t i = 0; i < order.size(); ++i) kinds[order[i].second] = std::min(i, kTenantsShown);
  return kinds;
}

std::vector<std::string> kind_names(const JobTrace& job_trace, const std::map<std::int32_t, std::size_t>& kinds) {
  std::vector<std::string> names(std::min(kinds.size(), kTenantsShown + 1));
  for (const auto& [tenant, kind] : kinds) {
    const auto t = static_cast<std::size_t>(tenant);
    names[kind] = kind == kTenantsShown ? "others" : t < job_trace.tenants.size() ? job_trace.tenants[t] : "jobs";
  }
  return names;
}

// The GPUs of one machine while holdings are laid onto them, in the order of their starts.
class MachineLanes {
 public:
  void add_gpus(MachineIndex machine, std::int32_t gpus) {
    for (std::int32_t gpu = 0; gpu < gpus; ++gpu) lanes_.push_back({.machine = machine, .gpu = gpu});
    ends_.resize(lanes_.size());
  }

  void place(const Holding& holding) {
    const auto host = of_job_.find(holding.beside);
    std::vector<std::size_t> lanes = host != of_job_.end() ? host->second : free_lanes(holding);
    for (const std::size_t lane : lanes) {
      std::vector<TimeNs>& ends = ends_[lane];
      auto level = std::find_if(ends.begin(), ends.end(), [&](TimeNs end) { return end <= holding.from_ns; });
      if (level == ends.end()) level = ends.insert(ends.end(), 0);
      *level = holding.to_ns;
      lanes_[lane].slices.push_back(
          {holding.job, holding.from_ns, holding.to_ns, static_cast<std::size_t>(level - ends.begin())});
    }
    of_job_[holding.job] = std::move(lanes);
  }

  std::vector<Lane> take() && { return std::move(lanes_); }

 private:
  // The lowest GPUs that are free when it starts.
  std::vector<std::size_t> free_lanes(const Holding& holding) const {
    std::vector<std::size_t> free;
    for (std::size_t lane = 0; lane < lanes_.size() && static_cast<std::int32_t>(free.size()) < holding.gpus; ++lane) {
      const auto is_over = [&](TimeNs end) { return end <= holding.from_ns; };
      if (std::all_of(ends_[lane].begin(), ends_[lane].end(), is_over)) free.push_back(lane);
    }
    ORRERY_CHECK(static_cast<std::int32_t>(free.size()) == holding.gpus);
    return free;
  }

  std::vector<Lane> lanes_;
  std::vector<std::vector<TimeNs>> ends_;                // by lane and level
  std::map<JobIndex, std::vector<std::size_t>> of_job_;  // the lanes it started on last
};

}  // namespace

std::vector<Lane> lanes_of(const RunResult& run, const schedule::Machines& machines) {
  IndexedVector<MachineIndex, MachineLanes> by_machine(machines.size());
  for (const MachineIndex machine : machines.indices()) {
    by_machine[machine].add_gpus(machine, machines[machine].gpus);
  }
  std::vector<Holding> holdings = run.holdings;
  std::sort(holdings.begin(), holdings.end(), [](const Holding& a, const Holding& b) { return a.number < b.number; });
  for (const Holding& holding : holdings) by_machine[holding.machine].place(holding);
  std::vector<Lane> all;
  for (MachineLanes& machine : by_machine) {
    std::vector<Lane> lanes = std::move(machine).take();
    std::move(lanes.begin(), lanes.end(), std::back_inserter(all));
  }
  return all;
}

plot::GanttPlot gantt_of(const JobTrace& job_trace, const RunResult& run, const std::vector<Lane>& lanes) {
  constexpr double kHourNs = 3600e9;
  const auto kinds = kinds_of(job_trace);
  plot::GanttPlot figure;
  figure.heading.title = fmt::format("GPUs under {}", run.policy);
  if (lanes.size() > kGanttLanes) figure.heading.subtitle = fmt::format("the first {} GPUs", kGanttLanes);
  figure.x.unit = "h";
  figure.kinds = kind_names(job_trace, kinds);
  for (std::size_t i = 0; i < std::min(lanes.size(), kGanttLanes); ++i) {
    plot::GanttRow& row = figure.rows.emplace_back();
    row.name = fmt::format("{}.{}", lanes[i].machine, lanes[i].gpu);
    for (const LaneSlice& slice : lanes[i].slices) {
      const TraceJob& job = job_trace.jobs[slice.job];
      row.slices.push_back({.start = static_cast<double>(slice.from_ns) / kHourNs,
                            .end = static_cast<double>(slice.to_ns) / kHourNs,
                            .kind = kinds.at(job.facts.tenant),
                            .label = job.id});
    }
  }
  return figure;
}

std::string gantt_svg(const JobTrace& job_trace, const RunResult& run, const std::vector<Lane>& lanes) {
  return plot::gantt_plot(gantt_of(job_trace, run, lanes));
}

trace::EventLog occupancy_events(const JobTrace& job_trace, const std::vector<RunResult>& runs,
                                 const schedule::Machines& machines) {
  trace::EventLog log;
  for (const RunResult& run : runs) {
    for (const Lane& lane : lanes_of(run, machines)) {
      const auto first = static_cast<std::uint32_t>(log.tracks.size());
      std::size_t levels = 1;
      for (const LaneSlice& slice : lane.slices) levels = std::max(levels, slice.level + 1);
      for (std::size_t level = 0; level < levels; ++level) {
        const std::string shared = level == 0 ? "" : fmt::format(", shared {}", level + 1);
        log.tracks.push_back({run.policy, fmt::format("machine {} GPU {}{}", lane.machine, lane.gpu, shared), "", -1});
      }
      for (const LaneSlice& slice : lane.slices) {
        trace::Event event;
        event.start_ns = slice.from_ns;
        event.duration_ns = slice.to_ns - slice.from_ns;
        event.name = log.names.intern(job_trace.jobs[slice.job].id);
        event.track = first + static_cast<std::uint32_t>(slice.level);
        log.events.push_back(event);
      }
    }
  }
  return log;
}

}  // namespace orrery::simulate
