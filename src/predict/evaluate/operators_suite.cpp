#include "predict/evaluate/operators_suite.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>

#include "predict/learn/ridge.h"
#include "predict/operators/device_ensemble.h"
#include "predict/operators/operator_data.h"

namespace orrery::predict {

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

// Rows of one class from the folder to fit on and the folder to score, as work on devices.
struct ClassData {
  OperatorClass operator_class = OperatorClass::kLinear;
  std::vector<DeviceFacts> devices;
  Features features{{}};
  std::vector<WorkRow> rows;         // weights as for fitting on everything
  std::vector<char> is_random;       // by row
  std::vector<char> is_scored;       // by row
  std::set<std::size_t> fitted;      // devices that have rows to fit
};

class ClassReader {
 public:
  ClassReader(OperatorClass operator_class, const std::vector<ListedDevice>& devices) {
    data_.operator_class = operator_class;
    data_.features = Features(feature_names(operator_class));
    for (const ListedDevice& device : devices) data_.devices.push_back(device.facts);
  }

  Status add(const std::vector<OperatorMeasurement>& measurements, bool to_fit, bool to_score) {
    for (const OperatorMeasurement& measurement : measurements) {
      ORRERY_TRY(const std::size_t device, index_of(measurement.device));
      const PhysicalRow physical = physical_row(data_.operator_class, measurement.shape, data_.devices[device]);
      data_.features.add(physical.features);
      data_.rows.push_back({.device = device,
                            .roof_ms = physical.roof_ms,
                            .measured_ms = measurement.latency_ms,
                            .weight = to_fit ? 1.0 : 0.0,
                            .group = measurement.is_random_sweep ? "random" : "real"});
      data_.is_random.push_back(measurement.is_random_sweep ? 1 : 0);
      data_.is_scored.push_back(to_score ? 1 : 0);
      if (to_fit) data_.fitted.insert(device);
    }
    return {};
  }

  // The sizes of real models are few: on each device they count as much as the random ones.
  ClassData take() && {
    std::map<std::size_t, std::pair<double, double>> counts;
    for (std::size_t i = 0; i < data_.rows.size(); ++i) {
      if (!(data_.rows[i].weight > 0)) continue;
      auto& [random, real] = counts[data_.rows[i].device];
      (data_.is_random[i] != 0 ? random : real) += 1;
    }
    for (std::size_t i = 0; i < data_.rows.size(); ++i) {
      const auto& [random, real] = counts[data_.rows[i].device];
      if (data_.is_random[i] == 0 && random > 0 && data_.rows[i].weight > 0) data_.rows[i].weight = random / real;
    }
    return std::move(data_);
  }

 private:
  Result<std::size_t> index_of(const std::string& name) const {
    for (std::size_t i = 0; i < data_.devices.size(); ++i) {
      if (data_.devices[i].name == name) return i;
    }
    return Error::invalid(fmt::format("devices.csv does not have the device \"{}\"", name));
  }

  ClassData data_;
};

Result<DeviceEnsemble> fit_ensemble(const ClassData& data, bool random_only, const SuiteInput& input) {
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
  static Result<LogLinear> fit(const ClassData& data, std::size_t without) {
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

  double predict(const ClassData& data, std::size_t row) const { return std::exp(ridge_.predict(row_of(data, row))); }

 private:
  inline static const std::vector<std::string> kNames = {"compute", "memory", "peak", "bandwidth"};
  static std::vector<float> row_of(const ClassData& data, std::size_t row) {
    const DeviceFacts& device = data.devices[data.rows[row].device];
    const auto features = data.features.row(row);
    return {features[0], features[1], static_cast<float>(std::log(device.peak)),
            static_cast<float>(std::log(device.bandwidth))};
  }

  Ridge ridge_;
};

void append(std::vector<Case>& to, std::vector<Case> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

class ClassScorer {
 public:
  ClassScorer(const ClassData& data, const SuiteInput& input) : data_(data), input_(input) {
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
    return {};
  }

 private:
  Status score_device(std::size_t device, const DeviceEnsemble& everything, const DeviceEnsemble& random_only,
                      std::vector<Case>& headline, std::vector<Case>& by_device, std::vector<Case>& others,
                      std::vector<Case>& seen) const {
    std::vector<std::size_t> scored;
    for (std::size_t i = 0; i < data_.rows.size(); ++i) {
      if (data_.rows[i].device == device && data_.is_scored[i] != 0) scored.push_back(i);
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
    std::vector<Case> narrow, roofline, linear, random_sizes;
    for (const std::size_t row : scored) {
      const EnsembleAnswer answer = everything.predict(row);
      if (data_.is_random[row] != 0) {
        random_sizes.push_back(make_case(name_ + ", random sizes", row, answer, &conformal));
        continue;
      }
      headline.push_back(make_case(name_, row, answer, &conformal));
      by_device.push_back(make_case(fmt::format("{} on {}", name_, data_.devices[device].name), row, answer, &conformal));
      narrow.push_back(make_case(name_ + ", fitted on random sizes", row, random_only.predict(row), nullptr));
      roofline.push_back(make_case(name_ + ", roofline", row, {everything.floor_ms(row), true}, nullptr));
      linear.push_back(make_case(name_ + ", log-linear", row, {log_linear.predict(data_, row), true}, nullptr));
    }
    for (auto* cases : {&narrow, &random_sizes, &roofline, &linear}) append(others, std::move(*cases));
    return {};
  }

  Case make_case(std::string group, std::size_t row, const EnsembleAnswer& answer, const Conformal* conformal) const {
    const WorkRow& work = data_.rows[row];
    const Interval interval =
        conformal == nullptr ? Interval{kNan, kNan} : conformal->interval(answer.time_ms, work.group);
    return {std::move(group), work.measured_ms, answer.time_ms, interval.low, interval.high, answer.in_domain};
  }

  const ClassData& data_;
  const SuiteInput& input_;
  std::string name_;
};

Result<std::vector<ListedDevice>> read_devices(const SuiteInput& input, const std::string& train) {
  ORRERY_TRY(const std::string csv, read_data(input.files, train, "devices.csv"));
  ORRERY_TRY(std::vector<ListedDevice> devices, parse_devices(csv));
  if (input.test.empty() || !input.files.exists(input.test + "/devices.csv")) return devices;
  ORRERY_TRY(const std::string more, read_data(input.files, input.test, "devices.csv"));
  ORRERY_TRY(const std::vector<ListedDevice> others, parse_devices(more));
  for (const ListedDevice& other : others) {
    const auto same = [&](const ListedDevice& device) { return device.facts.name == other.facts.name; };
    if (std::none_of(devices.begin(), devices.end(), same)) devices.push_back(other);
  }
  return devices;
}

Result<ClassData> read_class(OperatorClass operator_class, const std::vector<ListedDevice>& devices,
                             const SuiteInput& input, const std::string& train) {
  ClassReader reader(operator_class, devices);
  ORRERY_TRY(const std::string csv, read_data(input.files, train, operator_file(operator_class)));
  ORRERY_TRY(const auto measured, parse_operators(csv, operator_class));
  ORRERY_TRY_VOID(reader.add(measured, true, input.test.empty()));
  if (!input.test.empty()) {
    ORRERY_TRY(const std::string test_csv, read_data(input.files, input.test, operator_file(operator_class)));
    ORRERY_TRY(const auto tested, parse_operators(test_csv, operator_class));
    ORRERY_TRY_VOID(reader.add(tested, false, true));
  }
  return std::move(reader).take();
}

std::string domain_note(const SuiteReport& report) {
  std::vector<Case> inside, outside;
  for (const Case& c : report.cases) (c.in_domain ? inside : outside).push_back(c);
  return fmt::format(
      "In domain (every feature inside the range of the rows fitted on other devices): {} cases, mean error {:.1f} %; outside: {} cases, "
      "{:.1f} %.",
      inside.size(), 100 * score_of(inside).mre, outside.size(), 100 * score_of(outside).mre);
}

}  // namespace

Result<SuiteReport> run_operators_suite(const SuiteInput& input) {
  const double start = input.now_s();
  const std::string train = training_folder(input, "neusight");
  SuiteReport report{.suite = "operators", .seed = input.seed};
  ORRERY_TRY(const std::vector<ListedDevice> devices, read_devices(input, train));
  for (const OperatorClass operator_class : kOperatorClasses) {
    if (!input.test.empty() && !input.files.exists(input.test + "/" + operator_file(operator_class))) continue;
    ORRERY_TRY(const ClassData data, read_class(operator_class, devices, input, train));
    ORRERY_TRY_VOID(ClassScorer(data, input).run(report));
  }
  report.add_total(input.now_s() - start);
  for (const Published& published : kPublished) {
    const std::string name(to_string(published.operator_class));
    report.publish(name, published.error, kPublisher);
    report.publish(name + ", fitted on random sizes", published.error, kPublisher);
  }
  report.notes = {domain_note(report),
                  input.test.empty() ? "Each device was left out in turn and predicted from the other devices."
                                     : "Devices of the test folder were predicted from the devices of the training folder.",
                  "\"all\" is over the rows named by a class alone. Published figures were fitted on random sizes only."};
  return report;
}

}  // namespace orrery::predict
