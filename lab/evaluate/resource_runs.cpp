#include "lab/evaluate/resource_runs.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/random.h"

namespace orrery::lab {

namespace {

constexpr double kTrainShare = 0.6, kValidationShare = 0.2;
constexpr std::size_t kRunsMin = 20;

}  // namespace

Result<OpFrequencies> read_op_frequencies(const SuiteInput& input) {
  ORRERY_TRY(const std::string table, read_data(input.files, input.data + "/driple/official", "node_frequency.csv"));
  return OpFrequencies::parse(table);
}

Status draw_parts(ResourceRuns& runs, std::uint64_t seed) {
  // Without a part to be kept for the test, its share goes to the other two.
  const double whole = runs.kept.empty() ? 1 : kTrainShare + kValidationShare;
  for (const auto& one : runs.known) {
    const double place = whole * Random(seed).split(one->name).uniform();
    Examples& part = place < kTrainShare                      ? runs.train
                     : place < kTrainShare + kValidationShare ? runs.validation
                                                              : runs.test;
    part.push_back(&one->example);
  }
  for (const auto& one : runs.kept) runs.test.push_back(&one->example);
  if (std::min({runs.train.size(), runs.validation.size(), runs.test.size()}) < kRunsMin) {
    return Error::invalid(fmt::format("fewer than {} runs to fit, to choose by or to score", kRunsMin));
  }
  return {};
}

Result<ResourceRuns> read_resource_runs(const SuiteInput& input) {
  ORRERY_TRY(const OpFrequencies frequencies, read_op_frequencies(input));
  ResourceRuns runs;
  ORRERY_TRY(runs.known, read_layer_examples(input.files, training_folder(input, "driple/gpumemnet"), frequencies));
  if (!input.test.empty()) {
    ORRERY_TRY(runs.kept, read_layer_examples(input.files, input.test, frequencies));
  }
  ORRERY_TRY_VOID(draw_parts(runs, input.seed));
  return runs;
}

}  // namespace orrery::lab
