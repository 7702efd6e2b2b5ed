#include "lab/evaluate/llm_suite.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "base/csv.h"
#include "base/statistics.h"
#include "base/text.h"
#include "lab/evaluate/listed_devices.h"
#include "lab/methods/operator_graph.h"
#include "predict/operators/operator_model.h"
#include "predict/readers/operator_folder.h"

namespace orrery::lab {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kFloatBytes = 4;
constexpr double kMemoryShare = 0.85;  // of the bandwidth that copies reach
constexpr double kLinkShare = 0.75;    // of a link's bandwidth that collectives reach
constexpr double kSlowLink = 12e9;     // bytes per second between devices whose link is not known
constexpr std::size_t kCalibrationMin = 8;
constexpr std::string_view kOtherMakers = "other makers";

struct Baseline {
  std::string_view column, name;
};
constexpr Baseline kBaselines[] = {{"pub_neusight_ms", "NeuSight"},
                                   {"pub_roofline_ms", "roofline"},
                                   {"pub_habitat_ms", "Habitat"},
                                   {"pub_li_ms", "Li et al."}};

// How an iteration is spread over devices: "dp4", "tp4", "pp4_2".
struct Spread {
  std::string kind;
  double devices = 1;
  double micro_batches = 1;
};

struct MeasuredIteration {
  std::string group;  // "training", "inference", "distributed training", "fused inference", "other makers"
  std::string device_name;
  std::size_t device = 0;
  Spread spread;
  double measured_ms = 0;
  std::array<double, std::size(kBaselines)> baselines{};  // NaN: none
  std::vector<GraphOperator> graph;
};

Spread parse_spread(std::string_view option) {
  Spread spread;
  if (option.size() < 3) return spread;
  spread.kind = std::string(option.substr(0, 2));
  const std::size_t underscore = option.find('_');
  spread.devices =
      parse_number(option.substr(2, underscore == std::string_view::npos ? underscore : underscore - 2)).value_or(1);
  if (underscore != std::string_view::npos) {
    spread.micro_batches = parse_number(option.substr(underscore + 1)).value_or(1);
  }
  return spread;
}

std::optional<OperatorClass> class_of(std::string_view name) {
  if (name == "Linear") return OperatorClass::kLinear;
  if (name == "BMM") return OperatorClass::kBatchedProduct;
  if (name == "VECsoftmax") return OperatorClass::kSoftmax;
  if (name == "VECln") return OperatorClass::kLayerNorm;
  if (name.starts_with("VEC")) return OperatorClass::kElementwise;
  return std::nullopt;
}

Result<OperatorShape> shape_of(const GraphOperator& op, OperatorClass operator_class) {
  const std::size_t sizes = operator_class == OperatorClass::kLinear           ? 3
                            : operator_class == OperatorClass::kBatchedProduct ? 4
                                                                               : 2;
  if (op.shapes.size() != 1 || op.shapes[0].size() != sizes) {
    return Error::invalid(fmt::format("{} needs {} sizes", op.name, sizes));
  }
  const std::vector<double>& s = op.shapes[0];
  if (std::any_of(s.begin(), s.end(), [](double size) { return !(size > 0); })) {
    return Error::invalid(fmt::format("a size of {} is 0", op.name));
  }
  if (sizes == 3) return OperatorShape{"linear", 1, s[0], s[1], s[2]};
  if (sizes == 4) return OperatorShape{"bmm", s[0], s[1], s[2], s[3]};
  return OperatorShape{op.name.substr(3), s[0], s[1], 1, 1};
}

double elements(const GraphOperator& op) {
  double sum = 0;
  for (const auto& shape : op.shapes) {
    double product = 1;
    for (const double size : shape) product *= size;
    sum += product;
  }
  return sum;
}

using OperatorKey = std::tuple<std::size_t, std::string, double, double, double, double>;

OperatorKey key_of(std::size_t device, const OperatorShape& shape) {
  return {device, shape.name, shape.b, shape.m, shape.n, shape.k};
}

// Predicted operators of every iteration, each class fitted once.
class IterationModel {
 public:
  static Result<IterationModel> fit(const std::vector<MeasuredIteration>& iterations,
                                    const std::vector<ListedDevice>& devices, const SuiteInput& input,
                                    const std::string& train) {
    IterationModel model;
    for (const ListedDevice& device : devices) model.devices_.push_back(device.facts);
    for (const OperatorClass operator_class : kOperatorClasses) {
      OperatorWorkBuilder builder(operator_class, devices);
      ORRERY_TRY(const auto measured, read_operators(input.files, train, operator_class));
      ORRERY_TRY_VOID(builder.add(measured, true));
      auto& rows = model.rows_[operator_class];
      for (const MeasuredIteration& iteration : iterations) {
        for (const GraphOperator& op : iteration.graph) {
          if (class_of(op.name) != operator_class) continue;
          ORRERY_TRY(const OperatorShape shape, shape_of(op, operator_class));
          const auto [place, is_new] = rows.emplace(key_of(iteration.device, shape), 0);
          if (is_new) place->second = builder.ask(iteration.device, shape);
        }
      }
      OperatorWork work = std::move(builder).take();
      const EnsembleOptions options = operator_options(input.seed, input.threads);
      ORRERY_TRY(DeviceEnsemble ensemble,
                 DeviceEnsemble::fit(work.devices, work.features, std::move(work.rows), options));
      model.ensembles_.emplace(operator_class, std::move(ensemble));
    }
    return model;
  }

  // Without the iteration's own device and without the excluded ones.
  double time_ms(const MeasuredIteration& iteration, std::span<const std::size_t> excluded) const {
    double forward = 0, backward = 0, blocking = 0, hidden = 0;
    for (const GraphOperator& op : iteration.graph) {
      if (op.name == "ALLREDUCE") {
        blocking += op.repeats * all_reduce_ms(iteration, op);
      } else if (op.name == "ALLREDUCE_ASYNC") {
        hidden += op.repeats * all_reduce_ms(iteration, op);
      } else if (op.name == "SENDRECV") {
        blocking += (iteration.spread.devices - 1) * kFloatBytes * elements(op) / link(iteration) * 1e3;
      } else {
        const double time = op.repeats * operator_ms(iteration.device, op, excluded);
        (op.phase == GraphPhase::kForward ? forward : backward) += time;
      }
    }
    const double once = forward + backward + blocking + std::max(0.0, hidden - backward);
    if (iteration.spread.kind != "pp") return once;
    return once * (iteration.spread.micro_batches + iteration.spread.devices - 1) / iteration.spread.devices;
  }

 private:
  double operator_ms(std::size_t device, const GraphOperator& op, std::span<const std::size_t> excluded) const {
    const auto operator_class = class_of(op.name);
    if (!operator_class) return kFloatBytes * elements(op) / (kMemoryShare * devices_[device].bandwidth) * 1e3;
    const auto shape = shape_of(op, *operator_class);
    ORRERY_CHECK(shape.has_value());
    const std::size_t row = rows_.at(*operator_class).at(key_of(device, *shape));
    return ensembles_.at(*operator_class).predict(row, excluded).time_ms;
  }

  double link(const MeasuredIteration& iteration) const {
    const hardware::Device* device = hardware::find_device_or_null(devices_[iteration.device].name);
    const double rate = device == nullptr ? 0 : device->link_bandwidth.value();
    return kLinkShare * (rate > 0 ? rate : kSlowLink);
  }

  // A ring: every device sends 2 (n − 1) / n of the bytes.
  double all_reduce_ms(const MeasuredIteration& iteration, const GraphOperator& op) const {
    const double n = iteration.spread.devices;
    return 2 * (n - 1) / n * kFloatBytes * elements(op) / link(iteration) * 1e3;
  }

  std::vector<DeviceFacts> devices_;
  std::map<OperatorClass, std::map<OperatorKey, std::size_t>> rows_;
  std::map<OperatorClass, DeviceEnsemble> ensembles_;
};

// Where a file is: in the test folder if it has it, else in the training folder.
std::string folder_with(const SuiteInput& input, const std::string& train, const std::string& name) {
  return !input.test.empty() && input.files.exists(input.test + "/" + name) ? input.test : train;
}

// How often the layer of each model repeats, by the model's name.
Result<std::map<std::string, double>> read_layer_counts(const SuiteInput& input, const std::string& folder) {
  ORRERY_TRY(const std::string csv, read_data(input.files, folder, "num_layers.csv"));
  ORRERY_TRY(const CsvTable table, parse_csv(csv));
  ORRERY_TRY(const std::size_t workload, table.column("workload"));
  ORRERY_TRY(const std::size_t layers, table.column("num_layer"));
  std::map<std::string, double> counts;
  for (const CsvRow& row : table.rows) {
    const std::string model = split(row.fields[workload], '-')[0];
    const double count = parse_number(row.fields[layers]).value_or(0);
    counts[model] = std::max(counts[model], count);
  }
  return counts;
}

std::string group_of(const std::string& mode, const std::string& option, const DeviceFacts& device) {
  if (option == "fusion") return "fused inference";
  if (!option.empty()) return "distributed training";
  if (std::isnan(device.generation)) return std::string(kOtherMakers);
  return mode == "train" ? "training" : "inference";
}

class IterationReader {
 public:
  IterationReader(const SuiteInput& input, std::string train, const std::vector<ListedDevice>& devices)
      : input_(input), train_(std::move(train)), devices_(devices) {}

  Status read() {
    ORRERY_TRY(layers_, read_layer_counts(input_, folder_with(input_, train_, "num_layers.csv")));
    ORRERY_TRY(const std::string csv, read_data(input_.files, folder_with(input_, train_, "e2e.csv"), "e2e.csv"));
    ORRERY_TRY(const CsvTable table, parse_csv(csv));
    for (const CsvRow& row : table.rows) {
      Status status = add(table, row);
      if (!status) return std::move(status).error().with_context(fmt::format("e2e.csv: line {}", row.line));
    }
    return {};
  }

  std::vector<MeasuredIteration> iterations{};
  std::size_t left_out = 0;  // no graph, or a device that devices.csv does not have

 private:
  Status add(const CsvTable& table, const CsvRow& row) {
    std::map<std::string, std::string> field;
    for (const char* column : {"model_name", "seqlen", "batch", "device", "mode", "option"}) {
      ORRERY_TRY(const std::size_t place, table.column(column));
      field[column] = row.fields[place];
    }
    const auto found = std::find_if(devices_.begin(), devices_.end(), [&](const ListedDevice& device) {
      return std::find(device.files.begin(), device.files.end(), field["device"]) != device.files.end();
    });
    if (found == devices_.end()) {
      ++left_out;
      return {};
    }
    const std::string name =
        fmt::format("opgraph/{}-{}-{}-{}{}{}.csv.gz", field["model_name"], field["mode"], field["seqlen"],
                    field["batch"], field["option"].empty() ? "" : "-", field["option"]);
    const std::string folder = folder_with(input_, train_, name);
    if (!input_.files.exists(folder + "/" + name)) {
      ++left_out;
      return {};
    }
    MeasuredIteration iteration;
    iteration.group = group_of(field["mode"], field["option"], found->facts);
    iteration.device = static_cast<std::size_t>(found - devices_.begin());
    iteration.device_name = found->facts.name;
    iteration.spread = parse_spread(field["option"] == "fusion" ? "" : field["option"]);
    ORRERY_TRY(iteration.measured_ms, positive_field(table, row, "measured_e2e_ms"));
    for (std::size_t i = 0; i < std::size(kBaselines); ++i) {
      iteration.baselines[i] = positive_field(table, row, kBaselines[i].column).value_or(kNan);
    }
    ORRERY_TRY(const std::string graph, read_data(input_.files, folder, name));
    ORRERY_TRY(iteration.graph, parse_operator_graph(graph, std::max(1.0, layers_[field["model_name"]])));
    iterations.push_back(std::move(iteration));
    return {};
  }

  const SuiteInput& input_;
  std::string train_;
  const std::vector<ListedDevice>& devices_;
  std::map<std::string, double> layers_;
};

// Makers no operator was measured of differ in more than their figures: iterations on their other devices tell by how
// much. 1 for a device whose maker is known, or without such iterations.
double maker_factor(const IterationModel& model, const std::vector<MeasuredIteration>& iterations,
                    const MeasuredIteration& target, std::span<const std::size_t> excluded) {
  if (target.group != kOtherMakers) return 1;
  std::vector<double> ratios;
  for (const MeasuredIteration& iteration : iterations) {
    const bool is_out = std::find(excluded.begin(), excluded.end(), iteration.device) != excluded.end();
    if (iteration.group != kOtherMakers || iteration.device == target.device || is_out) continue;
    ratios.push_back(iteration.measured_ms / model.time_ms(iteration, excluded));
  }
  return ratios.empty() ? 1 : median(ratios);
}

// What iterations on other devices were off by, predicted without the device the interval is for.
std::optional<Conformal> calibrate(const IterationModel& model, const std::vector<MeasuredIteration>& iterations,
                                   std::size_t device) {
  std::vector<CalibrationPair> pairs;
  const std::size_t excluded[] = {device};
  for (const MeasuredIteration& iteration : iterations) {
    if (iteration.device == device) continue;
    const double factor = maker_factor(model, iterations, iteration, excluded);
    pairs.push_back({factor * model.time_ms(iteration, excluded), iteration.measured_ms, iteration.group,
                     std::to_string(iteration.device)});
  }
  auto conformal = Conformal::fit(pairs, kCalibrationMin);
  if (!conformal) return std::nullopt;
  return std::move(*conformal);
}

// Iterations to calibrate with: those scored, and with a test folder those of the training folder.
Result<std::vector<MeasuredIteration>> training_iterations(const SuiteInput& input, const std::string& train,
                                                           const std::vector<ListedDevice>& devices) {
  SuiteInput own = input;
  own.test.clear();
  IterationReader reader(own, train, devices);
  if (!input.files.exists(train + "/e2e.csv")) return std::move(reader.iterations);
  ORRERY_TRY_VOID(reader.read());
  return std::move(reader.iterations);
}

void add_cases(const MeasuredIteration& iteration, double predicted, const std::optional<Conformal>& conformal,
               std::vector<Case>& ours, std::vector<Case>& by_device, std::vector<Case>& baselines) {
  const Interval interval = conformal ? conformal->interval(predicted, iteration.group) : Interval{kNan, kNan};
  ours.push_back({iteration.group, iteration.measured_ms, predicted, interval.low, interval.high, true});
  by_device.push_back({fmt::format("{} on {}", iteration.group, iteration.device_name), iteration.measured_ms,
                       predicted, interval.low, interval.high, true});
  for (std::size_t i = 0; i < std::size(kBaselines); ++i) {
    if (std::isnan(iteration.baselines[i])) continue;
    baselines.push_back({fmt::format("{}, published {}", iteration.group, kBaselines[i].name), iteration.measured_ms,
                         iteration.baselines[i], kNan, kNan, true});
  }
}

// The figures of NeuSight on the same cases beside ours.
void publish_baseline(SuiteReport& report) {
  std::vector<std::pair<std::string, double>> published;
  for (const ReportRow& row : report.rows) {
    constexpr std::string_view kMark = ", published NeuSight";
    if (row.group.ends_with(kMark)) {
      published.push_back({row.group.substr(0, row.group.size() - kMark.size()), row.score.mre});
    }
  }
  for (const auto& [group, error] : published) report.publish(group, error, "NeuSight, same cases");
}

}  // namespace

Result<SuiteReport> run_llm_suite(const SuiteInput& input) {
  const double start = input.now_s();
  const std::string train = training_folder(input, "neusight");
  ORRERY_TRY(const std::vector<ListedDevice> devices, read_listed_devices(input, train));
  IterationReader reader(input, train, devices);
  ORRERY_TRY_VOID(reader.read());
  const std::size_t scored = reader.iterations.size();
  if (scored == 0) return Error::invalid("no iteration of e2e.csv has a graph in opgraph/");
  std::vector<MeasuredIteration> iterations = reader.iterations;
  ORRERY_TRY(const std::vector<MeasuredIteration> calibration, training_iterations(input, train, devices));
  if (!input.test.empty()) iterations.insert(iterations.end(), calibration.begin(), calibration.end());
  ORRERY_TRY(const IterationModel model, IterationModel::fit(iterations, devices, input, train));

  std::vector<Case> ours, by_device, baselines;
  std::map<std::size_t, std::optional<Conformal>> conformal;
  for (std::size_t i = 0; i < scored; ++i) {
    const std::size_t device = iterations[i].device;
    if (!conformal.contains(device)) conformal[device] = calibrate(model, calibration, device);
    const double factor = maker_factor(model, calibration, iterations[i], {});
    add_cases(iterations[i], factor * model.time_ms(iterations[i], {}), conformal[device], ours, by_device, baselines);
  }
  const auto by_group = [](const Case& a, const Case& b) { return a.group < b.group; };
  for (auto* cases : {&ours, &by_device, &baselines}) std::stable_sort(cases->begin(), cases->end(), by_group);
  const double seconds = input.now_s() - start;
  SuiteReport report{.suite = "llm", .seed = input.seed};
  report.add(ours, seconds);
  report.add_total(seconds);
  const std::vector<Case> kept = report.cases;
  report.add(by_device, seconds);
  report.add(baselines, seconds);
  report.cases = kept;
  publish_baseline(report);
  report.notes = {
      "No operator of an iteration's own device was fitted for it. NeuSight was fitted on P4, P100, V100, T4 and "
      "A100-PCIE-40GB, so its figures on those are not of unseen devices.",
      fmt::format("{} iterations without a graph or known device are left out.", reader.left_out)};
  return report;
}

}  // namespace orrery::lab
