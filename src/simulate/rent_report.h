#pragma once
// A report of a run on rented machines: when each machine was rented, which jobs were on it, and a figure of it.

#include "simulate/rent.h"

namespace orrery::simulate {

struct RentalInterval {
  std::size_t vm = 0;  // of the market
  MachineIndex machine{};
  double from_s = 0, to_s = 0;
  double usd = 0;
  std::vector<Holding> jobs;  // within it, by their start
};

// By their start, then by machine.
std::vector<RentalInterval> rental_intervals(const plan::Market& market, const RunResult& run);

// One row for each machine that was rented, at most the first kRentRows of them.
inline constexpr std::size_t kRentRows = 60;
std::string rent_gantt_svg(const plan::Market& market, const plan::MarketJobs& jobs, const RunResult& run);

// What each job paid for the GPUs it held, idle ones of its machines left out.
IndexedVector<JobIndex, double> share_usd(const plan::Market& market, std::size_t jobs, const RunResult& run);

}  // namespace orrery::simulate
