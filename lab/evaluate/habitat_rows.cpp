#include "lab/evaluate/habitat_rows.h"

#include <fmt/format.h>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/parallel.h"

namespace orrery::lab {

namespace {

constexpr double kMillisecond = 1e-3;  // of a microsecond
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPublished = 0.118;

using Configuration = std::tuple<std::string, std::int64_t, std::int64_t>;
Configuration configuration_of(const LaunchTrace& trace) {
  return {trace.model, trace.batch, trace.image};
}

Status transfer(const Habitat& habitat, std::span<const LaunchTrace> from, std::span<const LaunchTrace> to,
                const std::function<bool(const LaunchTrace&)>& is_left_out, std::vector<Case>& cases) {
  std::map<Configuration, const LaunchTrace*> targets;
  for (const LaunchTrace& trace : to) targets[configuration_of(trace)] = &trace;
  for (const LaunchTrace& trace : from) {
    const auto found = targets.find(configuration_of(trace));
    if (trace.overlaps || found == targets.end() || found->second->overlaps || !is_left_out(trace)) continue;
    ORRERY_TRY(const hardware::Device* device, hardware::find_device(found->second->gpu));
    for (const auto kernels : {Habitat::Kernels::kNetworks, Habitat::Kernels::kWavesOnly}) {
      ORRERY_TRY(const double iteration, habitat.iteration(trace, *device, kernels));
      cases.push_back(
          {.group = fmt::format("{} to {}, configurations, {}", trace.gpu, found->second->gpu,
                                kernels == Habitat::Kernels::kNetworks ? "Habitat trained here" : "wave scaling alone"),
           .measured = found->second->iteration * kMillisecond,
           .predicted = iteration * kMillisecond,
           .low = kNan,
           .high = kNan});
    }
  }
  return {};
}

Result<std::vector<Case>> score_fold(const HabitatInput& traces, const std::string& fold, std::uint64_t seed) {
  const auto is_left_out = [&](const LaunchTrace& trace) { return traces.fold_of(trace) == fold; };
  std::vector<const LaunchTrace*> learned;
  for (const auto& of_gpu : {traces.one, traces.other}) {
    for (const LaunchTrace& trace : of_gpu) {
      if (!trace.overlaps && !is_left_out(trace)) learned.push_back(&trace);
    }
  }
  HabitatOptions options;
  options.seed = seed;
  ORRERY_TRY(const Habitat habitat, Habitat::fit(learned, traces.class_of, options));
  std::vector<Case> cases;
  ORRERY_TRY_VOID(transfer(habitat, traces.one, traces.other, is_left_out, cases));
  ORRERY_TRY_VOID(transfer(habitat, traces.other, traces.one, is_left_out, cases));
  return cases;
}

}  // namespace

Status add_habitat(const HabitatInput& traces, const SuiteInput& input, SuiteReport& report) {
  const double begin = input.now_s();
  std::set<std::string> names;
  for (const LaunchTrace& trace : traces.one) names.insert(traces.fold_of(trace));
  const std::vector<std::string> folds(names.begin(), names.end());
  std::vector<std::optional<Result<std::vector<Case>>>> results(folds.size());
  run_parallel(folds.size(), input.threads,
               [&](std::size_t i) { results[i] = score_fold(traces, folds[i], input.seed); });
  std::vector<Case> cases;
  for (auto& result : results) {
    ORRERY_TRY(const std::vector<Case> some, std::move(*result));
    cases.insert(cases.end(), some.begin(), some.end());
  }
  report.add(cases, input.now_s() - begin);
  for (const Case& one : cases) {
    if (one.group.ends_with("trained here")) report.publish(one.group, kPublished, "Habitat");
  }
  return {};
}

}  // namespace orrery::lab
