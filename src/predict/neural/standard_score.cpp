#include "predict/neural/standard_score.h"

#include <cmath>
#include <fmt/format.h>

namespace orrery::predict {

namespace {

constexpr std::size_t kColumnsMax = 1 << 16;
constexpr double kConstantBelow = 1e-9;  // deviation of a column relative to its size

}  // namespace

void StandardScore::add(std::span<const float> row) {
  rows_ += 1;
  for (std::size_t c = 0; c < row.size(); ++c) {
    const double delta = static_cast<double>(row[c]) - mean_[c];
    mean_[c] += delta / rows_;
    squares_[c] += delta * (static_cast<double>(row[c]) - mean_[c]);
  }
}

Status StandardScore::settle() {
  if (rows_ == 0) return Error::invalid("no rows to learn from");
  for (std::size_t c = 0; c < columns(); ++c) {
    const double deviation = std::sqrt(squares_[c] / rows_);
    if (!std::isfinite(mean_[c]) || !std::isfinite(deviation)) {
      return Error::invalid(fmt::format("column {} holds numbers that are not finite", c));
    }
    scale_[c] = deviation > kConstantBelow * std::abs(mean_[c]) && deviation > 0 ? deviation : 1;
  }
  return {};
}

void StandardScore::to_scores(std::span<float> row) const {
  for (std::size_t c = 0; c < row.size(); ++c) row[c] = score(row[c], c);
}

void StandardScore::write(ByteWriter& out) const {
  out.u32(static_cast<std::uint32_t>(columns()));
  for (std::size_t c = 0; c < columns(); ++c) {
    out.f64(mean_[c]);
    out.f64(scale_[c]);
  }
}

Result<StandardScore> StandardScore::read(ByteReader& in) {
  ORRERY_TRY(const std::size_t columns, in.count(16, kColumnsMax));
  StandardScore score(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    ORRERY_TRY(score.mean_[c], in.f64());
    ORRERY_TRY(score.scale_[c], in.f64());
    if (!std::isfinite(score.mean_[c]) || !(score.scale_[c] > 0) || !std::isfinite(score.scale_[c])) {
      return Error::invalid(fmt::format("column {}: mean and deviation must be finite, the deviation above 0", c));
    }
  }
  return score;
}

}  // namespace orrery::predict
