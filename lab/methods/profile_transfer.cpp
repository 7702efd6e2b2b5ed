#include "lab/methods/profile_transfer.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace orrery::lab {

namespace {

struct Group {
  std::string_view name;
  std::vector<std::string_view> operators;
};

const std::vector<Group>& groups() {
  static const std::vector<Group> kGroups = {{"convolution", {"Conv2D", "_FusedConv2D"}},
                                             {"convolution_filter", {"Conv2DBackpropFilter"}},
                                             {"convolution_input", {"Conv2DBackpropInput"}},
                                             {"product", {"MatMul"}},
                                             {"normalisation", {"FusedBatchNormV3", "FusedBatchNormGradV3"}},
                                             {"pooling", {"MaxPool", "MaxPoolGrad", "AvgPool", "AvgPoolGrad"}},
                                             {"update", {"ResourceApplyGradientDescent", "AssignSubVariableOp"}},
                                             {"copies", {"Transpose", "_Recv", "_HostRecv", "_Send"}},
                                             {"elementwise", {}},  // and everything else
                                             {"idle", {"IDLE"}}};
  return kGroups;
}

std::size_t group_of(std::string_view name) {
  std::size_t other = 0;
  for (std::size_t g = 0; g < groups().size(); ++g) {
    const auto& operators = groups()[g].operators;
    if (operators.empty()) other = g;
    if (std::find(operators.begin(), operators.end(), name) != operators.end()) return g;
  }
  return other;
}

std::vector<std::string> residual_names() {
  std::vector<std::string> names = profile_part_names();
  for (const char* name : {"step", "base", "batch", "pixels", "total_pixels", "profile_scale"}) names.push_back(name);
  return names;
}

double profile_total(const StepProfile& profile) {
  double total = 0;
  for (const auto& [name, time] : profile.device_us) total += time;
  return std::max(total, 1e-9);
}

std::vector<float> residual_row(const StepProfile& profile, std::span<const float> parts, double base_us) {
  std::vector<float> row;
  const auto add = [&](double value) { row.push_back(static_cast<float>(std::log(std::max(value, 1e-12)))); };
  for (const float part : parts) add((static_cast<double>(part) + 1) / profile.step_us);
  add(profile.step_us);
  add(base_us / profile.step_us);
  add(profile.batch);
  add(profile.pixels);
  add(profile.batch * profile.pixels * profile.pixels);
  add(profile_total(profile) / profile.step_us);
  return row;
}

}  // namespace

std::vector<std::string> profile_part_names() {
  std::vector<std::string> names;
  for (const Group& group : groups()) names.emplace_back(group.name);
  return names;
}

std::vector<float> profile_parts(const StepProfile& profile) {
  std::vector<double> sums(groups().size());
  for (const auto& [name, time] : profile.device_us) sums[group_of(name)] += time;
  const double scale = profile.step_us / profile_total(profile);
  std::vector<float> parts;
  for (const double sum : sums) parts.push_back(static_cast<float>(sum * scale));
  return parts;
}

BoostOptions profile_boost_options(std::uint64_t seed, int threads) {
  return {.trees = 100, .learning_rate = 0.05, .leaves = 8, .min_rows = 30, .seed = seed, .threads = threads};
}

Result<ProfileTransfer> ProfileTransfer::fit(std::span<const StepProfile* const> profiles,
                                             std::span<const double> target_us, const BoostOptions& boost) {
  if (profiles.size() != target_us.size()) return Error::invalid("as many profiles as measured times are needed");
  // Least squares of base / measured − 1: every row weighted by 1 / measured².
  Features parts(profile_part_names());
  std::vector<double> weights;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (!(target_us[i] > 0) || !(profiles[i]->step_us > 0)) return Error::invalid("step times must be above 0");
    parts.add(profile_parts(*profiles[i]));
    weights.push_back(1 / (target_us[i] * target_us[i]));
  }
  ProfileTransfer model;
  ORRERY_TRY(model.parts_, Ridge::fit(parts, target_us, weights, {.l2 = 1e-4, .non_negative = true}));
  Features residual(residual_names());
  std::vector<double> targets;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const double base = model.base_us(parts.row(i));
    residual.add(residual_row(*profiles[i], parts.row(i), base));
    targets.push_back(std::log(target_us[i] / base));
  }
  ORRERY_TRY(model.residual_, BoostedTrees::fit(residual, targets, {}, boost));
  return model;
}

double ProfileTransfer::base_us(std::span<const float> parts) const {
  return std::max(1.0, parts_.predict(parts));
}

double ProfileTransfer::predict_us(const StepProfile& profile) const {
  const std::vector<float> parts = profile_parts(profile);
  const double base = base_us(parts);
  return base * std::exp(residual_.predict(residual_row(profile, parts, base)));
}

}  // namespace orrery::lab
