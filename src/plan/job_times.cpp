#include "plan/job_times.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "base/text.h"

namespace orrery::plan {

using hardware::Offer;

namespace {

constexpr double kCannot = std::numeric_limits<double>::infinity();

bool usable(const Offer& offer, bool spot) {
  return !offer.device.empty() && offer.device_count >= 1 && offer.device_count <= kVmGpusMax && !offer.odd_price &&
         (!spot || offer.spot) && (spot ? *offer.spot : offer.price).value() <= kPriceMaxUsdH;
}

}  // namespace

Result<std::vector<VmType>> vm_types_of(std::span<const Offer> offers, bool spot) {
  std::map<std::pair<std::string, int>, VmType> cheapest;
  for (const Offer& offer : offers) {
    if (!usable(offer, spot)) continue;
    const double price = (spot ? *offer.spot : offer.price).value();
    VmType& best = cheapest[{offer.device, offer.device_count}];
    if (!best.name.empty() && best.price_usd_h <= price) continue;
    best = {fmt::format("{} {}{}", offer.provider, offer.instance,
                        offer.region.empty() ? "" : fmt::format(" ({})", offer.region)),
            offer.device, offer.device_count, price, kNodesMax};
  }
  if (cheapest.empty())
    return Error::infeasible(
        fmt::format("none of {} offers can be rented by plan: it takes a known device, at most {} "
                    "of them in a machine, and a {}price that can be believed",
                    offers.size(), kVmGpusMax, spot ? "spot " : ""));
  std::vector<VmType> types;
  for (auto& [key, type] : cheapest) types.push_back(std::move(type));
  return types;
}

namespace {

// Whether the owner lets the job run on this many of the device.
bool allowed(const workload::JobSpec& spec, const std::string& device, int gpus) {
  for (const workload::DeviceRequest& wanted : spec.resources) {
    const auto* asked = wanted.device.empty() ? nullptr : hardware::find_device_or_null(wanted.device);
    const bool same = wanted.device.empty() || (asked != nullptr && asked->name == device);
    if (same && gpus >= wanted.count.min && gpus <= wanted.count.max) return !workload::misfit(spec, gpus);
  }
  return false;
}

// Why a job has no time anywhere.
struct Obstacles {
  bool asked = false;  // some machine has what it asks for
  Bytes lacking{kCannot};
  std::string device{};

  Error error(const workload::JobSpec& spec, int machines_max) const {
    if (!asked) {
      std::vector<std::string> wanted;
      for (const workload::DeviceRequest& one : spec.resources)
        wanted.push_back(fmt::format("{}{} {}", one.count.min,
                                     one.count.is_range() ? fmt::format(" to {}", one.count.max) : "",
                                     one.device.empty() ? "of any device" : one.device));
      const std::string several = machines_max > 1
                                      ? fmt::format(", or in at most {} whole ones of a type", machines_max)
                                      : "; jobs on several machines need --horizon and --nodes above 1";
      return Error::infeasible(
          fmt::format("{}: no machine that is offered has {} in one{}", spec.name, fmt::join(wanted, " or "), several));
    }
    return Error::infeasible(
        fmt::format("{}: does not fit into the memory of any device it may have; nearest is {}, "
                    "which lacks {}",
                    spec.name, device, format_bytes(lacking)));
  }
};

// Places without their times: parts of one machine, then whole machines.
std::vector<PredictedConfiguration> places(const workload::JobSpec& spec, std::span<const VmType> types,
                                           int machines_max) {
  std::map<std::string, int> most;
  std::map<std::pair<std::string, int>, bool> shapes;
  for (const VmType& type : types) {
    most[type.gpu] = std::max(most[type.gpu], type.gpus);
    shapes[{type.gpu, type.gpus}] = true;
  }
  std::vector<PredictedConfiguration> all;
  for (const auto& [device, gpus_max] : most)
    for (int gpus = 1; gpus <= gpus_max; ++gpus)
      if (allowed(spec, device, gpus)) all.push_back({device, gpus});
  for (const auto& [shape, there] : shapes)
    for (int machines = 2; machines <= std::min(machines_max, kSpreadMax); ++machines)
      if (allowed(spec, shape.first, machines * shape.second)) all.push_back({shape.first, shape.second, machines});
  return all;
}

}  // namespace

Result<std::vector<PredictedConfiguration>> predicted_configurations(
    const workload::JobSpec& job, const workload::TrainingGraph& graph, const predict::RunSpec& spec,
    std::int64_t batch_per_gpu, std::span<const VmType> types, int machines_max, const predict::Predictor& predictor) {
  Obstacles obstacles;
  std::vector<PredictedConfiguration> configurations;
  for (PredictedConfiguration& configuration : places(job, types, machines_max)) {
    obstacles.asked = true;
    const int devices = configuration.gpus * configuration.machines;
    ORRERY_TRY(const hardware::Placement placement,
               hardware::make_placement(configuration.device, devices, configuration.gpus));
    ORRERY_TRY(workload::TrainingGraph at,
               graph.with_batch(workload::replica_batch(job, devices).value_or(batch_per_gpu)));
    ORRERY_TRY(const workload::TrainingRun run, predict::run_on(spec, std::move(at), placement));
    ORRERY_TRY(const predict::Prediction prediction, predictor.predict(run, placement));
    const Bytes lacking = prediction.memory.value - prediction.device_memory;
    if (!prediction.fits && lacking < obstacles.lacking) {
      obstacles.lacking = lacking;
      obstacles.device = configuration.device;
    }
    const auto& time = prediction.total_time;
    if (!prediction.fits || time.value.value() > kTimeMaxS) continue;
    const double value = std::max(time.value.value(), 1e-3);
    configuration.time_s = {value, std::clamp(time.low.value(), 1e-6 * value, value),
                            std::max(time.high.value(), value)};
    configuration.in_domain = prediction.in_domain;
    configurations.push_back(std::move(configuration));
  }
  if (configurations.empty()) return obstacles.error(job, machines_max);
  return configurations;
}

Job job_of(std::span<const PredictedConfiguration> configurations) {
  Job job;
  for (const PredictedConfiguration& configuration : configurations) {
    if (configuration.machines > 1) continue;
    std::vector<double>& times = job.times_s[configuration.device];
    const auto gpus = static_cast<std::size_t>(configuration.gpus);
    if (times.size() < gpus) times.resize(gpus, kCannot);
    times[gpus - 1] = configuration.time_s.value;
  }
  return job;
}

namespace {

struct Mode {
  double time_s;
  double usd;  // share of the price
  std::size_t vm;
};

std::vector<Mode> modes_of(std::span<const VmType> types, const Job& job) {
  std::vector<Mode> modes;
  for (std::size_t vm = 0; vm < types.size(); ++vm) {
    for (int gpus = 1; gpus <= types[vm].gpus; ++gpus)
      if (const auto time = time_s(job, types[vm], gpus))
        modes.push_back({*time, types[vm].price_usd_h / 3600 * gpus / types[vm].gpus * *time, vm});
  }
  return modes;
}

double alone_usd(const Job& job, const std::vector<Mode>& modes) {
  const double slack = std::max(0.0, job.due_s - job.submit_s);
  double least = kCannot;
  for (const Mode& one : modes) {
    least = std::min(least, one.usd + job.weight_usd_s * std::max(0.0, one.time_s - slack));
    if (one.time_s > slack) continue;
    for (const Mode& slower : modes) {
      if (slower.time_s <= slack) continue;
      const double part = (slack - one.time_s) / (slower.time_s - one.time_s);
      least = std::min(least, part * slower.usd + (1 - part) * one.usd);
    }
  }
  return least;
}

}  // namespace

std::vector<VmType> useful_types(std::span<const VmType> types, std::span<const Job> jobs) {
  std::vector<bool> useful(types.size(), false);
  for (const Job& job : jobs) {
    std::vector<Mode> modes = modes_of(types, job);
    std::sort(modes.begin(), modes.end(),
              [](const Mode& a, const Mode& b) { return std::pair(a.time_s, a.usd) < std::pair(b.time_s, b.usd); });
    double cheapest = kCannot;
    for (const Mode& mode : modes) {
      if (mode.usd >= cheapest) continue;
      cheapest = mode.usd;
      useful[mode.vm] = true;
    }
  }
  std::vector<VmType> kept;
  for (std::size_t vm = 0; vm < types.size(); ++vm)
    if (useful[vm]) kept.push_back(types[vm]);
  return kept;
}

double alone_bound_usd(std::span<const VmType> types, std::span<const Job> jobs) {
  double sum = 0;
  for (const Job& job : jobs) {
    const std::vector<Mode> modes = modes_of(types, job);
    if (!modes.empty()) sum += alone_usd(job, modes);
  }
  return sum;
}

}  // namespace orrery::plan
