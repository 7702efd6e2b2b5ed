#pragma once
// How jobs of Shockwave's traces change their batch while they train: the larger it is, the fewer steps an epoch has.
//
// static      never
// accordion   the largest batch of the model outside of critical regimes, which are epochs, and its own within
// gns         doubled at epochs that depend on model, first batch and GPUs (gradient noise scale), up to the largest
// A job asks for another batch at the end of a round; it has it from the end of the next round in which it runs on.
// Epochs done and to be done stay, so its steps are counted anew; an epoch that was begun counts as done.
// Source: Zheng et al., "Shockwave" (NSDI 2023); the epochs are those that the authors' scheduler has for its models.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "lab/lab.h"

namespace orrery::lab {

enum class BatchRule : std::uint8_t { kStatic, kAccordion, kNoiseScale };

// "static", "accordion", "gns".
Result<BatchRule> parse_batch_rule(std::string_view name);

// A model with its batch, as traces write it: "ResNet-18 (batch size 32)".
struct BatchedModel {
  std::string model;
  int batch = 0;
};
Result<BatchedModel> parse_batched_model(std::string_view text);
std::string to_string(const BatchedModel& model);

// 0: a model whose data nobody has said the size of; it keeps its batch.
std::int64_t steps_in_epoch(const BatchedModel& model);

// The batch that a job would rather have in this epoch than the one it has (`now`).
int wanted_batch(BatchRule rule, const BatchedModel& first, const BatchedModel& now, int gpus, std::int64_t epoch);

struct StepCount {
  std::int64_t total = 0, done = 0;
};
// The steps of a job that goes on with another batch. Precondition: steps_in_epoch() of both is above 0.
StepCount recounted(const StepCount& steps, const BatchedModel& before, const BatchedModel& after);

}  // namespace orrery::lab
