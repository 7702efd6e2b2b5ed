#include "plan/order_search.h"

#include <algorithm>

#include "base/check.h"
#include "base/random.h"

namespace orrery::plan {

namespace {

std::vector<double> keys_of(const std::vector<std::size_t>& order, std::size_t jobs) {
  std::vector<double> keys(jobs, 0);
  for (std::size_t i = 0; i < order.size(); ++i) keys[order[i]] = static_cast<double>(i);
  return keys;
}

// The same jobs with one of them elsewhere, or two of them exchanged.
std::vector<std::size_t> changed(std::vector<std::size_t> order, Random& random) {
  const auto from = static_cast<std::ptrdiff_t>(random.below(order.size()));
  const auto to = static_cast<std::ptrdiff_t>(random.below(order.size()));
  const auto begin = order.begin();
  if (random.below(2) == 0)
    std::swap(order[static_cast<std::size_t>(from)], order[static_cast<std::size_t>(to)]);
  else if (from < to)
    std::rotate(begin + from, begin + from + 1, begin + to + 1);
  else
    std::rotate(begin + to, begin + from, begin + from + 1);
  return order;
}

}  // namespace

OrderSearch search_order(const Instance& instance, const Plan& kept, std::span<const double> known, int tries,
                         std::uint64_t seed) {
  ORRERY_CHECK(!instance.jobs.empty());
  OrderSearch found;
  bool first = true;
  const auto offer = [&](Dispatched one, double crowding) {
    if (!first && one.forecast.score() >= found.best.forecast.score()) return;
    first = false;
    found.best = std::move(one);
    found.crowding = crowding;
  };
  for (const DispatchRule& rule : dispatch_rules()) offer(dispatch(instance, kept, rule), rule.crowding);
  for (const double crowding : {0.0, 1.0})
    if (!known.empty()) offer(dispatch(instance, kept, {DispatchOrder::kListed, crowding, known}), crowding);
  Random random(seed);
  for (int i = 0; i < tries; ++i) {
    std::vector<double> keys = keys_of(changed(found.best.order, random), instance.jobs.size());
    const double crowding = random.below(8) == 0 ? random.uniform(0, 2) : found.crowding;
    offer(dispatch(instance, kept, {DispatchOrder::kListed, crowding, keys}), crowding);
  }
  found.keys = keys_of(found.best.order, instance.jobs.size());
  return found;
}

}  // namespace orrery::plan
