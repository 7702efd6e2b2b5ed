#include "predict/measured/measured_model.h"

#include <cmath>
#include <fmt/format.h>

#include "base/random.h"
#include "base/text.h"
#include "env/files.h"
#include "predict/learn/sealed.h"
#include "predict/measured/counted_times.h"

namespace orrery::predict {

namespace {

constexpr SealedKind kKind{"orrery-model", kModelVersion, "model", "orrery fit"};
constexpr std::size_t kTextMax = 4096;
constexpr std::size_t kIterationsMin = 20;

std::uint64_t fold_of(const DatasetIteration& one, std::uint64_t seed) {
  return Random(seed).split(one.key).below(kFits - 1);
}

}  // namespace

Result<MeasuredModel> fit_measured(const MeasuredSet& set, const FitOptions& options) {
  const hardware::Device* device = hardware::find_device_or_null(set.machine.device);
  if (device == nullptr) return Error::invalid(fmt::format("unknown device {}", quote(set.machine.device)));
  const StepScale scale = scale_of(*device);
  const std::vector<DatasetIteration>& all = set.iterations;
  MeasuredModel model{.machine = set.machine, .seed = options.seed};
  const BoostOptions boost = step_boost_options(options.seed, options.threads);
  std::vector<CalibrationPair> pairs;
  const std::vector<const MeasuredSteps*> idle = undisturbed_steps(all);
  if (idle.size() < kIterationsMin) {
    return Error::invalid(fmt::format("{} iterations that are not noisy; {} are needed", idle.size(), kIterationsMin));
  }
  int fits = 0;
  for (std::uint64_t fold = 0; fold + 1 < kFits; ++fold) {
    std::vector<const MeasuredSteps*> others;
    for (const DatasetIteration& one : all) {
      if (!one.is_noisy && fold_of(one, options.seed) != fold) others.push_back(&one.steps);
    }
    ORRERY_TRY(const StepModel left_out, StepModel::fit(others, scale, boost));
    for (const DatasetIteration& one : all) {
      if (one.is_noisy || fold_of(one, options.seed) != fold) continue;
      const double predicted = sum_like(counted_times(left_out, one.steps.run, *device), one.steps);
      pairs.push_back({predicted, one.steps.iteration});
      model.error += std::abs(predicted / one.steps.iteration - 1);
    }
    if (options.progress) options.progress(++fits);
  }
  model.iterations = idle.size();
  model.error /= static_cast<double>(pairs.size());
  ORRERY_TRY(model.intervals, Conformal::fit(pairs));
  ORRERY_TRY(model.steps, StepModel::fit(idle, scale, boost));
  if (options.progress) options.progress(++fits);
  return model;
}

std::string to_bytes(const MeasuredModel& model) {
  ByteWriter body;
  body.text(model.machine.device);
  body.text(model.machine.name);
  body.text(model.machine.library);
  body.u32(model.machine.threads);
  body.u64(model.seed);
  body.u64(model.iterations);
  body.f64(model.error);
  model.intervals.write(body);
  model.steps.write(body);
  return seal(kKind, body.bytes());
}

bool is_measured_model(std::string_view bytes) {
  return bytes.starts_with(kKind.name);
}

Result<std::string> device_of_model(std::string_view bytes) {
  ORRERY_TRY(const std::string_view body, peek(kKind, bytes));
  ByteReader in(body);
  return in.text(kTextMax);
}

Result<MeasuredModel> parse_measured_model(std::string_view bytes) {
  ORRERY_TRY(const std::string_view body, unseal(kKind, bytes));
  ByteReader in(body);
  MeasuredModel model;
  ORRERY_TRY(model.machine.device, in.text(kTextMax));
  ORRERY_TRY(model.machine.name, in.text(kTextMax));
  ORRERY_TRY(model.machine.library, in.text(kTextMax));
  ORRERY_TRY(model.machine.threads, in.u32());
  ORRERY_TRY(model.seed, in.u64());
  ORRERY_TRY(model.iterations, in.u64());
  ORRERY_TRY(model.error, in.f64());
  ORRERY_TRY(model.intervals, Conformal::read(in));
  ORRERY_TRY(model.steps, StepModel::read(in));
  if (!in.at_end()) return Error::invalid("bytes behind its end");
  return model;
}

}  // namespace orrery::predict
