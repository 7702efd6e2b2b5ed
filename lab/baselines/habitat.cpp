#include "lab/baselines/habitat.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/random.h"
#include "lab/baselines/operator_mlp.h"
#include "lab/methods/wave_scaling.h"

namespace orrery::lab {

namespace {

constexpr std::size_t kParameters = 20;  // of an operator; the sizes of products are among the first
constexpr double kMillisecond = 1e-3;    // of a microsecond
constexpr double kThreadsPerSm = 1024;   // Turing
constexpr double kBlocksPerSmMax = 16;
constexpr WorkClass kLearned[] = {WorkClass::kConvolution, WorkClass::kLinear, WorkClass::kMatmul};

std::vector<std::string> names() {
  std::vector<std::string> all = {"backward", "memory", "bandwidth", "multiprocessors", "peak"};
  for (std::size_t i = 0; i < kParameters; ++i) all.push_back(fmt::format("parameter_{}", i));
  return all;
}

std::vector<float> row_of(const LaunchedOperator& op, const hardware::Device& device) {
  std::vector<float> row = {
      op.phase == workload::Phase::kBackward ? 1.0F : 0.0F, static_cast<float>(std::log(device.memory.value())),
      static_cast<float>(std::log(device.memory_bandwidth.value())), static_cast<float>(std::log(device.sms)),
      static_cast<float>(std::log(device.fp32_vector.value()))};
  for (std::size_t i = 0; i < kParameters; ++i) {
    const double value = i < op.parameters.size() ? op.parameters[i] : 0;
    row.push_back(static_cast<float>(std::log1p(std::max(value, 0.0))));
  }
  return row;
}

double wave_scaled(const LaunchedOperator& op, const LaunchWork& work, double microseconds,
                   const hardware::Device& from, const hardware::Device& to) {
  const double resident = std::clamp(kThreadsPerSm / std::max(op.block, 1.0), 1.0, kBlocksPerSmMax);
  return wave_scaled_ms({microseconds, op.grid, resident, work.flops / std::max(1.0, work.bytes)}, from, to);
}

// What the networks learn from: each operator of a class at most once per kept row.
struct Lessons {
  Features features{names()};
  std::vector<double> targets;
};

Result<Lessons> lessons_of(std::span<const LaunchTrace* const> traces, const Habitat::ClassOf& class_of,
                           WorkClass work_class, const HabitatOptions& options) {
  std::size_t count = 0;
  for (const LaunchTrace* trace : traces) {
    for (const LaunchedOperator& op : trace->operators) count += class_of(op.kind) == work_class ? 1 : 0;
  }
  const double share =
      static_cast<double>(options.operators_max) / static_cast<double>(std::max<std::size_t>(1, count));
  Random random = Random(options.seed).split(static_cast<std::uint64_t>(work_class));
  Lessons lessons;
  for (const LaunchTrace* trace : traces) {
    ORRERY_TRY(const hardware::Device* device, hardware::find_device(trace->gpu));
    for (std::size_t i = 0; i < trace->operators.size(); ++i) {
      const LaunchedOperator& op = trace->operators[i];
      if (class_of(op.kind) != work_class || random.uniform() >= share) continue;
      lessons.features.add(row_of(op, *device));
      lessons.targets.push_back(mlp_target(OperatorMlpForm::kHabitat, trace->times[i].device * kMillisecond));
    }
  }
  return lessons;
}

}  // namespace

Result<Habitat> Habitat::fit(std::span<const LaunchTrace* const> traces, const ClassOf& class_of,
                             const HabitatOptions& options) {
  Habitat habitat(class_of);
  for (const WorkClass work_class : kLearned) {
    ORRERY_TRY(const Lessons lessons, lessons_of(traces, class_of, work_class, options));
    if (lessons.targets.empty()) continue;
    const MlpOptions how = mlp_options(OperatorMlpForm::kHabitat, options.steps, options.seed);
    ORRERY_TRY(MlpRegression network, MlpRegression::fit(lessons.features, lessons.targets, how));
    habitat.networks_.emplace(work_class, std::move(network));
  }
  return habitat;
}

Result<double> Habitat::iteration(const LaunchTrace& measured, const hardware::Device& target, Kernels kernels) const {
  ORRERY_TRY(const hardware::Device* source, hardware::find_device(measured.gpu));
  double total = 0;
  std::map<WorkClass, std::pair<Features, std::vector<double>>> asked;  // rows by pairs: target, source; times
  for (std::size_t i = 0; i < measured.operators.size(); ++i) {
    const LaunchedOperator& op = measured.operators[i];
    const WorkClass work_class = class_of_(op.kind);
    const double device = measured.times[i].device;
    total += measured.times[i].gap;
    if (kernels == Kernels::kNetworks && networks_.contains(work_class)) {
      auto& [rows, times] = asked.try_emplace(work_class, names(), std::vector<double>()).first->second;
      rows.add(row_of(op, target));
      rows.add(row_of(op, *source));
      times.push_back(device);
    } else {
      total += wave_scaled(op, work_of(op, work_class), device, *source, target);
    }
  }
  for (const auto& [work_class, question] : asked) {
    ORRERY_TRY(const std::vector<double> answers, networks_.at(work_class).predict(question.first));
    for (std::size_t i = 0; i < question.second.size(); ++i) {
      total += question.second[i] * std::exp(answers[2 * i] - answers[2 * i + 1]);
    }
  }
  return total;
}

}  // namespace orrery::lab
