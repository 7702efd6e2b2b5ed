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

void scale_times(Prediction& prediction, double factor) {
  const auto scale = [&](auto& estimate) {
    estimate.value *= factor;
    estimate.low *= factor;
    estimate.high *= factor;
  };
  scale(prediction.iteration);
  scale(prediction.total_time);
  if (prediction.cost) scale(*prediction.cost);
  for (Seconds* time : {&prediction.forward, &prediction.backward, &prediction.update,
                        &prediction.exposed_communication, &prediction.pipeline_bubble, &prediction.host_wait}) {
    *time *= factor;
  }
  for (TimelineEntry& entry : prediction.timeline) {
    entry.start *= factor;
    entry.duration *= factor;
    entry.waited *= factor;
  }
  for (CommunicationEntry& entry : prediction.communication) {
    entry.start *= factor;
    entry.duration *= factor;
  }
  prediction.samples_per_second /= factor;
}

void set_interval(Prediction& prediction, double low, double high) {
  const auto set = [&](auto& estimate) {
    estimate.low = estimate.value * low;
    estimate.high = estimate.value * high;
  };
  set(prediction.iteration);
  set(prediction.total_time);
  if (prediction.cost) set(*prediction.cost);
}

}  // namespace orrery::predict
