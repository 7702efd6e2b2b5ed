#include "elastic/policy/policy.h"

#include <exception>
#include <fmt/format.h>

namespace orrery::elastic {

namespace {

Proposal call(Policy& policy, Moment moment, const Observation& observation) {
  switch (moment) {
    case Moment::kBeforeTrain:
      return policy.before_train(observation);
    case Moment::kBeforeEpoch:
      return policy.before_epoch(observation);
    case Moment::kBeforeStep:
      return policy.before_step(observation);
    case Moment::kAfterStep:
      return policy.after_step(observation);
    case Moment::kAfterEpoch:
      return policy.after_epoch(observation);
    case Moment::kAfterTrain:
      return policy.after_train(observation);
  }
  return {};
}

}  // namespace

std::optional<double> Observation::noise_scale() const {
  if (!gradient_square || !noise || !(*gradient_square > 0) || !(*noise > 0)) return std::nullopt;
  return *noise / *gradient_square;
}

Result<Proposal> ask(Policy& policy, Moment moment, const Observation& observation) {
  try {
    return call(policy, moment, observation);
  } catch (const std::exception& thrown) {
    return Error::invalid(fmt::format("policy {} has thrown: {}", policy.name(), thrown.what()));
  }
}

Agreement PolicySet::ask(Moment moment, const Observation& observation) {
  std::vector<NamedProposal> proposals;
  std::vector<std::string> refused;
  for (auto at = policies_.begin(); at != policies_.end();) {
    Result<Proposal> proposal = elastic::ask(**at, moment, observation);
    if (proposal) {
      proposals.push_back({(*at)->name(), std::move(*proposal)});
      ++at;
    } else {
      refused.push_back(proposal.error().message() + "; it is not asked again");
      at = policies_.erase(at);
    }
  }
  Agreement agreement = merge(proposals, observation.strategies);
  agreement.refused.insert(agreement.refused.begin(), refused.begin(), refused.end());
  return agreement;
}

}  // namespace orrery::elastic
