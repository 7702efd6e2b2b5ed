#include "plan/horizon/tariffs.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"
#include "hardware/device.h"

namespace orrery::plan::horizon {

namespace {

constexpr double kJoulesPerKwh = 3.6e6;
constexpr double kHour = 3600;

}  // namespace

Tariff rent_tariff(const std::vector<VmType>& types, const Grid& grid) {
  Tariff tariff;
  const auto periods = static_cast<std::size_t>(grid.periods);
  for (const VmType& type : types)
    tariff.machine.insert(tariff.machine.end(), periods, type.price_usd_h / kHour * grid.period_s);
  tariff.busy_gpu_s.assign(tariff.machine.size(), 0);
  return tariff;
}

double mean_price(const std::vector<double>& by_hour, double start_hour, double from_s, double to_s) {
  if (by_hour.size() == 1) return by_hour[0];
  const auto hours = static_cast<double>(by_hour.size());
  double sum = 0, at = from_s;
  while (at < to_s) {
    const double hour = start_hour + at / kHour;
    // The next full hour; at least a millisecond later, in spite of rounding.
    const double next = std::min(to_s, std::max((std::floor(hour + 1e-9) + 1 - start_hour) * kHour, at + 1e-3));
    sum += by_hour[static_cast<std::size_t>(std::fmod(std::floor(hour + 1e-9), hours))] * (next - at);
    at = next;
  }
  return sum / (to_s - from_s);
}

Result<Tariff> power_tariff(const std::vector<VmType>& types, const Grid& grid, const EnergyFacts& facts,
                            const std::vector<double>& per_kwh) {
  Tariff tariff;
  for (const VmType& type : types) {
    const hardware::Device* device = hardware::find_device_or_null(type.gpu);
    if (device == nullptr || device->tdp <= Watts())
      return Error::invalid(
          fmt::format("{}: the power of a {} is not published; leave it out of the price list, or count "
                      "the cost in dollars of rent",
                      type.name, quote(type.gpu)));
    const double watts = device->tdp.value() * facts.overhead;
    for (int t = 0; t < grid.periods; ++t) {
      const double price = mean_price(per_kwh, facts.start_hour, t * grid.period_s, (t + 1) * grid.period_s);
      tariff.machine.push_back(type.gpus * watts * facts.idle_share * grid.period_s / kJoulesPerKwh * price);
      tariff.busy_gpu_s.push_back(watts * (1 - facts.idle_share) / kJoulesPerKwh * price);
    }
  }
  return tariff;
}

Result<Tariff> carbon_tariff(const std::vector<VmType>& types, const Grid& grid, const EnergyFacts& facts) {
  std::vector<double> kg_per_kwh = facts.gco2_per_kwh;
  for (double& kg : kg_per_kwh) kg /= 1e3;
  return power_tariff(types, grid, facts, kg_per_kwh);
}

Result<Tariff> cost_tariff(CostBasis basis, const std::vector<VmType>& types, const Grid& grid,
                           const EnergyFacts& facts) {
  if (basis == CostBasis::kUsd) return rent_tariff(types, grid);
  if (basis == CostBasis::kEnergy) return power_tariff(types, grid, facts, facts.usd_per_kwh);
  std::vector<double> usd_per_kwh = facts.gco2_per_kwh;
  for (double& usd : usd_per_kwh) usd *= facts.usd_per_tco2 / 1e6;
  return power_tariff(types, grid, facts, usd_per_kwh);
}

}  // namespace orrery::plan::horizon
