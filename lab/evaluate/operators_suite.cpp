#include "lab/evaluate/operators_suite.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <tuple>

#include "lab/evaluate/listed_devices.h"
#include "lab/methods/wave_scaling.h"
#include "predict/learn/ridge.h"
#include "predict/readers/operator_folder.h"

namespace orrery::lab {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kPublisher = "NeuSight, unseen GPUs";

struct Published {
  OperatorClass operator_class;
  double error;
};
constexpr Published kPublished[] = {{OperatorClass::kBatchedProduct, 0.138},
                                    {OperatorClass::kLinear, 0.139},
                                    {OperatorClass::kElementwise, 0.193},
                                    {OperatorClass::kSoftmax, 0.139},
                                    {OperatorClass::kLayerNorm, 0.567}};

Result<DeviceEnsemble> fit_ensemble(const OperatorWork& data, bool random_only, const SuiteInput& input) {
  std::vector<WorkRow> rows = data.rows;
  for (std::size_t i = 0; random_only && i < rows.size(); ++i) {
    if (data.is_random[i] == 0) rows[i].weight = 0;
  }
  EnsembleOptions options;
  options.boost.seed = input.seed;
  options.boost.threads = input.threads;
  return DeviceEnsemble::fit(data.devices, data.features, std::move(rows), options);
}

// Log-linear regression on work, bytes and the device's figures, fitted without one device.
class LogLinear {
 public:
  static Result<LogLinear> fit(const OperatorWork& data, std::size_t without) {
    Features features(kNames);
    std::vector<double> targets;
    for (std::size_t i = 0; i < data.rows.size(); ++i) {
      if (!(data.rows[i].weight > 0) || data.rows[i].device == without) continue;
      features.add(row_of(data, i));
      targets.push_back(std::log(data.rows[i].measured_ms));
    }
    LogLinear model;
    ORRERY_TRY(model.ridge_, Ridge::fit(features, targets, {}, {.l2 = 1e-4}));
    return model;
  }

  double predict(const OperatorWork& data, std::size_t row) const {
    return std::exp(ridge_.predict(row_of(data, row)));
  }

 private:
  inline static const std::vector<std::string> kNames = {"compute", "memory", "peak", "bandwidth"};
  static std::vector<float> row_of(const OperatorWork& data, std::size_t row) {
    const DeviceFacts& device = data.devices[data.rows[row].device];
    const auto features = data.features.row(row);
    return {features[0], features[1], static_cast<float>(std::log(device.peak)),
            static_cast<float>(std::log(device.bandwidth))};
  }

  Ridge ridge_;
};

// Times of the same operators on the measured device of the nearest generation, scaled by waves.
class WaveScaling {
 public:
  WaveScaling(const OperatorWork& data, std::size_t target)
      : data_(data), target_(hardware::find_device_or_null(data.devices[target].name)) {
    for (std::size_t i = 0; i < data.rows.size(); ++i) {
      const std::size_t device = data.rows[i].device;
      if (device == target || !(data.rows[i].weight > 0) || !(data.measured[i].blocks > 0)) continue;
      const auto [place, is_new] = donors_.emplace(key_of(i), i);
      if (!is_new && distance(device, target) < distance(data.rows[place->second].device, target)) place->second = i;
    }
  }

  std::optional<double> predict(std::size_t row) const {
    const auto donor = donors_.find(key_of(row));
    if (donor == donors_.end() || target_ == nullptr) return std::nullopt;
    const OperatorMeasurement& known = data_.measured[donor->second];
    const hardware::Device* from = hardware::find_device_or_null(known.device);
    if (from == nullptr) return std::nullopt;
    const double resident = std::clamp(kThreadsPerSm / std::max(known.threads, 1.0), 1.0, kBlocksPerSmMax);
    const auto features = data_.features.row(donor->second);
    const DeviceFacts& facts = data_.devices[data_.rows[donor->second].device];
    const double intensity =
        data_.operator_class == OperatorClass::kBatchedProduct || data_.operator_class == OperatorClass::kLinear
            ? std::exp2(static_cast<double>(features[2])) * facts.usable_peak / facts.bandwidth
            : kElementwiseIntensity;
    return wave_scaled_ms({known.latency_ms, known.blocks, resident, intensity}, *from, *target_);
  }

 private:
  static constexpr double kThreadsPerSm = 2048;
  static constexpr double kBlocksPerSmMax = 16;
  static constexpr double kElementwiseIntensity = 0.1;  // operations per byte

  using Key = std::tuple<std::string, double, double, double, double>;
  Key key_of(std::size_t row) const {
    const OperatorShape& shape = data_.measured[row].shape;
    return {shape.name, shape.b, shape.m, shape.n, shape.k};
  }
  double distance(std::size_t a, std::size_t b) const {
    return std::abs(data_.devices[a].generation - data_.devices[b].generation);
  }

  const OperatorWork& data_;
  const hardware::Device* target_;
  std::map<Key, std::size_t> donors_;
};

void append(std::vector<Case>& to, std::vector<Case> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// Of cases on measured devices.
std::string false_alarms_note(const std::vector<Case>& seen) {
  const auto flagged =
      std::count_if(seen.begin(), seen.end(), [](const Case& c) { return !c.in_domain.value_or(true); });
  return fmt::format("{}: {} of {} flagged as outside the domain.", seen.front().group, flagged, seen.size());
}

class ClassScorer {
 public:
  ClassScorer(const OperatorWork& data, const std::vector<char>& is_scored, const SuiteInput& input)
      : data_(data), is_scored_(is_scored), input_(input) {
    name_ = std::string(to_string(data.operator_class));
  }

  Status run(SuiteReport& report) {
    const double start = input_.now_s();
    ORRERY_TRY(const DeviceEnsemble everything, fit_ensemble(data_, false, input_));
    ORRERY_TRY(const DeviceEnsemble random_only, fit_ensemble(data_, true, input_));
    std::vector<Case> headline, by_device, others, seen;
    for (std::size_t device = 0; device < data_.devices.size(); ++device) {
      ORRERY_TRY_VOID(score_device(device, everything, random_only, headline, by_device, others, seen));
    }
    const double seconds = input_.now_s() - start;
    report.add(headline, seconds);
    const std::vector<Case> kept = std::move(report.cases);
    for (const auto& cases : {others, seen, by_device}) report.add(cases, seconds);
    report.cases = kept;
    if (!seen.empty()) report.notes.push_back(false_alarms_note(seen));
    return {};
  }

 private:
  Status score_device(std::size_t device, const DeviceEnsemble& everything, const DeviceEnsemble& random_only,
                      std::vector<Case>& headline, std::vector<Case>& by_device, std::vector<Case>& others,
                      std::vector<Case>& seen) const {
    std::vector<std::size_t> scored;
    for (std::size_t i = 0; i < data_.rows.size(); ++i) {
      if (data_.rows[i].device == device && is_scored_[i] != 0) scored.push_back(i);
    }
    if (scored.empty()) return {};
    const bool is_seen = !input_.test.empty() && data_.fitted.contains(device);
    if (is_seen) {
      for (const std::size_t row : scored) {
        seen.push_back(make_case(name_ + ", seen devices", row, everything.predict_seen(row), nullptr));
      }
      return {};
    }
    ORRERY_TRY(const Conformal conformal, everything.calibrate(device));
    ORRERY_TRY(const LogLinear log_linear, LogLinear::fit(data_, device));
    const WaveScaling wave_scaling(data_, device);
    const bool only_real =
        std::none_of(scored.begin(), scored.end(), [&](auto row) { return data_.is_random[row] != 0; });
    std::vector<Case> narrow, split, waves, roofline, linear, random_sizes;
    for (const std::size_t row : scored) {
      const EnsembleAnswer answer = everything.predict(row);
      if (data_.is_random[row] != 0) {
        random_sizes.push_back(make_case(name_ + ", random sizes", row, answer, &conformal));
        continue;
      }
      headline.push_back(make_case(name_, row, answer, &conformal));
      by_device.push_back(
          make_case(fmt::format("{} on {}", name_, data_.devices[device].name), row, answer, &conformal));
      narrow.push_back(make_case(name_ + ", fitted on random sizes", row, random_only.predict(row), nullptr));
      if (only_real) split.push_back(make_case(name_ + ", published split", row, random_only.predict(row), nullptr));
      if (const auto scaled = wave_scaling.predict(row)) {
        waves.push_back(make_case(name_ + ", wave scaling", row, {*scaled, true}, nullptr));
      }
      roofline.push_back(make_case(name_ + ", roofline", row, {everything.floor_ms(row), true}, nullptr));
      linear.push_back(make_case(name_ + ", log-linear", row, {log_linear.predict(data_, row), true}, nullptr));
    }
    for (auto* cases : {&split, &narrow, &random_sizes, &waves, &roofline, &linear}) append(others, std::move(*cases));
    return {};
  }

  Case make_case(std::string group, std::size_t row, const EnsembleAnswer& answer, const Conformal* conformal) const {
    const WorkRow& work = data_.rows[row];
    const Interval interval =
        conformal == nullptr ? Interval{kNan, kNan} : conformal->interval(answer.time_ms, work.group);
    return {std::move(group), work.measured_ms, answer.time_ms, interval.low, interval.high, answer.in_domain};
  }

  const OperatorWork& data_;
  const std::vector<char>& is_scored_;
  const SuiteInput& input_;
  std::string name_;
};

// Rows of one class and which of them are scored.
struct ScoredWork {
  OperatorWork work;
  std::vector<char> is_scored;  // by row
};

Result<ScoredWork> read_class(OperatorClass operator_class, const std::vector<ListedDevice>& devices,
                              const SuiteInput& input, const std::string& train) {
  OperatorWorkBuilder builder(operator_class, devices);
  ORRERY_TRY(const auto measured, read_operators(input.files, train, operator_class));
  ORRERY_TRY_VOID(builder.add(measured, true));
  std::vector<char> is_scored(measured.size(), input.test.empty() ? 1 : 0);
  if (!input.test.empty()) {
    ORRERY_TRY(const auto tested, read_operators(input.files, input.test, operator_class));
    ORRERY_TRY_VOID(builder.add(tested, false));
    is_scored.resize(measured.size() + tested.size(), 1);
  }
  return ScoredWork{std::move(builder).take(), std::move(is_scored)};
}

std::string domain_note(const SuiteReport& report) {
  const auto outside = std::count_if(report.cases.begin(), report.cases.end(),
                                     [](const Case& c) { return !c.in_domain.value_or(true); });
  return fmt::format("Flagged as outside the domain: {} of {} cases on devices that were not measured.", outside,
                     report.cases.size());
}

}  // namespace

Result<SuiteReport> run_operators_suite(const SuiteInput& input) {
  const double start = input.now_s();
  const std::string train = training_folder(input, "neusight");
  SuiteReport report{.suite = "operators", .seed = input.seed};
  ORRERY_TRY(const std::vector<ListedDevice> devices, read_listed_devices(input, train));
  for (const OperatorClass operator_class : kOperatorClasses) {
    if (!input.test.empty() && !input.files.exists(input.test + "/" + operator_file(operator_class))) continue;
    ORRERY_TRY(const ScoredWork scored, read_class(operator_class, devices, input, train));
    ORRERY_TRY_VOID(ClassScorer(scored.work, scored.is_scored, input).run(report));
  }
  report.add_total(input.now_s() - start);
  for (const Published& published : kPublished) {
    const std::string name(to_string(published.operator_class));
    for (const char* form : {"", ", fitted on random sizes", ", published split"}) {
      report.publish(name + form, published.error, kPublisher);
    }
  }
  report.notes.push_back(domain_note(report));
  report.notes.emplace_back(input.test.empty()
                                ? "Each device was left out in turn and predicted from the other devices."
                                : "Devices of the test folder were predicted from the devices of the training folder.");
  report.notes.emplace_back(
      "\"all\" is over the rows named by a class alone. Published figures were fitted on random sizes only.");
  return report;
}

}  // namespace orrery::lab
