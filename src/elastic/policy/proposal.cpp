#include "elastic/policy/proposal.h"

#include <cmath>
#include <fmt/format.h>
#include <optional>

#include "base/text.h"
#include "elastic/job/note.h"

namespace orrery::elastic {

namespace {

Status check_range(const std::string& name, double value, double low, double high, bool is_whole) {
  if (value >= low && value <= high && (!is_whole || value == std::floor(value))) return {};
  const char* const kind = is_whole ? "a whole number" : "a number";
  return Error::invalid(fmt::format("{} must be {} from {} to {}, not {}", name, kind, low, high, value));
}

// What the proposers say about one value, as long as they agree.
template <class T>
class Poll {
 public:
  void add(const std::string& proposer, const T& said) {
    if (!first_) {
      first_ = said;
      proposer_ = proposer;
    } else if (*first_ != said && reason_.empty()) {
      reason_ = fmt::format("{} says {}, {} says {}", proposer_, *first_, proposer, said);
    }
  }
  const std::optional<T>& first() const { return first_; }
  const std::string& reason() const { return reason_; }

 private:
  std::optional<T> first_;
  std::string proposer_, reason_;
};

}  // namespace

Status check_value(const std::string& name, double value) {
  if (name.empty() || name.size() > kValueNameMax || !is_printable(name)) {
    return Error::invalid(fmt::format("{} is no name of 1 to {} characters", quote(name), kValueNameMax));
  }
  if (name == kStopParameter) return Error::invalid("to end the job is no matter of policies");
  if (!std::isfinite(value)) return Error::invalid(fmt::format("{} is not finite", name));
  if (name == kWorkersValue) return check_range(name, value, 1, kWorkersMax, true);
  if (name == kBatchValue) return check_range(name, value, 1, kBatchMax, true);
  if (name == kLearningRateScale) return check_range(name, value, 1 / kScaleMax, kScaleMax, false);
  return {};
}

Status check_strategy(const std::string& name, Strategies offered) {
  static const std::string kDefault[] = {kSynchronousStrategy};
  if (offered.empty()) offered = kDefault;
  std::string names;
  for (const std::string& one : offered) {
    if (name == one) return {};
    names += fmt::format("{}{}", names.empty() ? "" : ", ", quote(one));
  }
  return Error::invalid(fmt::format("unknown strategy {}; there is {}", quote(name), names));
}

Agreement merge(std::span<const NamedProposal> proposals, Strategies offered) {
  Agreement agreement;
  std::map<std::string, Poll<double>> values;
  Poll<std::string> strategy;
  const auto refuse = [&](const std::string& proposer, const Status& status) {
    agreement.refused.push_back(fmt::format("{}: {}", proposer, status.error().message()));
  };
  for (const NamedProposal& named : proposals) {
    for (const auto& [name, value] : named.proposal.values) {
      const Status sound = check_value(name, value);
      sound ? values[name].add(named.proposer, value) : refuse(named.proposer, sound);
    }
    if (named.proposal.strategy.empty()) continue;
    const Status sound = check_strategy(named.proposal.strategy, offered);
    sound ? strategy.add(named.proposer, named.proposal.strategy) : refuse(named.proposer, sound);
  }
  for (const auto& [name, poll] : values) {
    if (poll.reason().empty()) {
      agreement.agreed.values[name] = *poll.first();
    } else {
      agreement.refused.push_back(fmt::format("{}: {}", name, poll.reason()));
    }
  }
  if (strategy.reason().empty()) {
    agreement.agreed.strategy = strategy.first().value_or("");
  } else {
    agreement.refused.push_back("strategy: " + strategy.reason());
  }
  return agreement;
}

}  // namespace orrery::elastic
