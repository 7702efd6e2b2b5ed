#include "lab/reference/gavel/batch_rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"

namespace orrery::lab {

namespace {

struct ModelFacts {
  std::string_view name;
  std::int64_t samples;  // in an epoch
  int largest;           // batch; 0: it has one only
};
constexpr ModelFacts kModels[] = {
    {"ResNet-18", 50'000, 256}, {"ResNet-50", 100'000, 128},        {"Transformer", 10'000, 0},
    {"LM", 59'675, 80},         {"Recommendation", 117'907, 8'192},
};

// Epochs from which on the batch is 2, 4, 8, 16 times the first one; 0: never.
struct Doublings {
  std::string_view model;
  int batch, gpus;
  std::array<int, 4> epochs;
};
constexpr Doublings kDoublings[] = {
    {"ResNet-18", 16, 1, {31, 41, 51, 71}},
    {"ResNet-18", 32, 1, {21, 31, 51}},
    {"ResNet-18", 64, 1, {11, 31}},
    {"ResNet-18", 128, 1, {11}},
    {"ResNet-18", 16, 2, {21, 31, 91, 111}},
    {"ResNet-18", 32, 2, {11, 21, 41}},
    {"ResNet-18", 64, 2, {21, 41}},
    {"ResNet-18", 128, 2, {41}},
    {"ResNet-18", 16, 4, {11, 21, 81, 91}},
    {"ResNet-18", 32, 4, {21, 31, 61}},
    {"ResNet-18", 64, 4, {11, 61}},
    {"ResNet-18", 128, 4, {11}},
    {"ResNet-50", 64, 1, {101}},
    {"ResNet-50", 32, 2, {101, 111}},
    {"ResNet-50", 64, 2, {81}},
    {"ResNet-50", 32, 4, {131, 221}},
    {"ResNet-50", 64, 4, {191}},
    {"LM", 5, 1, {31, 41, 61, 71}},
    {"LM", 10, 1, {11, 21, 41}},
    {"LM", 20, 1, {11, 41}},
    {"LM", 40, 1, {11}},
    {"LM", 5, 2, {31, 51, 61, 71}},
    {"LM", 10, 2, {11, 31, 41}},
    {"LM", 20, 2, {31, 41}},
    {"LM", 40, 2, {11}},
    {"LM", 5, 4, {11, 31, 71, 91}},
    {"LM", 10, 4, {11, 31, 61}},
    {"LM", 20, 4, {11, 61}},
    {"LM", 40, 4, {61}},
    {"Recommendation", 512, 1, {21, 41, 71, 91}},
    {"Recommendation", 1'024, 1, {21, 51, 91}},
    {"Recommendation", 2'048, 1, {21, 41}},
    {"Recommendation", 4'096, 1, {41}},
};

const ModelFacts* facts_of(std::string_view model) {
  const auto* found =
      std::find_if(std::begin(kModels), std::end(kModels), [&](const ModelFacts& one) { return one.name == model; });
  return found == std::end(kModels) ? nullptr : found;
}

int largest_batch(std::string_view model) {
  const ModelFacts* facts = facts_of(model);
  return facts == nullptr ? 0 : facts->largest;
}

bool is_critical(const BatchedModel& first, std::int64_t epoch) {
  if (first.model == "ResNet-18") {
    const std::int64_t head = first.batch == 256 ? 20 : 10;
    return epoch < head || (epoch >= 150 && epoch < 160) || (epoch >= 250 && epoch < 260);
  }
  if (first.model == "ResNet-50") return epoch % 30 < 10;
  if (first.model == "Recommendation") return epoch < (first.batch <= 1'024 ? 30 : first.batch == 2'048 ? 40 : 10);
  return epoch < 10;
}

int noise_scale_batch(const BatchedModel& first, int gpus, std::int64_t epoch) {
  for (const Doublings& known : kDoublings) {
    if (known.model != first.model || known.batch != first.batch || known.gpus != gpus) continue;
    int batch = first.batch;
    for (const int from : known.epochs) batch *= from > 0 && epoch >= from ? 2 : 1;
    return batch;
  }
  return first.batch;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

Result<BatchRule> parse_batch_rule(std::string_view name) {
  if (name == "static") return BatchRule::kStatic;
  if (name == "accordion") return BatchRule::kAccordion;
  if (name == "gns") return BatchRule::kNoiseScale;
  return Error::invalid(fmt::format("no rule {} for batches: expected static, accordion or gns", quote(name)));
}

Result<BatchedModel> parse_batched_model(std::string_view text) {
  constexpr std::string_view kOpens = " (batch size ";
  const std::size_t at = text.find(kOpens);
  if (at != std::string_view::npos && text.ends_with(")")) {
    const std::string_view digits = text.substr(at + kOpens.size(), text.size() - at - kOpens.size() - 1);
    const auto batch = parse_number(std::string(digits));
    if (batch && *batch >= 1 && *batch <= 1e9)
      return BatchedModel{std::string(text.substr(0, at)), static_cast<int>(*batch)};
  }
  return Error::invalid(fmt::format("{}: expected MODEL (batch size N)", quote(text)));
}

std::string to_string(const BatchedModel& model) {
  return fmt::format("{} (batch size {})", model.model, model.batch);
}

std::int64_t steps_in_epoch(const BatchedModel& model) {
  const ModelFacts* facts = facts_of(model.model);
  return facts == nullptr ? 0 : ceil_div(facts->samples, model.batch);
}

int wanted_batch(BatchRule rule, const BatchedModel& first, const BatchedModel& now, int gpus, std::int64_t epoch) {
  const int largest = largest_batch(first.model);
  if (rule == BatchRule::kStatic || largest == 0 || first.batch >= largest) return now.batch;
  if (rule == BatchRule::kAccordion) {
    return is_critical(first, epoch) ? first.batch : now.batch == first.batch ? largest : now.batch;
  }
  const int scheduled = std::max(noise_scale_batch(first, gpus, epoch), noise_scale_batch(first, gpus, epoch + 1));
  return std::min(scheduled, largest) > now.batch ? 2 * now.batch : now.batch;
}

StepCount recounted(const StepCount& steps, const BatchedModel& before, const BatchedModel& after) {
  const std::int64_t old_epoch = steps_in_epoch(before), new_epoch = steps_in_epoch(after);
  const std::int64_t epochs = ceil_div(steps.total, old_epoch);
  // Rounding must not lose epochs.
  std::int64_t total = ceil_div(steps.total * before.batch, after.batch);
  if (ceil_div(total, new_epoch) != epochs) total = new_epoch * epochs;
  return {total, std::min(total, ceil_div(steps.done, old_epoch) * new_epoch)};
}

}  // namespace orrery::lab
