#include "predict/measured/known_steps.h"

#include <algorithm>
#include <map>

#include "base/statistics.h"
#include "predict/measured/motifs.h"

namespace orrery::predict {

namespace {

constexpr std::size_t kKnownMax = 1'000'000;
constexpr double kOddShare = 0.02;  // of steps that are alike may be measured wrongly, at either end

}  // namespace

void KnownSteps::add_motifs(const workload::TrainingGraph& graph) {
  for (const std::uint64_t motif : motifs_of(graph)) motifs_.insert(motif);
}

// Precondition: not empty.
KnownSteps::Reach KnownSteps::reach_of(const std::vector<Seen>& alike) {
  std::vector<double> priors, multiples;
  for (const Seen& one : alike) {
    priors.push_back(one.prior);
    multiples.push_back(one.multiple);
  }
  const auto [least, most] = std::minmax_element(priors.begin(), priors.end());
  return {*least, *most, quantile(multiples, kOddShare), quantile(multiples, 1 - kOddShare)};
}

void KnownSteps::settle() {
  for (const auto& [likeness, alike] : seen_) known_[likeness] = reach_of(alike);
  seen_.clear();
}

bool KnownSteps::is_known(std::uint64_t likeness, double prior, double seconds) const {
  const auto found = known_.find(likeness);
  if (found == known_.end()) return false;
  const Reach& reach = found->second;
  const double multiple = seconds / prior;
  return prior >= reach.prior_least / kReachFactor && prior <= reach.prior_most * kReachFactor &&
         multiple >= reach.multiple_low / kPhysicalFactor && multiple <= reach.multiple_high * kPhysicalFactor;
}

double KnownSteps::unknown_motifs(const workload::TrainingGraph& graph) const {
  const auto motifs = motifs_of(graph);
  const auto unseen = std::count_if(motifs.begin(), motifs.end(), [&](auto motif) { return !motifs_.contains(motif); });
  return static_cast<double>(unseen) / static_cast<double>(std::max<std::size_t>(1, motifs.size()));
}

void KnownSteps::write(ByteWriter& out) const {
  const std::map<std::uint64_t, Reach> sorted(known_.begin(), known_.end());
  out.u32(static_cast<std::uint32_t>(sorted.size()));
  for (const auto& [likeness, reach] : sorted) {
    out.u64(likeness);
    for (const double bound : {reach.prior_least, reach.prior_most, reach.multiple_low, reach.multiple_high}) {
      out.f64(bound);
    }
  }
  std::vector<std::uint64_t> motifs(motifs_.begin(), motifs_.end());
  std::sort(motifs.begin(), motifs.end());
  out.u32(static_cast<std::uint32_t>(motifs.size()));
  for (const std::uint64_t one : motifs) out.u64(one);
}

Result<KnownSteps> KnownSteps::read(ByteReader& in) {
  KnownSteps steps;
  ORRERY_TRY(const std::size_t known, in.count(5 * sizeof(std::uint64_t), kKnownMax));
  for (std::size_t i = 0; i < known; ++i) {
    ORRERY_TRY(const std::uint64_t likeness, in.u64());
    Reach& reach = steps.known_[likeness];
    for (double* bound : {&reach.prior_least, &reach.prior_most, &reach.multiple_low, &reach.multiple_high}) {
      ORRERY_TRY(*bound, in.f64());
    }
    const bool is_whole = reach.prior_least > 0 && reach.prior_least <= reach.prior_most && reach.multiple_low > 0 &&
                          reach.multiple_low <= reach.multiple_high;
    if (!is_whole) return Error::invalid("known steps whose sizes or times are damaged");
  }
  ORRERY_TRY(const std::size_t motifs, in.count(sizeof(std::uint64_t), kKnownMax));
  for (std::size_t i = 0; i < motifs; ++i) {
    ORRERY_TRY(const std::uint64_t one, in.u64());
    steps.motifs_.insert(one);
  }
  return steps;
}

}  // namespace orrery::predict
