// Monitors and policies in the C interface (include/orrery/orrery.h).

#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>

#include "elastic/c/handles.h"
#include "elastic/monitor/noise_scale.h"
#include "elastic/policy/apply.h"
#include "elastic/policy/shipped.h"

using namespace orrery;
using elastic::Moment;
using elastic::Proposal;
using elastic::c::failed;

static_assert(ORRERY_NAME_MAX == elastic::kValueNameMax);
static_assert(ORRERY_AFTER_TRAIN == static_cast<int>(Moment::kAfterTrain));

struct orrery_policy {
  std::unique_ptr<elastic::Policy> policy;
};

namespace {

elastic::NoiseScale noise_of(const orrery_noise& noise) {
  return {{noise.decay, noise.gradient_square_sum, noise.weight}, {noise.decay, noise.noise_sum, noise.weight}};
}

// The text may come from another process, so it may lack its terminating zero.
std::string text_of(const char* text) {
  return {text, strnlen(text, ORRERY_NAME_MAX)};
}

Proposal proposal_of(const orrery_proposal& given) {
  Proposal proposal;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(given.count, ORRERY_SETTINGS_MAX); ++i) {
    proposal.values[text_of(given.settings[i].name)] = given.settings[i].value;
  }
  proposal.strategy = text_of(given.strategy);
  return proposal;
}

// Copies the first values, in the order of their names. Returns whether all of them fit.
bool hand_over(const Proposal& proposal, orrery_proposal* out) {
  *out = {};
  for (const auto& [name, value] : proposal.values) {
    if (out->count == ORRERY_SETTINGS_MAX) return false;
    orrery_setting& setting = out->settings[out->count++];
    name.copy(setting.name, ORRERY_NAME_MAX);
    setting.value = value;
  }
  proposal.strategy.copy(out->strategy, ORRERY_NAME_MAX);
  return true;
}

std::optional<double> if_known(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

elastic::Observation observation_of(const orrery_observation& given) {
  return {.step = given.step,
          .epoch = given.epoch,
          .workers = given.workers,
          .batch = given.batch,
          .first_batch = given.first_batch,
          .learning_rate_scale = given.learning_rate_scale,
          .gradient_square = if_known(given.gradient_square),
          .noise = if_known(given.noise),
          .time = {given.compute_s, given.wait_s, given.transfer_s}};
}

}  // namespace

extern "C" {

orrery_status orrery_noise_add(orrery_noise* noise, const orrery_noise_sample* sample) {
  if (!(noise->decay >= 0 && noise->decay < 1)) return failed(Error::invalid("orrery_noise.decay is not in [0, 1)"));
  elastic::NoiseScale scale = noise_of(*noise);
  const Status added = scale.add({sample->local_square, sample->inverse_batch, sample->mean_square, sample->batch});
  if (!added) return failed(added.error());
  *noise = {noise->decay, scale.noise.weight, scale.gradient_square.sum, scale.noise.sum};
  return ORRERY_OK;
}

double orrery_noise_scale(const orrery_noise* noise) {
  return noise_of(*noise).value().value_or(std::numeric_limits<double>::quiet_NaN());
}

orrery_status orrery_merge(const orrery_proposal* by_rank, size_t ranks, orrery_proposal* agreed) {
  std::vector<elastic::NamedProposal> proposals;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    proposals.push_back({fmt::format("rank {}", rank), proposal_of(by_rank[rank])});
  }
  elastic::Agreement agreement = elastic::merge(proposals);
  if (!hand_over(agreement.agreed, agreed)) agreement.refused.emplace_back("too many values at a time");
  if (agreement.refused.empty()) return ORRERY_OK;
  return failed(Error::invalid(fmt::format("{}", fmt::join(agreement.refused, "\n"))));
}

orrery_status orrery_apply(orrery_worker* worker, const orrery_proposal* agreed) {
  const elastic::NamedProposal named{"proposal", proposal_of(*agreed)};
  const elastic::Agreement agreement = elastic::merge({&named, 1});
  if (!agreement.refused.empty()) return failed(Error::invalid(agreement.refused.front()));
  elastic::apply(agreement.agreed, *worker->worker);
  return ORRERY_OK;
}

orrery_status orrery_policy_make(const char* text, orrery_policy** policy) {
  *policy = nullptr;
  auto made = elastic::make_policy(text);
  if (!made) return failed(made.error());
  *policy = std::make_unique<orrery_policy>(orrery_policy{std::move(*made)}).release();
  return ORRERY_OK;
}

void orrery_policy_free(orrery_policy* policy) {
  const std::unique_ptr<orrery_policy> owned(policy);
}

orrery_status orrery_policy_ask(orrery_policy* policy, orrery_moment moment, const orrery_observation* observation,
                                orrery_proposal* proposal) {
  *proposal = {};
  if (observation->size < sizeof(orrery_observation) || moment < ORRERY_BEFORE_TRAIN || moment > ORRERY_AFTER_TRAIN) {
    return failed(Error::invalid("orrery_observation.size is too small, or there is no such moment"));
  }
  const auto said = elastic::ask(*policy->policy, static_cast<Moment>(moment), observation_of(*observation));
  if (!said) return failed(said.error());
  hand_over(*said, proposal);
  return ORRERY_OK;
}

}  // extern "C"
