#include "predict/measured/step_model.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/statistics.h"
#include "predict/measured/motifs.h"

namespace orrery::predict {

namespace {

constexpr double kShortest = 1e-7;  // seconds; shorter times are not measurable
constexpr std::size_t kKnownMax = 1'000'000;
constexpr double kOddShare = 0.02;  // of steps that are alike may be measured wrongly, at either end

void write_set(const std::unordered_set<std::uint64_t>& set, ByteWriter& out) {
  std::vector<std::uint64_t> sorted(set.begin(), set.end());
  std::sort(sorted.begin(), sorted.end());
  out.u32(static_cast<std::uint32_t>(sorted.size()));
  for (const std::uint64_t one : sorted) out.u64(one);
}

// Of times over priors, in logarithms; 1 if there are none.
double typical_ratio(const TimeLessons& lessons) {
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < lessons.times.size(); ++i) {
    sum += lessons.weights[i] * std::log(lessons.times[i] / lessons.priors[i]);
    weights += lessons.weights[i];
  }
  return weights > 0 ? std::exp(sum / weights) : 1;
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

bool StepModel::Reach::holds(double prior, double seconds) const {
  const double multiple = seconds / prior;
  return prior >= prior_least / kReachFactor && prior <= prior_most * kReachFactor &&
         multiple >= multiple_low / kPhysicalFactor && multiple <= multiple_high * kPhysicalFactor;
}

// Precondition: not empty.
StepModel::Reach StepModel::reach_of(const std::vector<Seen>& alike) {
  std::vector<double> priors, multiples;
  for (const Seen& one : alike) {
    priors.push_back(one.prior);
    multiples.push_back(one.multiple);
  }
  const auto [least, most] = std::minmax_element(priors.begin(), priors.end());
  return {*least, *most, quantile(multiples, kOddShare), quantile(multiples, 1 - kOddShare)};
}

bool StepModel::is_known(std::uint64_t likeness, double prior, double seconds) const {
  const auto found = known_.find(likeness);
  return found != known_.end() && found->second.holds(prior, seconds);
}

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
  std::unordered_map<std::uint64_t, std::vector<Seen>> seen;
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
      const Seen here{features.prior(step), one->seconds[step] / features.prior(step)};
      seen[features.likeness(step)].push_back(here);
      seen[features.kind_likeness(step)].push_back(here);
    }
  }
  for (const auto& [likeness, alike] : seen) model.known_[likeness] = reach_of(alike);
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
    times.learned.push_back(is_known(features.likeness(step), prior, seconds));
    times.related.push_back(is_known(features.kind_likeness(step), prior, seconds));
  }
  const std::vector<std::uint64_t> motifs = motifs_of(run.graph);
  const auto unseen = std::count_if(motifs.begin(), motifs.end(), [&](auto motif) { return !motifs_.contains(motif); });
  times.unknown_motifs = static_cast<double>(unseen) / static_cast<double>(std::max<std::size_t>(1, motifs.size()));
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
  const std::map<std::uint64_t, Reach> sorted(known_.begin(), known_.end());
  out.u32(static_cast<std::uint32_t>(sorted.size()));
  for (const auto& [likeness, reach] : sorted) {
    out.u64(likeness);
    for (const double bound : {reach.prior_least, reach.prior_most, reach.multiple_low, reach.multiple_high}) {
      out.f64(bound);
    }
  }
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
  for (auto& phase : model.typical_) {
    for (double& ratio : phase) {
      ORRERY_TRY(ratio, in.f64());
      if (!(ratio > 0 && std::isfinite(ratio))) return Error::invalid("a typical time that is not above 0");
    }
  }
  ORRERY_TRY(const std::size_t known, in.count(5 * sizeof(std::uint64_t), kKnownMax));
  for (std::size_t i = 0; i < known; ++i) {
    ORRERY_TRY(const std::uint64_t likeness, in.u64());
    Reach& reach = model.known_[likeness];
    for (double* bound : {&reach.prior_least, &reach.prior_most, &reach.multiple_low, &reach.multiple_high}) {
      ORRERY_TRY(*bound, in.f64());
    }
    const bool is_whole = reach.prior_least > 0 && reach.prior_least <= reach.prior_most && reach.multiple_low > 0 &&
                          reach.multiple_low <= reach.multiple_high;
    if (!is_whole) return Error::invalid("known steps whose sizes or times are damaged");
  }
  ORRERY_TRY(model.motifs_, read_set(in));
  return model;
}

}  // namespace orrery::predict
