#pragma once
// The machine's clock. Stateless and thread-safe.

#include "env/clock.h"

namespace orrery::env {

class RealClock final : public Clock {
 public:
  Seconds wall() const override;
  Seconds monotonic() const override;
  std::optional<Seconds> processor_time(std::int64_t process) const override;
  void sleep(Seconds duration) override;
};

}  // namespace orrery::env
