#include "lab/evaluate/layers_suite.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <optional>

#include "base/parallel.h"
#include "base/statistics.h"
#include "lab/baselines/layer_mlp.h"
#include "lab/evaluate/layer_folder.h"

namespace orrery::lab {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kHostLayers = 20;
constexpr std::uint64_t kLayerMlpSteps = 8000;
constexpr const char* kPublisher = "Justus et al., unseen V100";
constexpr double kPublishedConvolution = 0.396;

// Forward passes with the least work: their time is mostly overhead.
std::vector<std::size_t> host_rows(const DeviceEnsemble& ensemble, std::vector<std::size_t> scored) {
  std::erase_if(scored, [&](std::size_t row) { return ensemble.rows()[row].kind != 0; });
  std::sort(scored.begin(), scored.end(),
            [&](std::size_t a, std::size_t b) { return ensemble.rows()[a].roof_ms < ensemble.rows()[b].roof_ms; });
  scored.resize(std::min(scored.size(), kHostLayers));
  return scored;
}

class LayerScorer {
 public:
  LayerScorer(const LayerData& data, const DeviceEnsemble& ensemble, std::string name)
      : data_(data), ensemble_(ensemble), name_(std::move(name)) {}

  Status score_device(std::size_t device, std::vector<Case>& headline, std::vector<Case>& others) const {
    std::vector<std::size_t> scored;
    for (std::size_t i = 0; i < data_.rows.size(); ++i) {
      if (data_.rows[i].device == device && data_.is_scored[i] != 0) scored.push_back(i);
    }
    if (scored.empty()) return {};
    ORRERY_TRY(const Conformal conformal, ensemble_.calibrate(device));
    const std::string& device_name = data_.devices[device].name;
    for (const std::size_t row : scored) {
      Case scored_case = make_case(row, ensemble_.predict(row), &conformal);
      scored_case.group = name_;
      headline.push_back(scored_case);
      scored_case.group = fmt::format("{} on {}", name_, device_name);
      others.push_back(std::move(scored_case));
      Case physical = make_case(row, {ensemble_.floor_ms(row), true}, nullptr);
      physical.group = name_ + ", physical estimate alone";
      others.push_back(std::move(physical));
    }
    add_host_known(scored, fmt::format("{} on {}, host known", name_, device_name), others);
    return {};
  }

 private:
  // Scales the overhead so that the layers with the least work fit, and leaves those out.
  void add_host_known(const std::vector<std::size_t>& scored, const std::string& group,
                      std::vector<Case>& others) const {
    const std::vector<std::size_t> known = host_rows(ensemble_, scored);
    std::vector<double> ratios;
    for (const std::size_t row : known) ratios.push_back(data_.rows[row].measured_ms / ensemble_.predict(row).time_ms);
    if (ratios.empty()) return;
    const double host = median(ratios);
    for (const std::size_t row : scored) {
      if (std::find(known.begin(), known.end(), row) != known.end()) continue;
      const double floor = ensemble_.floor_ms(row);
      const double overhead = floor - data_.rows[row].roof_ms;
      EnsembleAnswer answer = ensemble_.predict(row);
      answer.time_ms *= (overhead * host + data_.rows[row].roof_ms) / floor;
      Case scored_case = make_case(row, answer, nullptr);
      scored_case.group = group;
      others.push_back(std::move(scored_case));
    }
  }

  Case make_case(std::size_t row, const EnsembleAnswer& answer, const Conformal* conformal) const {
    const WorkRow& work = data_.rows[row];
    const Interval interval =
        conformal == nullptr ? Interval{kNan, kNan} : conformal->interval(answer.time_ms, work.group);
    return {"", work.measured_ms, answer.time_ms, interval.low, interval.high, answer.in_domain};
  }

  const LayerData& data_;
  const DeviceEnsemble& ensemble_;
  std::string name_;
};

// The network of Justus et al., learned from the other devices.
Result<std::vector<Case>> score_layer_mlp(const LayerData& data, std::size_t device, const std::string& name,
                                          std::uint64_t seed) {
  std::vector<std::size_t> learned, scored;
  std::vector<double> times;
  Features asked(data.hyper_parameters.names());
  for (std::size_t i = 0; i < data.rows.size(); ++i) {
    times.push_back(data.rows[i].measured_ms);
    if (data.rows[i].device != device && data.rows[i].weight > 0) learned.push_back(i);
    if (data.rows[i].device != device || data.is_scored[i] == 0) continue;
    scored.push_back(i);
    asked.add(data.hyper_parameters.row(i));
  }
  std::vector<Case> cases;
  if (scored.empty() || learned.empty()) return cases;
  ORRERY_TRY(const MlpRegression network, fit_layer_mlp(data.hyper_parameters, times, learned, kLayerMlpSteps, seed));
  ORRERY_TRY(const std::vector<double> targets, network.predict(asked));
  for (std::size_t i = 0; i < scored.size(); ++i) {
    cases.push_back({.group = name + ", layer MLP (Justus) trained here",
                     .measured = times[scored[i]],
                     .predicted = mlp_time(OperatorMlpForm::kJustus, targets[i]),
                     .low = kNan,
                     .high = kNan});
  }
  return cases;
}

// Of every device, on as many threads as there are.
Status add_layer_mlp(const SuiteInput& input, const LayerData& data, const std::string& name,
                     std::vector<Case>& others) {
  std::vector<std::optional<Result<std::vector<Case>>>> of_device(data.devices.size());
  run_parallel(of_device.size(), input.threads,
               [&](std::size_t device) { of_device[device] = score_layer_mlp(data, device, name, input.seed); });
  for (auto& result : of_device) {
    ORRERY_TRY(const std::vector<Case> cases, std::move(*result));
    others.insert(others.end(), cases.begin(), cases.end());
  }
  return {};
}

Status score_class(const SuiteInput& input, LayerClass layer_class, SuiteReport& report) {
  const double start = input.now_s();
  LayerData data;
  const bool cross = input.test.empty();
  ORRERY_TRY_VOID(read_layers(input, training_folder(input, "justus_layers"), layer_class, true, cross, data));
  if (!cross) ORRERY_TRY_VOID(read_layers(input, input.test, layer_class, false, true, data));
  if (data.rows.empty()) return {};
  EnsembleOptions options;
  options.boost.leaves = 31;
  options.boost.seed = input.seed;
  options.boost.threads = input.threads;
  ORRERY_TRY(const DeviceEnsemble ensemble, DeviceEnsemble::fit(data.devices, data.features, data.rows, options));
  const std::string name = layer_class == LayerClass::kDense ? "dense" : "conv";
  const LayerScorer scorer(data, ensemble, name);
  std::vector<Case> headline, others;
  for (std::size_t device = 0; device < data.devices.size(); ++device) {
    ORRERY_TRY_VOID(scorer.score_device(device, headline, others));
  }
  if (input.baselines) ORRERY_TRY_VOID(add_layer_mlp(input, data, name, others));
  const double seconds = input.now_s() - start;
  report.add(headline, seconds);
  const std::vector<Case> kept = std::move(report.cases);
  report.add(others, seconds);
  report.cases = kept;
  return {};
}

}  // namespace

Result<SuiteReport> run_layers_suite(const SuiteInput& input) {
  const double start = input.now_s();
  SuiteReport report{.suite = "layers", .seed = input.seed};
  for (const LayerClass layer_class : {LayerClass::kConvolution, LayerClass::kDense}) {
    ORRERY_TRY_VOID(score_class(input, layer_class, report));
  }
  if (report.rows.empty()) return Error::not_found("the folder has no conv_DEVICE.csv.gz or dense_DEVICE.csv.gz");
  report.add_total(input.now_s() - start);
  for (ReportRow& row : report.rows) {
    if (!row.group.starts_with("conv") || row.group.ends_with("host known")) continue;
    row.published = kPublishedConvolution;
    row.published_by = kPublisher;
  }
  report.notes = {
      input.test.empty() ? "Each device was left out in turn and predicted from the other devices."
                         : "Devices of the test folder were predicted from the devices of the training folder.",
      "\"host known\": the overhead of the machine was corrected by 20 forward passes with little work on it."};
  return report;
}

}  // namespace orrery::lab
