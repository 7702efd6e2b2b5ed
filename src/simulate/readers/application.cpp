#include "simulate/readers/application.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace orrery::simulate {

namespace {

// Sizes are whole; what floating point leaves above a whole number is noise.
int ceil_of(double value) {
  return static_cast<int>(std::ceil(value - 1e-8));
}

constexpr int kBatchesTried = 24;
constexpr std::size_t kNodesMax = 16;  // in the interpolated grid

std::string digits_of(const std::vector<int>& per_node) {
  std::string best;
  for (std::size_t shift = 0; shift < per_node.size(); ++shift) {
    std::string rotated;
    for (std::size_t i = 0; i < per_node.size(); ++i) {
      rotated += std::to_string(per_node[(i + shift) % per_node.size()]);
    }
    if (best.empty() || rotated < best) best = std::move(rotated);
  }
  return best;
}

}  // namespace

std::vector<int> Application::validated_batches() const {
  std::vector<int> batches;
  for (const Validation& validation : validations_) batches.push_back(validation.batch);
  return batches;
}

BatchSplit Application::split(int batch, int gpus, bool always_accumulates) const {
  const int local = ceil_of(static_cast<double>(batch) / gpus);
  int accumulations = ceil_of(static_cast<double>(local) / max_local_) - 1;
  if (gpus == 1 && (always_accumulates || batch > init_batch_)) accumulations = std::max(1, accumulations);
  const int count = gpus * (accumulations + 1);
  const int per_gpu = ceil_of(static_cast<double>(local) / (accumulations + 1));
  return {std::min(per_gpu, static_cast<int>(max_batch_ / count)), accumulations};
}

Result<StepTime> Application::step_time(const std::vector<int>& per_node, int per_gpu) const {
  int gpus = 0;
  for (const int there : per_node) gpus += there;
  const auto found = placements_.find(digits_of(per_node));
  if (found == placements_.end()) {
    const int nodes = static_cast<int>(std::min(per_node.size(), kNodesMax));
    const auto cell = grid_.find({nodes, gpus, per_gpu});
    if (cell == grid_.end()) {
      return Error::not_found(fmt::format("{}: no step time on {} GPUs of {} nodes with batch {} per GPU", name_, gpus,
                                          per_node.size(), per_gpu));
    }
    return cell->second;
  }
  const Measured& measured = found->second;
  if (per_gpu < measured.per_gpu.front() || per_gpu > measured.per_gpu.back() || measured.per_gpu.size() < 2) {
    return Error::not_found(fmt::format("{}: batch {} per GPU was not measured on placement {} ({:.0f} to {:.0f} were)",
                                        name_, per_gpu, found->first, measured.per_gpu.front(),
                                        measured.per_gpu.back()));
  }
  const auto at = std::lower_bound(measured.per_gpu.begin(), measured.per_gpu.end(), per_gpu);
  const std::size_t high = std::max<std::size_t>(1, static_cast<std::size_t>(at - measured.per_gpu.begin()));
  const std::size_t low = high - 1;
  const double width = measured.per_gpu[high] - measured.per_gpu[low];
  const double along = per_gpu - measured.per_gpu[low];
  const auto line = [&](const std::vector<double>& y) { return (y[high] - y[low]) / width * along + y[low]; };
  return StepTime{line(measured.step_s), line(measured.sync_s)};
}

double Application::progress_at(int epoch) const {
  if (epoch == 0) return 0;
  double least = std::numeric_limits<double>::infinity();
  for (const Validation& validation : validations_) {
    least = std::min(least, validation.progress[static_cast<std::size_t>(epoch - 1)]);
  }
  return least;
}

Result<double> Application::interpolate(int batch, int epoch, std::vector<double> Validation::*values) const {
  const auto upper = std::lower_bound(validations_.begin(), validations_.end(), batch,
                                      [](const Validation& v, int wanted) { return v.batch < wanted; });
  if (upper == validations_.end() || (upper == validations_.begin() && upper->batch != batch)) {
    return Error::not_found(fmt::format("{}: batch {} is outside the validated {} to {}", name_, batch,
                                        validations_.front().batch, validations_.back().batch));
  }
  const auto e = static_cast<std::size_t>(epoch);
  const double high = ((*upper).*values)[e];
  if (upper->batch == batch) return high;
  const auto lower = upper - 1;
  const double low = ((*lower).*values)[e];
  return ((batch - lower->batch) * high + (upper->batch - batch) * low) / (upper->batch - lower->batch);
}

Result<double> Application::iterations(int batch, int epoch) const {
  return interpolate(batch, epoch, &Validation::iteration);
}

Result<double> Application::gain(int batch, int epoch) const {
  ORRERY_TRY(const double sqr, interpolate(batch, epoch, &Validation::grad_sqr));
  ORRERY_TRY(const double var, interpolate(batch, epoch, &Validation::grad_var));
  const double scale = batch / init_batch_;
  return (var + sqr) / (var / scale + sqr);
}

Result<Application::Goodput> Application::best_goodput(const std::vector<int>& per_node, int epoch) const {
  int gpus = 0;
  for (const int there : per_node) gpus += there;
  const double low = validations_.front().batch, high = validations_.back().batch;
  Goodput best;
  for (int i = 0; i <= kBatchesTried; ++i) {
    const int wanted =
        static_cast<int>(std::lround(low * std::pow(high / low, static_cast<double>(i) / kBatchesTried)));
    if (wanted < gpus) continue;
    Goodput tried;
    tried.split = split(wanted, gpus, false);
    if (tried.split.per_gpu < 1) continue;
    tried.batch = gpus * tried.split.per_gpu * (tried.split.accumulations + 1);
    const auto worth = gain(tried.batch, epoch);
    const auto time = step_time(per_node, tried.split.per_gpu);
    if (!worth || !time) continue;
    tried.per_s = *worth / time->total_s(tried.split.accumulations);
    if (tried.per_s > best.per_s) best = tried;
  }
  if (best.batch == 0) return Error::not_found(fmt::format("{}: no batch was measured on {} GPUs", name_, gpus));
  return best;
}

}  // namespace orrery::simulate
