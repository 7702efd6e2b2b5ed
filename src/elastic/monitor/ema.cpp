#include "elastic/monitor/ema.h"

#include <cmath>

namespace orrery::elastic {

bool is_worth_changing(double current, double wanted, double band) {
  return std::abs(wanted - current) > band * std::abs(current);
}

}  // namespace orrery::elastic
