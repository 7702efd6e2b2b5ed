#pragma once
// Standard scores per column: z = (x − mean) / deviation. A constant column becomes 0.

#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace orrery::predict {

class StandardScore {
 public:
  StandardScore() = default;
  explicit StandardScore(std::size_t columns) : mean_(columns), squares_(columns), scale_(columns, 1.0) {}

  // First all rows, then settle() once. Welford's updates: columns of 1e10 and of 1 both keep their digits.
  void add(std::span<const float> row);
  // Fails without rows, or when a number was not finite.
  Status settle();

  std::size_t columns() const { return mean_.size(); }
  float score(float value, std::size_t column) const {
    return static_cast<float>((static_cast<double>(value) - mean_[column]) / scale_[column]);
  }
  double value(float score, std::size_t column) const {
    return static_cast<double>(score) * scale_[column] + mean_[column];
  }
  void to_scores(std::span<float> row) const;
  double deviation(std::size_t column) const { return scale_[column]; }

  void write(ByteWriter& out) const;
  static Result<StandardScore> read(ByteReader& in);

 private:
  std::vector<double> mean_, squares_, scale_;
  double rows_ = 0;
};

}  // namespace orrery::predict
