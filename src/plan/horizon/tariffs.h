#pragma once
// The cost of machines in every period: rent, the energy they draw, or its carbon.
//
// A device at work draws its TDP (device.h), an idle one of a rented machine `idle_share` of it; host, network and
// cooling draw more in proportion:
//
//   machine: G·TDP·idle_share·overhead for the whole period;  a GPU at work: TDP·(1 − idle_share)·overhead more
//
// Prices may go by the hour of the day; a period pays the mean of the hours it lies in.

#include "plan/horizon/problem.h"

namespace orrery::plan::horizon {

enum class CostBasis { kUsd, kEnergy, kCarbon };

struct EnergyFacts {
  std::vector<double> usd_per_kwh = {0.15};  // one, or 24 by the hour of the day
  std::vector<double> gco2_per_kwh = {400};  // likewise
  double usd_per_tco2 = 100;                 // what a ton of it counts as
  double overhead = 1.3;                     // watts at the meter for each watt of a device
  double idle_share = 0.25;                  // of its TDP
  double start_hour = 0;                     // of the day, when the horizon begins
};

struct Grid {
  int periods = 1;
  double period_s = 3600;
};

Tariff rent_tariff(const std::vector<VmType>& types, const Grid& grid);

// `per_kwh`: one price, or 24 by the hour. kInvalid: a device whose power is not published.
Result<Tariff> power_tariff(const std::vector<VmType>& types, const Grid& grid, const EnergyFacts& facts,
                            const std::vector<double>& per_kwh);

// In dollars: rent, energy, or carbon at its price.
Result<Tariff> cost_tariff(CostBasis basis, const std::vector<VmType>& types, const Grid& grid,
                           const EnergyFacts& facts);

// In kilograms.
Result<Tariff> carbon_tariff(const std::vector<VmType>& types, const Grid& grid, const EnergyFacts& facts);

// The mean price from `from_s` to `to_s` after the start. Precondition: to_s > from_s.
double mean_price(const std::vector<double>& by_hour, double start_hour, double from_s, double to_s);

}  // namespace orrery::plan::horizon
