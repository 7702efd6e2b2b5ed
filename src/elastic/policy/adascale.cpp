#include "elastic/policy/adascale.h"

#include "elastic/monitor/ema.h"

namespace orrery::elastic {

double adascale_gain(double variance, double gradient_square, double scale) {
  return (variance + gradient_square) / (variance / scale + gradient_square);
}

Proposal AdaScale::after_step(const Observation& observation) {
  if (observation.step % options_.every != 0 || !observation.noise_scale()) return {};
  const double gain = adascale_gain(*observation.noise / observation.first_batch, *observation.gradient_square,
                                    observation.batch / observation.first_batch);
  if (!is_worth_changing(observation.learning_rate_scale, gain, options_.band)) return {};
  return {{{kLearningRateScale, gain}}, {}};
}

}  // namespace orrery::elastic
