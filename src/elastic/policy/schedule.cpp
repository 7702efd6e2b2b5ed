#include "elastic/policy/schedule.h"

#include <cmath>
#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"

namespace orrery::elastic {

namespace {

constexpr std::uint64_t kRepeat = 10;  // steps
constexpr double kStepsMax = 1e15;

}  // namespace

Schedule::Schedule(std::vector<Phase> phases, By by) : phases_(std::move(phases)), by_(by) {
  ORRERY_CHECK(!phases_.empty());
}

Proposal Schedule::after_step(const Observation& observation) {
  const bool by_step = by_ == By::kStep;
  const std::uint64_t place = by_step ? observation.step : static_cast<std::uint64_t>(observation.elapsed_s);
  std::uint64_t begin = 0;
  std::size_t at = 0;
  while (at + 1 < phases_.size() && place >= begin + phases_[at].length) begin += phases_[at++].length;
  const bool is_due = (observation.step - (by_step ? begin : 0)) % kRepeat == 0;
  if (!is_due || observation.workers == phases_[at].workers) return {};
  return {{{kWorkersValue, phases_[at].workers}}, {}};
}

Result<std::vector<Schedule::Phase>> parse_phases(const std::string& text) {
  std::vector<Schedule::Phase> phases;
  for (const std::string& phase : split(text, ',')) {
    const std::vector<std::string> words = split(phase, ':');
    const auto workers = parse_number(words[0]);
    const auto steps = words.size() == 2 ? parse_number(words[1]) : std::nullopt;
    if (!workers || !steps || !(*steps >= 1) || !(*steps <= kStepsMax) || *steps != std::floor(*steps)) {
      return Error::invalid(fmt::format("a schedule is SIZE:LENGTH,… such as 2:100,4:200, not {}", quote(text)));
    }
    ORRERY_TRY_VOID(check_value(kWorkersValue, *workers));
    phases.push_back({*workers, static_cast<std::uint64_t>(*steps)});
  }
  return phases;
}

}  // namespace orrery::elastic
