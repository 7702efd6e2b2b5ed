#pragma once
// For tests: the gradients of a network against differences of its loss.

#include <cmath>
#include <gtest/gtest.h>

#include "predict/neural/network.h"

namespace orrery::predict {

// (loss(p + h) − loss(p − h)) / 2h of every `every`-th parameter; the loss has to be smooth. Leaves the network
// changed.
inline void expect_gradients(Network& network, const NetworkBatch& batch, std::size_t every, double tolerance) {
  std::vector<float> gradients, ignored;
  network.gradients(batch, gradients).value();
  const NetworkState start = network.state();
  ASSERT_EQ(gradients.size(), start.parameters.size());
  const auto loss_with = [&](std::size_t parameter, float change) {
    NetworkState changed = start;
    changed.parameters[parameter] += change;
    EXPECT_TRUE(network.set_state(changed).has_value());
    return network.gradients(batch, ignored).value();
  };
  constexpr float kStep = 1e-2F;
  for (std::size_t parameter = 0; parameter < gradients.size(); parameter += every) {
    const double slope = (loss_with(parameter, kStep) - loss_with(parameter, -kStep)) / (2 * kStep);
    EXPECT_NEAR(slope, gradients[parameter], tolerance + 0.05 * std::abs(slope)) << parameter;
  }
}

}  // namespace orrery::predict
