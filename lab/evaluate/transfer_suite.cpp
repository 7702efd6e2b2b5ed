#include "lab/evaluate/transfer_suite.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <numeric>

#include "base/random.h"
#include "base/statistics.h"
#include "lab/evaluate/layer_folder.h"
#include "predict/learn/time_regression.h"
#include "predict/regression/least_squares.h"

namespace orrery::lab {

namespace {

constexpr std::size_t kAmounts[] = {20, 100, 400, 1000};
constexpr int kTrees = 300, kTransferTrees = kTrees / 10;
constexpr double kLeastMs = 1e-4;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using Rows = std::vector<std::size_t>;

std::vector<float> size_of(double prior_ms) {
  return {static_cast<float>(std::log(prior_ms))};
}

// A regression of measured times on a prior of each row.
class LayerTimes {
 public:
  static Result<LayerTimes> fit(const LayerData& data, const Rows& rows, const std::vector<double>& priors,
                                const BoostOptions& options) {
    TimeLessons lessons({"log prior"}, data.features.names());
    for (const std::size_t row : rows) {
      lessons.sizes.add(size_of(priors[row]));
      lessons.features.add(data.features.row(row));
      lessons.priors.push_back(priors[row]);
      lessons.times.push_back(data.rows[row].measured_ms);
      lessons.weights.push_back(1);
    }
    LayerTimes times;
    ORRERY_TRY(times.regression_, TimeRegression::fit(lessons, options));
    return times;
  }

  double predict(const LayerData& data, std::size_t row, double prior) const {
    return std::exp(regression_.log_time(prior, size_of(prior), data.features.row(row)));
  }

 private:
  TimeRegression regression_;
};

Rows rows_of(const LayerData& data, std::size_t device) {
  Rows rows;
  for (std::size_t i = 0; i < data.rows.size(); ++i) {
    if (data.rows[i].device == device) rows.push_back(i);
  }
  return rows;
}

// The one most was measured on, of equal ones the last by name.
std::size_t source_of(const LayerData& data) {
  std::vector<std::pair<std::size_t, std::string>> devices;
  for (std::size_t i = 0; i < data.devices.size(); ++i) {
    devices.emplace_back(rows_of(data, i).size(), data.devices[i].name);
  }
  return static_cast<std::size_t>(std::max_element(devices.begin(), devices.end()) - devices.begin());
}

// What one way of learning gave for one amount of rows, over all devices.
struct Outcome {
  std::vector<Case> cases{};
  std::vector<double> fit_s{};
};
using Outcomes = std::map<std::size_t, Outcome>;  // by rows

using Times = std::vector<double>;  // by row

// The sources' times as a device has them that starts and computes at other speeds: Σ α · time + β · roofline + γ, none
// negative, by least squares of relative errors.
Result<Times> adapted(const LayerData& data, const Rows& rows, const std::vector<const Times*>& sources,
                      const Times& roofs) {
  const Times start(roofs.size(), 1.0);
  std::vector<const Times*> terms = sources;
  terms.insert(terms.end(), {&roofs, &start});
  Design design;
  Times times, weights;
  for (const Times* term : terms) {
    Times column;
    for (const std::size_t row : rows) column.push_back((*term)[row]);
    design.add(fmt::format("term {}", design.columns()), std::move(column));
  }
  for (const std::size_t row : rows) {
    times.push_back(data.rows[row].measured_ms);
    weights.push_back(1 / data.rows[row].measured_ms);
  }
  ORRERY_TRY(const LinearFit fit, non_negative_least_squares(design, times, weights));
  Times priors(roofs.size(), 0.0);
  for (std::size_t row = 0; row < priors.size(); ++row) {
    for (std::size_t term = 0; term < terms.size(); ++term) priors[row] += fit.coefficients[term] * (*terms[term])[row];
    priors[row] = std::max(kLeastMs, priors[row]);
  }
  return priors;
}

class LayerTransfer {
 public:
  LayerTransfer(const SuiteInput& input, const LayerData& data, std::string name)
      : input_(input), data_(data), name_(std::move(name)), source_(source_of(data)) {
    for (const WorkRow& row : data_.rows) roofs_.push_back(row.roof_ms);
  }

  Status run() {
    std::vector<Times> taught(data_.devices.size());  // what each device's layers say
    for (std::size_t device = 0; device < taught.size(); ++device) {
      ORRERY_TRY(const LayerTimes own, LayerTimes::fit(data_, rows_of(data_, device), roofs_, boost(kTrees)));
      for (std::size_t i = 0; i < data_.rows.size(); ++i) taught[device].push_back(own.predict(data_, i, roofs_[i]));
    }
    for (std::size_t device = 0; device < data_.devices.size(); ++device) {
      if (device == source_) continue;
      const Rows mixed = shuffled(device);
      std::vector<const Times*> others;
      for (std::size_t other = 0; other < taught.size(); ++other) {
        if (other != device) others.push_back(&taught[other]);
      }
      for (const std::size_t amount : kAmounts) {
        ORRERY_TRY_VOID(learn(mixed, amount, {}, "scratch", scratch));
        ORRERY_TRY_VOID(learn(mixed, amount, {&taught[source_]}, "transfer", transfer));
        ORRERY_TRY_VOID(learn(mixed, amount, others, "transfer from all", transfer_from_all));
      }
    }
    return {};
  }

  std::string source_name() const { return data_.devices[source_].name; }
  const std::string& name() const { return name_; }

  Outcomes scratch, transfer, transfer_from_all;

 private:
  BoostOptions boost(int trees) const { return {.trees = trees, .min_rows = 5, .seed = input_.seed, .threads = 1}; }

  Rows shuffled(std::size_t device) const {
    Rows rows = rows_of(data_, device);
    Random random = Random(input_.seed).split(data_.devices[device].name);
    for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);
    return rows;
  }

  // The rows behind the most that are learned from are scored, so that all amounts are scored on the same.
  Status learn(const Rows& mixed, std::size_t amount, const std::vector<const Times*>& sources, const char* how,
               Outcomes& outcomes) {
    constexpr std::size_t kMost = *std::max_element(std::begin(kAmounts), std::end(kAmounts));
    if (mixed.size() <= kMost) return Error::invalid("a device has too few layers to learn from and to score");
    const Rows known(mixed.begin(), mixed.begin() + static_cast<std::ptrdiff_t>(amount));
    const double begin = input_.now_s();
    Times priors = roofs_;
    if (!sources.empty()) {
      ORRERY_TRY(priors, adapted(data_, known, sources, roofs_));
    }
    ORRERY_TRY(const LayerTimes times,
               LayerTimes::fit(data_, known, priors, boost(sources.empty() ? kTrees : kTransferTrees)));
    Outcome& outcome = outcomes[amount];
    outcome.fit_s.push_back(input_.now_s() - begin);
    for (std::size_t i = kMost; i < mixed.size(); ++i) {
      outcome.cases.push_back({.group = fmt::format("{}, {} rows, {}", name_, amount, how),
                               .measured = data_.rows[mixed[i]].measured_ms,
                               .predicted = times.predict(data_, mixed[i], priors[mixed[i]]),
                               .low = kNan,
                               .high = kNan});
    }
    return {};
  }

  const SuiteInput& input_;
  const LayerData& data_;
  std::string name_;
  std::size_t source_;
  Times roofs_;
};

void add(const Outcomes& outcomes, SuiteReport& report) {
  for (const auto& [amount, outcome] : outcomes) {
    report.add(outcome.cases, std::accumulate(outcome.fit_s.begin(), outcome.fit_s.end(), 0.0));
    report.rows.back().more.emplace_back("fit_ms", 1e3 * median(outcome.fit_s));
  }
}

double error_of(const Outcome& outcome) {
  return score_of(outcome.cases).mre;
}

// With how few rows, and how fast, transfer is no worse than scratch with the most.
std::string claim(const LayerTransfer& run, const std::string& source, const Outcomes& transfer) {
  const auto& [most, scratch] = *run.scratch.rbegin();
  for (const auto& [amount, outcome] : transfer) {
    if (error_of(outcome) > error_of(scratch)) continue;
    return fmt::format(
        "{} from {}: {} rows with transfer are no worse than {} from scratch ({:.1f} %, {:.1f} %): {:.1f} times less "
        "data, {:.1f} times less time",
        run.name(), source, amount, most, 100 * error_of(outcome), 100 * error_of(scratch),
        static_cast<double>(most) / static_cast<double>(amount), median(scratch.fit_s) / median(outcome.fit_s));
  }
  return fmt::format("{} from {}: transfer is worse than {} rows from scratch", run.name(), source, most);
}

}  // namespace

Result<SuiteReport> run_transfer_suite(const SuiteInput& input) {
  SuiteReport report{.suite = "transfer", .seed = input.seed};
  for (const LayerClass layer_class : {LayerClass::kConvolution, LayerClass::kDense}) {
    LayerData data;
    ORRERY_TRY_VOID(read_layers(input, training_folder(input, "justus_layers"), layer_class, true, true, data));
    if (!input.test.empty()) ORRERY_TRY_VOID(read_layers(input, input.test, layer_class, true, true, data));
    if (data.devices.size() < 2) continue;
    LayerTransfer run(input, data, layer_class == LayerClass::kDense ? "dense" : "conv");
    ORRERY_TRY_VOID(run.run());
    add(run.scratch, report);
    add(run.transfer, report);
    add(run.transfer_from_all, report);
    report.notes.push_back(claim(run, run.source_name(), run.transfer));
    report.notes.push_back(claim(run, "all other devices", run.transfer_from_all));
  }
  if (report.rows.empty()) return Error::not_found("the folder has no layers of two devices");
  return report;
}

}  // namespace orrery::lab
