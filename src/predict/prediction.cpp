#include "predict/prediction.h"

namespace orrery::predict {

std::string_view to_string(Bound bound) {
  switch (bound) {
    case Bound::kNothing:
      return "-";
    case Bound::kCompute:
      return "compute";
    case Bound::kMemory:
      return "memory";
    case Bound::kLaunch:
      return "launch";
    case Bound::kNetwork:
      return "network";
  }
  return "-";
}

}  // namespace orrery::predict
