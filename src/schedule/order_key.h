#pragma once
// A place in an order; smaller goes first. The policy defines the meaning of the fields.

#include <compare>
#include <cstdint>

#include "schedule/job_time.h"

namespace orrery::schedule {

struct OrderKey {
  std::int64_t value = 0;
  std::int64_t kind = 0;
  std::int64_t rank = 0;
  std::int64_t first = 0;
  std::int64_t second = 0;
  JobIndex job = kNoJob;

  friend auto operator<=>(const OrderKey&, const OrderKey&) = default;
};

}  // namespace orrery::schedule
