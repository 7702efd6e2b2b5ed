#include "predict/measured/step_model.h"

#include <algorithm>
#include <cmath>

#include "predict/measured/motifs.h"

namespace orrery::predict {

namespace {

constexpr double kShortest = 1e-7;  // seconds; what is below was not seen
constexpr std::size_t kKnownMax = 1'000'000;

void write_set(const std::unordered_set<std::uint64_t>& set, ByteWriter& out) {
  std::vector<std::uint64_t> sorted(set.begin(), set.end());
  std::sort(sorted.begin(), sorted.end());
  out.u32(static_cast<std::uint32_t>(sorted.size()));
  for (const std::uint64_t one : sorted) out.u64(one);
}

Result<std::unordered_set<std::uint64_t>> read_set(ByteReader& in) {
  ORRERY_TRY(const std::size_t count, in.count(sizeof(std::uint64_t), kKnownMax));
  std::unordered_set<std::uint64_t> set;
  for (std::size_t i = 0; i < count; ++i) {
    ORRERY_TRY(const std::uint64_t one, in.u64());
    set.insert(one);
  }
  return set;
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
    for (const std::uint64_t motif : motifs_of(one->run.graph)) model.motifs_.insert(motif);
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
  const std::vector<std::uint64_t> motifs = motifs_of(run.graph);
  const auto unseen = std::count_if(motifs.begin(), motifs.end(), [&](auto motif) { return !motifs_.contains(motif); });
  times.unknown_motifs = static_cast<double>(unseen) / static_cast<double>(std::max<std::size_t>(1, motifs.size()));
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
  write_set(known_, out);
  write_set(motifs_, out);
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
  ORRERY_TRY(model.known_, read_set(in));
  ORRERY_TRY(model.motifs_, read_set(in));
  return model;
}

}  // namespace orrery::predict
