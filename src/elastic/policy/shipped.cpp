#include "elastic/policy/shipped.h"

#include <fmt/format.h>

#include "base/text.h"
#include "elastic/policy/adascale.h"
#include "elastic/policy/gns_batch.h"
#include "elastic/policy/gns_workers.h"
#include "elastic/policy/schedule.h"

namespace orrery::elastic {

namespace {

using Made = Result<std::unique_ptr<Policy>>;
using Words = std::vector<std::string>;

// The number at a place of the words, or `otherwise` if there are not so many.
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

Made make_by_words(const std::string& text) {
  const Words words = split(text, ':');
  if (words[0] == "gns") return make_gns_batch(words);
  if (words[0] == "gns-workers") return make_gns_workers(words);
  if (text == "adascale") return std::make_unique<AdaScale>(AdaScaleOptions{});
  if (words[0] == "schedule") {
    ORRERY_TRY(auto phases, parse_phases(text.substr(std::min(text.size(), words[0].size() + 1))));
    return std::make_unique<Schedule>(std::move(phases));
  }
  const Words names = {"gns", "gns-workers", "adascale", "schedule"};
  return Error::not_found("there is gns, gns-workers, adascale and schedule" + did_you_mean(words[0], names));
}

}  // namespace

Result<std::unique_ptr<Policy>> make_policy(const std::string& text) {
  Made made = make_by_words(text);
  if (!made) return std::move(made).error().with_context("policy " + quote(text));
  return made;
}

}  // namespace orrery::elastic
