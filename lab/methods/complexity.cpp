#include "lab/methods/complexity.h"

#include <cmath>
#include <initializer_list>

#include "base/check.h"

namespace orrery::lab {

namespace {

struct Operations {
  double forward, backward;
};

Operations at_one_position(const LayerShape& s) {
  const double window = s.height * s.width;
  switch (s.kind) {
    case LayerKind::kConvolution:
      return {window * s.channels_in * s.channels_out, (2 * window * s.channels_in + 1) * s.channels_out};
    case LayerKind::kFullyConnected:
      return {window * s.channels_in * s.channels_out, 2 * window * s.channels_in * s.channels_out};
    case LayerKind::kLoss:
      return {4 * s.channels_out - 1, s.channels_out + 1};
    case LayerKind::kNormalisation:
      return {5 * s.channels_out + s.neighbours - 2, 8 * s.channels_out + s.neighbours - 1};
    case LayerKind::kPooling:
      return {window * s.channels_out, (window + 1) * s.channels_out};
    case LayerKind::kActivation:
      return {3 * s.channels_out, 4 * s.channels_out};
  }
  ORRERY_CHECK(false);
  return {};
}

}  // namespace

Status validate(const LayerShape& shape) {
  for (const double size :
       {shape.height, shape.width, shape.channels_in, shape.channels_out, shape.neighbours, shape.positions}) {
    if (!(size >= 1) || !std::isfinite(size)) return Error::invalid("a layer with a size below 1");
  }
  return {};
}

double forward_operations(const LayerShape& shape) {
  return at_one_position(shape).forward * shape.positions;
}

double backward_operations(const LayerShape& shape) {
  return at_one_position(shape).backward * shape.positions;
}

}  // namespace orrery::lab
