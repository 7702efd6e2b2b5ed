#include "predict/ets/device_model.h"

#include <algorithm>
#include <cmath>

namespace orrery::predict {

namespace {

using workload::Phase;

constexpr std::size_t kRowsMin = 50;       // to know a group
constexpr double kRidge = 1e-3;
constexpr double kLogLimit = 5;  // of what ridge and trees may add

// The group whose kernels are most like an unknown group's.
constexpr std::array<std::size_t, DeviceModel::kGroups> kNearest = {1, 0, 0, 1, 6, 7, 4, 6, 6};

std::size_t group_of(const LaunchContext& context, std::size_t row) {
  const LaunchedOperator& op = context.trace().operators[row];
  if (op.phase == Phase::kUpdate) return 8;
  const std::size_t backward = op.phase == Phase::kBackward ? 1 : 0;
  switch (context.works()[row].work_class) {
    case WorkClass::kConvolution:
      return (op.parameters.size() > 15 && op.parameters[15] > 1 ? 2 : 0) + backward;
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

Result<DeviceModel::Group> DeviceModel::fit_group(std::span<const Row> rows, std::size_t number, Sight sight,
                                                  const BoostOptions& options) {
  Features sizes(LaunchContext::size_names(sight)), features(LaunchContext::device_names(sight));
  std::vector<double> targets, weights;
  std::vector<float> buffer;
  std::vector<const Row*> members;
  for (const Row& row : rows) {
    if (group_of(*row.context, row.row) != number) continue;
    row.context->size_features(row.row, sight, buffer);
    sizes.add(buffer);
    row.context->device_features(row.row, sight, row.busy, buffer);
    features.add(buffer);
    targets.push_back(std::log(row.time / row.context->device_prior(row.row)));
    weights.push_back(row.times * row.time / row.iteration);
    members.push_back(&row);
  }
  Group group;
  if (members.size() < kRowsMin) return group;
  ORRERY_TRY(group.ridge, Ridge::fit(sizes, targets, weights, {.l2 = kRidge}));
  const std::vector<double> base = group.ridge.predict(sizes);
  double weight_sum = 0;
  for (const double weight : weights) weight_sum += weight;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    targets[i] -= base[i];
    weights[i] *= static_cast<double>(weights.size()) / weight_sum;
  }
  ORRERY_TRY(group.trees, BoostedTrees::fit(features, targets, weights, options));
  const std::vector<double> residual = group.trees.predict(features);
  double measured = 0, predicted = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Row& row = *members[i];
    measured += row.times * row.time / row.iteration;
    predicted += row.times * row.context->device_prior(row.row) * std::exp(base[i] + residual[i]) / row.iteration;
  }
  group.log_factor = std::log(measured / predicted);
  group.is_known = true;
  return group;
}

Result<DeviceModel> DeviceModel::fit(std::span<const Row> rows, const BoostOptions& options) {
  DeviceModel model;
  for (std::size_t sight = 0; sight < kSights.size(); ++sight) {
    for (std::size_t number = 0; number < kGroups; ++number) {
      ORRERY_TRY(model.groups_[sight][number], fit_group(rows, number, kSights[sight], options));
    }
  }
  return model;
}

double DeviceModel::log_time(const LaunchContext& context, std::size_t row, Sight sight, double busy) const {
  const double prior = std::log(context.device_prior(row));
  const std::size_t number = group_of(context, row);
  const auto& groups = groups_[static_cast<std::size_t>(sight)];
  const Group* group = &groups[number];
  if (!group->is_known) group = &groups[kNearest[number]];
  if (!group->is_known) return prior;
  thread_local std::vector<float> features;
  context.size_features(row, sight, features);
  double log_ratio = group->ridge.predict(features);
  context.device_features(row, sight, busy, features);
  log_ratio += group->trees.predict(features);
  return prior + group->log_factor + std::clamp(log_ratio, -kLogLimit, kLogLimit);
}

}  // namespace orrery::predict
