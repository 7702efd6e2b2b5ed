#include "lab/methods/device_model.h"

namespace orrery::lab {

namespace {

using workload::Phase;

// The group whose kernels are most like an unknown group's.
constexpr std::array<std::size_t, DeviceModel::kGroups> kNearest = {1, 0, 0, 1, 6, 7, 4, 6, 6};

std::size_t group_of(const LaunchContext& context, std::size_t row) {
  const Phase phase = context.trace().operators[row].phase;
  const LaunchWork& work = context.works()[row];
  if (phase == Phase::kUpdate) return 8;
  const std::size_t backward = phase == Phase::kBackward ? 1 : 0;
  switch (work.work_class) {
    case WorkClass::kConvolution:
      return (work.convolution && work.convolution->groups > 1 ? 2 : 0) + backward;
    case WorkClass::kLinear:
    case WorkClass::kMatmul:
      return 0 + backward;
    case WorkClass::kBatchNorm:
    case WorkClass::kLayerNorm:
    case WorkClass::kSoftmax:
      return 4 + backward;
    default:
      return 6 + backward;
  }
}

}  // namespace

Result<TimeRegression> DeviceModel::fit_group(std::span<const Row> rows, std::size_t number, Sight sight,
                                              const BoostOptions& options) {
  TimeLessons lessons(LaunchContext::size_names(sight), LaunchContext::device_names(sight));
  std::vector<float> buffer;
  for (const Row& row : rows) {
    if (group_of(*row.context, row.row) != number) continue;
    row.context->size_features(row.row, sight, buffer);
    lessons.sizes.add(buffer);
    row.context->device_features(row.row, sight, row.busy, buffer);
    lessons.features.add(buffer);
    lessons.priors.push_back(row.context->device_prior(row.row));
    lessons.times.push_back(row.time);
    lessons.weights.push_back(row.times * row.time / row.iteration);
  }
  return TimeRegression::fit(lessons, options);
}

Result<DeviceModel> DeviceModel::fit(std::span<const Row> rows, const BoostOptions& options, const Sights& sights) {
  DeviceModel model;
  for (std::size_t sight = 0; sight < kSights.size(); ++sight) {
    if (!sights.has(kSights[sight])) continue;
    for (std::size_t number = 0; number < kGroups; ++number) {
      ORRERY_TRY(model.groups_[sight][number], fit_group(rows, number, kSights[sight], options));
    }
  }
  return model;
}

double DeviceModel::log_time(const LaunchContext& context, std::size_t row, Sight sight, double busy) const {
  const double prior = context.device_prior(row);
  const std::size_t number = group_of(context, row);
  const auto& groups = groups_[static_cast<std::size_t>(sight)];
  const TimeRegression& group = groups[groups[number].is_known() ? number : kNearest[number]];
  thread_local std::vector<float> sizes, features;
  context.size_features(row, sight, sizes);
  context.device_features(row, sight, busy, features);
  return group.log_time(prior, sizes, features);
}

}  // namespace orrery::lab
