#include "predict/measured/step_model.h"

#include <cmath>

namespace orrery::predict {

namespace {

constexpr double kShortest = 1e-7;  // seconds; what is below was not seen

// Of times over priors, in logarithms; 1 if there are none.
double typical_ratio(const TimeLessons& lessons) {
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < lessons.times.size(); ++i) {
    sum += lessons.weights[i] * std::log(lessons.times[i] / lessons.priors[i]);
    weights += lessons.weights[i];
  }
  return weights > 0 ? std::exp(sum / weights) : 1;
}

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
    model.known_.add_motifs(one->run.graph);
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
      model.known_.add(features.likeness(step), features.prior(step), one->seconds[step]);
      model.known_.add(features.kind_likeness(step), features.prior(step), one->seconds[step]);
    }
  }
  model.known_.settle();
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    model.typical_[i / kStepGroups][i % kStepGroups] = typical_ratio(lessons[i]);
    ORRERY_TRY(model.groups_[i / kStepGroups][i % kStepGroups], TimeRegression::fit(lessons[i], options));
  }
  return model;
}

StepTimes StepModel::predict(const workload::TrainingRun& run) const {
  const StepFeatures features(run, scale_);
  StepTimes times;
  std::vector<float> sizes, row;
  for (std::size_t step = 0; step < features.steps().size(); ++step) {
    const auto phase = static_cast<std::size_t>(features.steps()[step].phase);
    const auto group = static_cast<std::size_t>(features.group(step));
    const double prior = features.prior(step);
    features.sizes(step, sizes);
    features.features(step, row);
    const double seconds = std::exp(groups_[phase][group].log_time(prior, sizes, row));
    times.seconds.push_back(seconds);
    times.iteration += seconds;
    times.typical.push_back(prior * typical_[phase][group]);
    times.learned.push_back(known_.is_known(features.likeness(step), prior, seconds));
    times.related.push_back(known_.is_known(features.kind_likeness(step), prior, seconds));
  }
  times.unknown_motifs = known_.unknown_motifs(run.graph);
  return times;
}

void StepModel::write(ByteWriter& out) const {
  out.f64(scale_.flops_per_second);
  out.f64(scale_.bytes_per_second);
  out.f64(scale_.call);
  for (const auto& phase : groups_) {
    for (const TimeRegression& group : phase) group.write(out);
  }
  for (const auto& phase : typical_) {
    for (const double ratio : phase) out.f64(ratio);
  }
  known_.write(out);
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
    for (std::size_t i = 0; i < kStepGroups; ++i) {
      ORRERY_TRY(phase[i], TimeRegression::read(in));
      const auto group = static_cast<StepGroup>(i);
      if (!phase[i].takes(StepFeatures::size_names(group).size(), StepFeatures::feature_names(group).size())) {
        return Error::invalid("steps that were learned from other features");
      }
    }
  }
  for (auto& phase : model.typical_) {
    for (double& ratio : phase) {
      ORRERY_TRY(ratio, in.f64());
      if (!(ratio > 0 && std::isfinite(ratio))) return Error::invalid("a typical time that is not above 0");
    }
  }
  ORRERY_TRY(model.known_, KnownSteps::read(in));
  return model;
}

}  // namespace orrery::predict
