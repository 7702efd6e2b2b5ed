#include "simulate/rent_report.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/plot/plots.h"

namespace orrery::simulate {

using plan::Market;

namespace {

std::size_t vm_of(const schedule::Machines& machines, MachineIndex machine) {
  return static_cast<std::size_t>(machines[machine].device);
}

}  // namespace

std::vector<RentalInterval> rental_intervals(const Market& market, const RunResult& run) {
  const auto machines = plan::machines_of(market);
  std::vector<Holding> holdings = run.holdings;
  std::sort(holdings.begin(), holdings.end(), [](const Holding& a, const Holding& b) {
    return std::tuple(a.machine, a.from_ns, a.job) < std::tuple(b.machine, b.from_ns, b.job);
  });
  std::vector<RentalInterval> stretches;
  for (const Holding& one : holdings) {
    const double from = schedule::to_seconds(one.from_ns), to = schedule::to_seconds(one.to_ns);
    const bool goes_on = !stretches.empty() && stretches.back().machine == one.machine && from <= stretches.back().to_s;
    if (!goes_on) stretches.push_back({vm_of(machines, one.machine), one.machine, from, to, 0, {}});
    stretches.back().to_s = std::max(stretches.back().to_s, to);
    stretches.back().jobs.push_back(one);
  }
  for (RentalInterval& one : stretches) one.usd = market.vm_types[one.vm].price_usd_h / 3600 * (one.to_s - one.from_s);
  std::sort(stretches.begin(), stretches.end(), [](const RentalInterval& a, const RentalInterval& b) {
    return std::pair(a.from_s, a.machine) < std::pair(b.from_s, b.machine);
  });
  return stretches;
}

std::string rent_gantt_svg(const Market& market, const plan::MarketJobs& jobs, const RunResult& run) {
  const auto machines = plan::machines_of(market);
  plot::GanttPlot figure;
  figure.heading.title = "Jobs on rented machines";
  figure.heading.subtitle = fmt::format("Policy {}; the colour says how many GPUs of the machine", run.policy);
  figure.x.unit = "h";
  std::map<int, std::size_t> kinds;
  for (const Holding& one : run.holdings) kinds.emplace(one.gpus, 0);
  for (auto& [gpus, kind] : kinds) {
    kind = figure.kinds.size();
    figure.kinds.push_back(fmt::format("{} {}", gpus, gpus == 1 ? "GPU" : "GPUs"));
  }
  std::map<MachineIndex, std::vector<Holding>> by_machine;
  for (const Holding& one : run.holdings) by_machine[one.machine].push_back(one);
  for (const auto& [machine, held] : by_machine) {
    if (figure.rows.size() == kRentRows) break;
    plot::GanttRow row{market.vm_types[vm_of(machines, machine)].name, {}};
    for (const Holding& one : held)
      row.slices.push_back({schedule::to_seconds(one.from_ns) / 3600, schedule::to_seconds(one.to_ns) / 3600,
                            kinds[one.gpus], jobs[one.job].id});
    figure.rows.push_back(std::move(row));
  }
  return plot::gantt_plot(figure);
}

IndexedVector<JobIndex, double> share_usd(const Market& market, std::size_t jobs, const RunResult& run) {
  const auto machines = plan::machines_of(market);
  IndexedVector<JobIndex, double> usd(jobs, 0);
  for (const Holding& one : run.holdings) {
    const plan::VmType& type = market.vm_types[vm_of(machines, one.machine)];
    usd[one.job] += type.price_usd_h / 3600 * one.gpus / type.gpus * schedule::to_seconds(one.to_ns - one.from_ns);
  }
  return usd;
}

}  // namespace orrery::simulate
