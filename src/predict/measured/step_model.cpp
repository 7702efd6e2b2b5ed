#include "predict/measured/step_model.h"

#include <algorithm>
#include <cmath>

namespace orrery::predict {

namespace {

constexpr double kShortest = 1e-7;  // seconds; what is below was not seen
constexpr std::size_t kKnownMax = 1'000'000;

}  // namespace

Result<StepModel> StepModel::fit(std::span<const MeasuredSteps* const> measured, const StepScale& scale,
                                 const BoostOptions& options) {
  if (measured.empty()) return Error::invalid("no measured iteration to learn from");
  std::vector<TimeLessons> lessons;
  for (std::size_t i = 0; i < kPhases * kStepGroups; ++i) {
    const auto group = static_cast<StepGroup>(i % kStepGroups);
    lessons.emplace_back(StepFeatures::size_names(group), StepFeatures::feature_names(group));
  }
  StepModel model;
  model.scale_ = scale;
  std::vector<float> buffer;
  for (const MeasuredSteps* one : measured) {
    const StepFeatures features(one->run, scale);
    if (one->seconds.size() != features.steps().size()) {
      return Error::invalid("a measured iteration does not have as many times as its run has steps");
    }
    for (std::size_t step = 0; step < one->seconds.size(); ++step) {
      if (one->seconds[step] < kShortest) continue;
      const auto phase = static_cast<std::size_t>(features.steps()[step].phase);
      TimeLessons& lesson = lessons[phase * kStepGroups + static_cast<std::size_t>(features.group(step))];
      features.sizes(step, buffer);
      lesson.sizes.add(buffer);
      features.features(step, buffer);
      lesson.features.add(buffer);
      lesson.priors.push_back(features.prior(step));
      lesson.times.push_back(one->seconds[step]);
      lesson.weights.push_back(one->seconds[step] / one->iteration);
      model.known_.insert(features.likeness(step));
    }
  }
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    ORRERY_TRY(model.groups_[i / kStepGroups][i % kStepGroups], TimeRegression::fit(lessons[i], options));
  }
  return model;
}

StepTimes StepModel::predict(const workload::TrainingRun& run) const {
  const StepFeatures features(run, scale_);
  StepTimes times;
  std::vector<float> sizes, row;
  double unknown = 0;
  for (std::size_t step = 0; step < features.steps().size(); ++step) {
    const auto phase = static_cast<std::size_t>(features.steps()[step].phase);
    const TimeRegression& group = groups_[phase][static_cast<std::size_t>(features.group(step))];
    features.sizes(step, sizes);
    features.features(step, row);
    const double seconds = std::exp(group.log_time(features.prior(step), sizes, row));
    times.seconds.push_back(seconds);
    times.iteration += seconds;
    if (!known_.contains(features.likeness(step))) unknown += seconds;
  }
  times.unknown_share = times.iteration > 0 ? unknown / times.iteration : 1;
  return times;
}

double StepModel::predict_like(const MeasuredSteps& measured) const {
  const StepTimes times = predict(measured.run);
  double sum = 0;
  for (std::size_t step = 0; step < times.seconds.size(); ++step) {
    if (measured.seconds[step] > 0) sum += times.seconds[step];
  }
  return sum;
}

void StepModel::write(ByteWriter& out) const {
  out.f64(scale_.flops_per_second);
  out.f64(scale_.bytes_per_second);
  out.f64(scale_.call);
  for (const auto& phase : groups_) {
    for (const TimeRegression& group : phase) group.write(out);
  }
  std::vector<std::uint64_t> known(known_.begin(), known_.end());
  std::sort(known.begin(), known.end());
  out.u32(static_cast<std::uint32_t>(known.size()));
  for (const std::uint64_t like : known) out.u64(like);
}

Result<StepModel> StepModel::read(ByteReader& in) {
  StepModel model;
  ORRERY_TRY(model.scale_.flops_per_second, in.f64());
  ORRERY_TRY(model.scale_.bytes_per_second, in.f64());
  ORRERY_TRY(model.scale_.call, in.f64());
  if (!(model.scale_.flops_per_second > 0 && model.scale_.bytes_per_second > 0 && model.scale_.call > 0)) {
    return Error::invalid("a scale that is not above 0");
  }
  for (auto& phase : model.groups_) {
    for (TimeRegression& group : phase) {
      ORRERY_TRY(group, TimeRegression::read(in));
    }
  }
  ORRERY_TRY(const std::size_t known, in.count(sizeof(std::uint64_t), kKnownMax));
  for (std::size_t i = 0; i < known; ++i) {
    ORRERY_TRY(const std::uint64_t like, in.u64());
    model.known_.insert(like);
  }
  return model;
}

}  // namespace orrery::predict
