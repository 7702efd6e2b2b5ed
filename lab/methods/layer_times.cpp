#include "lab/methods/layer_times.h"

#include <cmath>
#include <fmt/format.h>

#include "base/statistics.h"
#include "base/text.h"

namespace orrery::lab {

namespace {

constexpr double kDoubt = 2;  // boards' worth

Status check(const LayerTime& time, bool with_seconds) {
  if (!(time.operations > 0) || !std::isfinite(time.operations)) {
    return Error::invalid(fmt::format("layer {} has no operations", quote(time.layer)));
  }
  if (with_seconds && (!(time.seconds > 0) || !std::isfinite(time.seconds))) {
    return Error::invalid(
        fmt::format("layer {} on {}: the time must be above 0", quote(time.layer), quote(time.board)));
  }
  return {};
}

}  // namespace

Result<LayerTimes> LayerTimes::fit(std::span<const LayerTime> measured) {
  LayerTimes model;
  std::map<std::string, std::vector<double>> by_board;
  for (const LayerTime& time : measured) {
    ORRERY_TRY_VOID(check(time, true));
    const double per_operation = std::log(time.seconds / time.operations);
    if (!model.above_the_rate_[time.layer].emplace(time.board, per_operation).second) {
      return Error::invalid(fmt::format("layer {} on {} twice", quote(time.layer), quote(time.board)));
    }
    by_board[time.board].push_back(per_operation);
  }
  for (const auto& [board, per_operation] : by_board) model.rates_[board] = median(per_operation);
  for (auto& [layer, boards] : model.above_the_rate_) {
    for (auto& [board, value] : boards) value -= model.rates_[board];
  }
  return model;
}

Result<double> LayerTimes::log_rate(const std::string& board) const {
  const auto found = rates_.find(board);
  if (found == rates_.end()) return Error::invalid(fmt::format("no layer was measured on {}", quote(board)));
  return found->second;
}

Result<double> LayerTimes::seconds_by_rate(const LayerTime& like) const {
  ORRERY_TRY_VOID(check(like, false));
  ORRERY_TRY(const double rate, log_rate(like.board));
  return like.operations * std::exp(rate);
}

Result<double> LayerTimes::seconds(const LayerTime& like) const {
  ORRERY_TRY(const double by_rate, seconds_by_rate(like));
  const auto layer = above_the_rate_.find(like.layer);
  if (layer == above_the_rate_.end()) return by_rate;
  double sum = 0, boards = 0;
  for (const auto& [board, value] : layer->second) {
    if (board == like.board) continue;
    sum += value;
    boards += 1;
  }
  return by_rate * std::exp(sum / (boards + kDoubt));
}

}  // namespace orrery::lab
