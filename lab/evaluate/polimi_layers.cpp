#include "lab/evaluate/polimi_layers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "base/csv.h"
#include "base/statistics.h"
#include "base/text.h"
#include "lab/evaluate/left_out.h"
#include "lab/methods/complexity.h"
#include "predict/operators/operator_data.h"
#include "predict/regression/least_squares.h"

namespace orrery::lab {

namespace {

constexpr std::string_view kPrefix = "vgg16_", kSuffix = ".csv";

Result<std::vector<LayerTime>> read_boards(env::Files& files, const std::string& folder) {
  ORRERY_TRY(const std::vector<std::string> names, list_data(files, folder));
  std::vector<LayerTime> all;
  for (const std::string& name : names) {
    if (!is_layer_file(name)) continue;
    ORRERY_TRY(const std::string csv, read_data(files, folder, name));
    auto layers = parse_board_layers(csv, name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size()));
    if (!layers) return std::move(layers).error().with_context(folder + "/" + name);
    all.insert(all.end(), layers->begin(), layers->end());
  }
  return all;
}

// b0 + b1 · operations of the board's layers.
Result<double> flops_only(std::span<const LayerTime> known, const LayerTime& like) {
  std::vector<double> ones, operations, targets;
  for (const LayerTime& time : known) {
    if (time.board != like.board) continue;
    ones.push_back(1 / time.seconds);
    operations.push_back(time.operations / time.seconds);
    targets.push_back(1);
  }
  Design design;
  design.add("one", std::move(ones));
  design.add("operations", std::move(operations));
  ORRERY_TRY(const LinearFit fit, least_squares(design, targets, false));
  return fit.coefficients[0] + fit.coefficients[1] * like.operations;
}

bool is_same(const LayerTime& a, const LayerTime& b) {
  return a.board == b.board && a.layer == b.layer;
}

}  // namespace

bool is_layer_file(std::string_view name) {
  return name.size() > kPrefix.size() + kSuffix.size() && name.starts_with(kPrefix) && name.ends_with(kSuffix);
}

Result<std::vector<LayerTime>> parse_board_layers(std::string_view csv, const std::string& board) {
  ORRERY_TRY(const CsvTable table, parse_csv(csv));
  constexpr std::array kColumns = {"Layer", "Hf", "Wf", "Cin", "Cout", "FLOPS", "Time"};
  struct Readings {
    double operations = 0;
    std::vector<double> seconds{};
  };
  std::map<double, Readings> layers;  // by number
  for (const CsvRow& row : table.rows) {
    std::array<double, kColumns.size()> values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
      ORRERY_TRY(values[i], positive_field(table, row, kColumns[i]));
    }
    LayerShape shape{LayerKind::kConvolution, values[1], values[2], values[3], values[4]};
    shape.positions = values[5] / forward_operations(shape);
    auto valid = validate(shape);
    if (!valid) return std::move(valid).error().with_context(fmt::format("line {}", row.line));
    Readings& readings = layers[values[0]];
    readings.operations = forward_operations(shape);
    readings.seconds.push_back(values[6]);
  }
  std::vector<LayerTime> times;
  for (const auto& [number, readings] : layers) {
    times.push_back({board, fmt::format("{}", number), readings.operations, median(readings.seconds)});
  }
  return times;
}

Result<std::vector<Case>> layer_cases(const SuiteInput& input) {
  ORRERY_TRY(const std::vector<LayerTime> known,
             read_boards(input.files, training_folder(input, "polimi_edge_layers")));
  std::vector<LayerTime> asked = known;
  if (!input.test.empty()) {
    ORRERY_TRY(asked, read_boards(input.files, input.test));
  }
  std::vector<LeftOut> ours, own, flops;
  for (const LayerTime& time : asked) {
    std::vector<LayerTime> others;
    std::copy_if(known.begin(), known.end(), std::back_inserter(others),
                 [&](const LayerTime& other) { return !is_same(other, time); });
    ORRERY_TRY(const LayerTimes model, LayerTimes::fit(others));
    ORRERY_TRY(const double by_all, model.seconds(time));
    ORRERY_TRY(const double by_own, model.seconds_by_rate(time));
    ORRERY_TRY(const double by_flops, flops_only(others, time));
    const auto add = [&](std::vector<LeftOut>& out, const char* how, double predicted_s) {
      out.push_back(left_out_of(fmt::format("layer, {}{}", time.board, how), time.seconds, predicted_s, time.layer));
    };
    add(ours, "", by_all);
    add(own, ", own layers only", by_own);
    add(flops, ", FLOPs only", std::max(by_flops, 1e-9));  // its line may cross 0
  }
  std::vector<Case> cases;
  for (const std::vector<LeftOut>* left_out : {&ours, &own, &flops}) {
    ORRERY_TRY(const std::vector<Case> more, calibrated_cases(*left_out));
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

}  // namespace orrery::lab
