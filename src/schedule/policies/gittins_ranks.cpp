#include "schedule/policies/gittins_ranks.h"

namespace orrery::schedule {

Result<GittinsRanks> GittinsRanks::make(std::span<const double> sample_gpu_s, double quantum_gpu_s) {
  GittinsRanks ranks;
  ranks.quantum_gpu_s_ = quantum_gpu_s;
  ranks.learns_ = sample_gpu_s.empty();
  if (ranks.learns_) {
    if (!(quantum_gpu_s > 0)) return Error::invalid("the quantum of a Gittins index must be above 0");
    return ranks;
  }
  ORRERY_TRY(ranks.index_, GittinsIndex::make(sample_gpu_s, quantum_gpu_s));
  return ranks;
}

bool GittinsRanks::add(double service_gpu_s) {
  if (!learns_ || ++passed_over_ < stride_) return false;
  passed_over_ = 0;
  sample_.push_back(service_gpu_s);
  if (sample_.size() % kStep != 0) return false;
  if (sample_.size() == kSampleMax) {
    for (std::size_t i = 0; i < kSampleMax / 2; ++i) sample_[i] = sample_[2 * i + 1];
    sample_.resize(kSampleMax / 2);
    stride_ *= 2;
  }
  compute();
  return true;
}

// From a whole number of steps, so that the ranks follow from the sample alone.
void GittinsRanks::compute() {
  index_.reset();
  const auto known = std::span(sample_).first(sample_.size() / kStep * kStep);
  if (known.empty()) return;
  if (auto index = GittinsIndex::make(known, quantum_gpu_s_)) index_ = std::move(*index);
}

void GittinsRanks::exchange(StateArchive& state) {
  if (!learns_) return;
  state(sample_, stride_, passed_over_);
  state.expect(sample_.size() < kSampleMax, "the sample is too large");
  if (state.is_reading()) compute();
}

}  // namespace orrery::schedule
