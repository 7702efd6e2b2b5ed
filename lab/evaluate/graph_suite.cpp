#include "lab/evaluate/graph_suite.h"

#include <fmt/format.h>
#include <set>

#include "base/random.h"
#include "lab/evaluate/left_out.h"
#include "predict/measured/counted_times.h"
#include "predict/readers/ets_traces.h"
#include "predict/readers/gpu_iterations.h"

namespace orrery::lab {

namespace {

constexpr double kMillisecond = 1e3;  // per second

using FoldOf = std::function<std::string(const DatasetIteration&)>;

// One GPU's iterations and how to learn from them.
struct Gpu {
  const hardware::Device* device;
  MeasuredSet set;
  StepScale scale;
  BoostOptions boost;
};

Result<Gpu> read_gpu(const SuiteInput& input, const std::string& folder, const std::string& name, SuiteReport& report) {
  const hardware::Device* device = hardware::find_device_or_null(name);
  if (device == nullptr) return Error::invalid(fmt::format("{}: no device of this name is known", name));
  ORRERY_TRY(GpuIterations found, gpu_iterations(input.files, folder, name));
  if (!found.skipped.empty()) {
    report.notes.push_back(fmt::format("{}: {} traces do not fit the zoo's graph, the first {}", name,
                                       found.skipped.size(), found.skipped.front()));
  }
  return Gpu{device, std::move(found.set), scale_of(*device), step_boost_options(input.seed, input.threads)};
}

template <class Keep>
Result<StepModel> fit(const Gpu& gpu, const Keep& keep) {
  std::vector<const MeasuredSteps*> steps;
  for (const DatasetIteration& one : gpu.set.iterations) {
    if (keep(one)) steps.push_back(&one.steps);
  }
  return StepModel::fit(steps, gpu.scale, gpu.boost);
}

LeftOut left_out_of(const Gpu& gpu, const StepModel& model, const DatasetIteration& one, const std::string& group,
                    const std::string& fold = {}) {
  const CountedTimes times = counted_times(model, one.steps.run, *gpu.device);
  LeftOut left_out;
  left_out.one = {.group = group,
                  .measured = one.steps.iteration * kMillisecond,
                  .predicted = sum_like(times, one.steps) * kMillisecond,
                  .in_domain = times.in_domain()};
  left_out.fold = fold;
  return left_out;
}

Result<std::vector<LeftOut>> predict_left_out(const Gpu& gpu, const FoldOf& fold_of, const std::string& group,
                                              const SuiteInput& input) {
  std::set<std::string> folds;
  for (const DatasetIteration& one : gpu.set.iterations) folds.insert(fold_of(one));
  std::vector<LeftOut> left_out;
  for (const std::string& fold : folds) {
    ORRERY_TRY(const StepModel model, fit(gpu, [&](const DatasetIteration& one) { return fold_of(one) != fold; }));
    input.report_fit();
    for (const DatasetIteration& one : gpu.set.iterations) {
      if (fold_of(one) == fold) left_out.push_back(left_out_of(gpu, model, one, group, fold));
    }
  }
  return left_out;
}

Status cross_validate(const Gpu& gpu, const FoldOf& fold_of, const std::string& group, const SuiteInput& input,
                      SuiteReport& report) {
  const double begin = input.now_s();
  ORRERY_TRY(const std::vector<LeftOut> left_out, predict_left_out(gpu, fold_of, group, input));
  ORRERY_TRY(const std::vector<Case> cases, calibrated_cases(left_out));
  report.add(cases, input.now_s() - begin);
  return {};
}

Status score_test(const Gpu& train, const Gpu& test, const FoldOf& fold_of, const std::string& group,
                  const SuiteInput& input, SuiteReport& report) {
  const double begin = input.now_s();
  ORRERY_TRY(const std::vector<LeftOut> left_out, predict_left_out(train, fold_of, group, input));
  ORRERY_TRY(const Conformal conformal, calibrate(left_out));
  ORRERY_TRY(const StepModel model, fit(train, [](const DatasetIteration&) { return true; }));
  std::vector<Case> cases;
  for (const DatasetIteration& one : test.set.iterations) {
    cases.push_back(with_interval(left_out_of(train, model, one, group).one, conformal));
  }
  report.add(cases, input.now_s() - begin);
  return {};
}

}  // namespace

Result<SuiteReport> run_graph_suite(const SuiteInput& input) {
  SuiteReport report{.suite = "ets-graph", .seed = input.seed};
  const std::string folder = training_folder(input, "ets_traces");
  const FoldOf at_random = [&](const DatasetIteration& one) { return random_fold(one.key, input.seed); };
  const FoldOf by_family = [](const DatasetIteration& one) { return one.family; };
  ORRERY_TRY(const std::vector<std::string> names, gpus_of(input.files, folder));
  for (const std::string& name : names) {
    ORRERY_TRY(const Gpu gpu, read_gpu(input, folder, name, report));
    if (!input.test.empty()) {
      ORRERY_TRY(const Gpu test, read_gpu(input, input.test, name, report));
      ORRERY_TRY_VOID(score_test(gpu, test, at_random, name, input, report));
      continue;
    }
    ORRERY_TRY_VOID(cross_validate(gpu, at_random, name + ", configurations", input, report));
    ORRERY_TRY_VOID(cross_validate(gpu, by_family, name + ", families", input, report));
  }
  return report;
}

}  // namespace orrery::lab
