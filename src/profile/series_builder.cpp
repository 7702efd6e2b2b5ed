#include "profile/series_builder.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/statistics.h"

namespace orrery::profile {

SeriesBuilder::SeriesBuilder(ReadingKind kind, std::string name, std::string unit, std::size_t samples_max)
    : kind_(kind), samples_max_(samples_max), series_{std::move(name), std::move(unit), {}, {}} {}

void SeriesBuilder::add(Seconds time, double value, double base) {
  const Reading reading{time, value, base};
  switch (kind_) {
    case ReadingKind::kLevel:
      return keep(time, value);
    case ReadingKind::kRefreshed:
      if (last_ && last_->value == value) return;
      last_ = reading;
      return keep(time, value);
    case ReadingKind::kRate:
      return add_counter(reading, last_ ? (time - last_->time).value() : 0);
    case ReadingKind::kShare:
      return add_counter(reading, last_ ? base - last_->base : 0);
  }
}

void SeriesBuilder::add_counter(const Reading& reading, double difference_of_base) {
  const bool went_back = last_ && (reading.value < last_->value || difference_of_base < 0);
  if (!last_ || went_back) {
    last_ = reading;
    return;
  }
  if (difference_of_base == 0) return;
  keep(last_->time, (reading.value - last_->value) / difference_of_base);
  last_ = reading;
}

void SeriesBuilder::keep(Seconds time, double value) {
  if (series_.values.size() == samples_max_) {
    ++dropped_;
    return;
  }
  series_.times.push_back(time);
  series_.values.push_back(value);
}

Seconds resolution(const trace::ResourceSeries& series) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < series.times.size(); ++i) {
    steps.push_back((series.times[i] - series.times[i - 1]).value());
  }
  return steps.empty() ? Seconds() : Seconds(median(steps));
}

double mean(const trace::ResourceSeries& series) {
  if (series.values.size() < 2) return largest(series);
  double weight = resolution(series).value();
  double sum = series.values.back() * weight;
  for (std::size_t i = 0; i + 1 < series.values.size(); ++i) {
    const double held = (series.times[i + 1] - series.times[i]).value();
    sum += series.values[i] * held;
    weight += held;
  }
  return weight > 0 ? sum / weight : series.values.back();
}

double largest(const trace::ResourceSeries& series) {
  const auto found = std::max_element(series.values.begin(), series.values.end());
  return found == series.values.end() ? 0 : *found;
}

}  // namespace orrery::profile
