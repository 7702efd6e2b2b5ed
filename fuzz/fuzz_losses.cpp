// Any bytes are a file of losses or an error with its line; losses that were read give a curve that never rises, and an
// answer inside its interval.

#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "expect.h"
#include "predict/observe/observations.h"
#include "predict/scaling/loss_file.h"
#include "predict/scaling/steps_estimate.h"

using namespace orrery;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)predict::parse_observations(text);
  const auto file = predict::parse_losses(text, "f");
  if (!file) {
    expect(file.error().message().starts_with("f:") && is_printable(file.error().message()));
    return 0;
  }
  expect(file->points.size() >= predict::kLossPointsMin);
  const double last = file->points.back().step;
  for (const predict::StepsQuestion& question :
       {predict::StepsQuestion{}, predict::StepsQuestion{.target = file->points.back().loss / 2}}) {
    const auto estimate = predict::estimate_steps(file->points, question, 1);
    if (!estimate) {
      expect(!estimate.error().message().empty());
      continue;
    }
    expect(estimate->low >= 0 && estimate->low <= estimate->step && estimate->step <= estimate->high);
    expect(std::isfinite(estimate->curve.loss(last)) && estimate->curve.loss(2 * last) <= estimate->curve.loss(last));
  }
  return 0;
}
