#include "lab/evaluate/kineto_suite.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/statistics.h"
#include "predict/learn/conformal.h"
#include "trace/analysis.h"
#include "trace/chrome_reader.h"

namespace orrery::lab {

namespace {

constexpr std::size_t kStepsMin = 4;
constexpr std::size_t kBefore = 2;  // steps a calibration step needs before it
constexpr double kNanosecondsPerMs = 1e6;

struct StepTimes {
  std::string loader;
  std::vector<double> step_ms, compute_ms;
};

// "resnet50_V100_workers0_a.json.gz" → "workers0".
std::string loader_of(const std::string& name) {
  const std::size_t begin = name.find("workers");
  if (begin == std::string::npos) return "other traces";
  return name.substr(begin, name.find_first_of("_.", begin) - begin);
}

Result<StepTimes> read_steps(const SuiteInput& input, const std::string& folder, const std::string& name) {
  ORRERY_TRY(const auto handle, input.files.open(folder + "/" + name));
  ORRERY_TRY(const trace::EventLog log, trace::read_chrome_trace(*handle));
  const trace::Analysis analysis(log);
  StepTimes times{loader_of(name), {}, {}};
  for (const trace::Iteration& iteration : analysis.iterations().list) {
    const trace::IterationSummary summary = analysis.summary(iteration);
    times.step_ms.push_back(static_cast<double>(summary.host_ns) / kNanosecondsPerMs);
    times.compute_ms.push_back(static_cast<double>(summary.busy_ns) / kNanosecondsPerMs);
  }
  return times;
}

Result<std::vector<StepTimes>> read_folder(const SuiteInput& input, const std::string& folder) {
  auto names = input.files.list(folder);
  if (!names) {
    return std::move(names).error().with_context(
        "the traces (set ORRERY_DATA to the folder that holds data/, or give --test DIR)");
  }
  std::vector<StepTimes> traces;
  for (const std::string& name : *names) {
    if (!name.ends_with(".json.gz") && !name.ends_with(".json")) continue;
    auto times = read_steps(input, folder, name);
    if (!times) return std::move(times).error().with_context(folder + "/" + name);
    if (times->step_ms.size() >= kStepsMin) traces.push_back(std::move(*times));
  }
  if (traces.empty()) return Error::not_found(fmt::format("{}: no trace with {} steps or more", folder, kStepsMin));
  return traces;
}

void add_pairs(const std::vector<double>& times, const std::string& group, std::vector<CalibrationPair>& pairs) {
  for (std::size_t i = kBefore; i + 1 < times.size(); ++i) {
    pairs.push_back({next_step_ms(std::span(times).first(i)), times[i], group});
  }
}

Case last_step(const std::vector<double>& times, const std::string& group, const std::string& loader,
               const Conformal& conformal) {
  const double predicted = next_step_ms(std::span(times).first(times.size() - 1));
  const Interval interval = conformal.interval(predicted, group);
  return {fmt::format("{}, {}", group, loader), times.back(), predicted, interval.low, interval.high, true};
}

}  // namespace

double next_step_ms(std::span<const double> earlier_ms) {
  return median(earlier_ms);
}

Result<SuiteReport> run_kineto_suite(const SuiteInput& input) {
  const double start = input.now_s();
  const std::string folder = input.test.empty() ? training_folder(input, "kineto_traces") : input.test;
  ORRERY_TRY(const std::vector<StepTimes> traces, read_folder(input, folder));
  std::vector<CalibrationPair> pairs;
  for (const StepTimes& times : traces) {
    add_pairs(times.step_ms, "step", pairs);
    add_pairs(times.compute_ms, "compute", pairs);
  }
  ORRERY_TRY(const Conformal conformal, Conformal::fit(pairs, 3));
  std::vector<Case> cases;
  for (const StepTimes& times : traces) {
    cases.push_back(last_step(times.step_ms, "step", times.loader, conformal));
    cases.push_back(last_step(times.compute_ms, "compute", times.loader, conformal));
  }
  std::stable_sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.group < b.group; });
  SuiteReport report{.suite = "kineto", .seed = input.seed};
  report.add(cases, input.now_s() - start);
  report.add_total(input.now_s() - start);
  report.notes = {fmt::format("{} traces; the last step of each from the steps before it.", traces.size())};
  return report;
}

}  // namespace orrery::lab
