#include "elastic/policy/shipped.h"

#include <fmt/format.h>

#include "base/text.h"
#include "elastic/policy/adascale.h"
#include "elastic/policy/gns_batch.h"
#include "elastic/policy/gns_workers.h"
#include "elastic/policy/goodput.h"
#include "elastic/policy/interference_policy.h"
#include "elastic/policy/schedule.h"
#include "elastic/policy/straggler.h"
#include "elastic/policy/strategy_by_size.h"
#include "elastic/policy/uneven.h"

namespace orrery::elastic {

namespace {

using Made = Result<std::unique_ptr<Policy>>;
using Words = std::vector<std::string>;

// The number at this position of the words, or `otherwise` if there are fewer.
Result<double> number_at(const Words& words, std::size_t place, const char* name, double otherwise) {
  if (place >= words.size()) return otherwise;
  const auto number = parse_number(words[place]);
  if (!number) return Error::invalid(fmt::format("{} is no number", quote(words[place])));
  ORRERY_TRY_VOID(check_value(name, *number));
  return *number;
}

Made make_gns_batch(const Words& words) {
  if (words.size() > 2) return Error::invalid("it is gns or gns:BATCH_MAX");
  GnsBatchOptions options;
  ORRERY_TRY(options.batch_max, number_at(words, 1, kBatchValue, options.batch_max));
  return std::make_unique<GnsBatch>(options);
}

Made make_gns_workers(const Words& words) {
  if (words.size() < 2 || words.size() > 3) return Error::invalid("it is gns-workers:PER_WORKER[:WORKERS_MAX]");
  GnsWorkersOptions options;
  ORRERY_TRY(options.per_worker, number_at(words, 1, kBatchValue, options.per_worker));
  ORRERY_TRY(options.workers_max, number_at(words, 2, kWorkersValue, options.workers_max));
  return std::make_unique<GnsWorkers>(options);
}

Made make_goodput(const Words& words) {
  if (words.size() > 3) return Error::invalid("it is goodput[:WORKERS_MAX[:BATCH_MAX]]");
  GoodputOptions options;
  ORRERY_TRY(options.workers_max, number_at(words, 1, kWorkersValue, options.workers_max));
  ORRERY_TRY(options.batch_max, number_at(words, 2, kBatchValue, options.batch_max));
  return std::make_unique<Goodput>(options);
}

Made make_interference(const Words& words) {
  if (words.size() > 2) return Error::invalid("it is interference or interference:FACTOR");
  InterferenceOptions options;
  ORRERY_TRY(options.disturbed, number_at(words, 1, "factor", options.disturbed));
  if (options.disturbed <= 1) return Error::invalid("the factor must be above 1");
  return std::make_unique<InterferencePolicy>(options);
}

// Straggler or Uneven: what is done when a worker is slower than the others by a factor.
template <class Remedy, class Options>
Made make_remedy(const Words& words) {
  if (words.size() > 2) return Error::invalid(fmt::format("it is {0} or {0}:FACTOR", words[0]));
  Options options;
  ORRERY_TRY(options.slow, number_at(words, 1, "factor", options.slow));
  if (options.slow <= options.even) return Error::invalid(fmt::format("the factor must be above {}", options.even));
  return std::make_unique<Remedy>(options);
}

Made make_strategy_by_size(const Words& words) {
  if (words.size() != 2) return Error::invalid("it is strategy-by-size:WORKERS_MAX");
  ORRERY_TRY(const double workers_max, number_at(words, 1, kWorkersValue, 1));
  return std::make_unique<StrategyBySize>(workers_max);
}

Made make_by_words(const std::string& text) {
  const Words words = split(text, ':');
  if (words[0] == "gns") return make_gns_batch(words);
  if (words[0] == "gns-workers") return make_gns_workers(words);
  if (text == "adascale") return std::make_unique<AdaScale>(AdaScaleOptions{});
  if (words[0] == "goodput") return make_goodput(words);
  if (words[0] == "straggler") return make_remedy<Straggler, StragglerOptions>(words);
  if (words[0] == "uneven") return make_remedy<Uneven, UnevenOptions>(words);
  if (words[0] == "interference") return make_interference(words);
  if (words[0] == "strategy-by-size") return make_strategy_by_size(words);
  if (words[0] == "schedule" || words[0] == "timetable") {
    ORRERY_TRY(auto phases, parse_phases(text.substr(std::min(text.size(), words[0].size() + 1))));
    const auto by = words[0] == "schedule" ? Schedule::By::kStep : Schedule::By::kSecond;
    return std::make_unique<Schedule>(std::move(phases), by);
  }
  const Words names = {"gns",     "gns-workers", "adascale",         "schedule",     "timetable",
                       "goodput", "straggler",   "strategy-by-size", "interference", "uneven"};
  return Error::not_found(fmt::format("there is {}{}", fmt::join(names, ", "), did_you_mean(words[0], names)));
}

}  // namespace

Result<std::unique_ptr<Policy>> make_policy(const std::string& text) {
  Made made = make_by_words(text);
  if (!made) return std::move(made).error().with_context("policy " + quote(text));
  return made;
}

}  // namespace orrery::elastic
