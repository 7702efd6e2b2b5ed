#include "plan/order_search.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/random.h"

namespace orrery::plan {

namespace {

constexpr double kWorseAtFirst = 0.002;  // share of the score that a change may cost in the beginning
constexpr double kModestMax = 4;

std::vector<double> keys_of(const std::vector<std::size_t>& order, std::size_t jobs) {
  std::vector<double> keys(jobs, 0);
  for (std::size_t i = 0; i < order.size(); ++i) keys[order[i]] = static_cast<double>(i);
  return keys;
}

std::vector<std::size_t> order_of(const std::vector<double>& keys) {
  std::vector<std::size_t> order(keys.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  return order;
}

// The same jobs with one of them elsewhere, or two of them exchanged.
void move_one(std::vector<std::size_t>& order, Random& random) {
  const auto from = static_cast<std::ptrdiff_t>(random.below(order.size()));
  const auto to = static_cast<std::ptrdiff_t>(random.below(order.size()));
  const auto begin = order.begin();
  if (random.below(2) == 0)
    std::swap(order[static_cast<std::size_t>(from)], order[static_cast<std::size_t>(to)]);
  else if (from < to)
    std::rotate(begin + from, begin + from + 1, begin + to + 1);
  else
    std::rotate(begin + to, begin + from, begin + from + 1);
}

class Search {
 public:
  Search(const Outlook& outlook, const Plan& kept, std::uint64_t seed)
      : outlook_(outlook), kept_(kept), random_(seed), jobs_(outlook.instance().jobs.size()) {}

  OrderSearch run(const ListedOrder& known, int tries) {
    for (DispatchRule rule : dispatch_rules()) {
      for (const bool anew : {false, true}) {
        if (anew && !may_anew()) continue;
        rule.anew = anew;
        const auto order = dispatch(outlook_, kept_, rule).order;
        offer({keys_of(order, jobs_), std::vector<double>(jobs_, 1), rule.crowding, anew});
      }
    }
    if (!known.keys.empty())
      offer({keys_of(order_of(known.keys), jobs_), known.modest, known.crowding, known.anew && may_anew()});
    for (int i = 0; i < tries; ++i) {
      const double part = 1 - static_cast<double>(i) / tries;
      offer(changed(), kWorseAtFirst * part * part);
    }
    return std::move(best_);
  }

 private:
  // Plays the list; continues from it unless it is worse than the present one by more than that share.
  void offer(ListedOrder list, double worse = 0) {
    Dispatched played = dispatch(outlook_, kept_, list.rule());
    const double score = played.forecast.score();
    if (score > at_score_ * (1 + worse)) return;
    at_score_ = score;
    at_ = list;
    if (score >= best_score_) return;
    best_score_ = score;
    best_ = {std::move(played), std::move(list)};
  }

  ListedOrder changed() {
    ListedOrder list = at_;
    const std::uint64_t what = random_.below(20);
    if (what == 0) list.anew = !list.anew && may_anew();
    if (what == 1) list.crowding = random_.uniform(0, 2);
    if (what >= 2 && what < 9) list.modest[random_.below(jobs_)] = random_.below(4) == 0 ? 0 : kModestMax * square();
    if (what < 9) return list;
    auto order = order_of(list.keys);
    move_one(order, random_);
    list.keys = keys_of(order, jobs_);
    return list;
  }

  bool may_anew() const { return jobs_ <= kAnewJobsMax; }

  // More often small than large.
  double square() {
    const double draw = random_.uniform();
    return draw * draw;
  }

  const Outlook& outlook_;
  const Plan& kept_;
  Random random_;
  std::size_t jobs_;
  ListedOrder at_;
  double at_score_ = std::numeric_limits<double>::infinity();
  OrderSearch best_;
  double best_score_ = std::numeric_limits<double>::infinity();
};

}  // namespace

OrderSearch search_order(const Outlook& outlook, const Plan& kept, const ListedOrder& known, int tries,
                         std::uint64_t seed) {
  ORRERY_CHECK(!outlook.instance().jobs.empty());
  return Search(outlook, kept, seed).run(known, tries);
}

}  // namespace orrery::plan
