#include "service/explain.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "workload/traits.h"

namespace orrery::service {

using predict::Bound;
using predict::MemoryBreakdown;
using predict::Prediction;

namespace {

struct MemoryPart {
  std::string_view key;
  std::string_view title;
  Bytes MemoryBreakdown::*bytes;
};

constexpr std::array kMemoryParts = {
    MemoryPart{"parameters_bytes", "parameters", &MemoryBreakdown::parameters},
    MemoryPart{"gradients_bytes", "gradients", &MemoryBreakdown::gradients},
    MemoryPart{"optimizer_state_bytes", "optimizer state", &MemoryBreakdown::optimizer_state},
    MemoryPart{"activations_bytes", "activations", &MemoryBreakdown::activations},
    MemoryPart{"temporaries_bytes", "temporaries", &MemoryBreakdown::temporaries},
    MemoryPart{"workspace_bytes", "workspace", &MemoryBreakdown::workspace},
    MemoryPart{"communication_bytes", "communication", &MemoryBreakdown::communication},
    MemoryPart{"framework_bytes", "framework", &MemoryBreakdown::framework},
};

struct OperatorSum {
  workload::OperatorIndex index;
  Seconds time;
  Seconds longest;
  Bound bound = Bound::kNothing;
  std::array<Seconds, 3> by_phase{};
};

double repeats(const Prediction& prediction, const predict::TimelineEntry& entry) {
  return entry.phase == workload::Phase::kUpdate ? 1 : prediction.timeline_repeats;
}

std::vector<OperatorSum> slowest_first(const PredictedRun& run) {
  const auto& [point, prediction] = run;
  workload::ByOperator<OperatorSum> sums(point.run.graph.operators().size());
  for (const auto& entry : prediction.timeline) {
    OperatorSum& sum = sums[entry.op];
    const Seconds time = (entry.duration + entry.waited) * repeats(prediction, entry);
    sum.index = entry.op;
    sum.time += time;
    sum.by_phase[static_cast<std::size_t>(entry.phase)] += time;
    if (time <= sum.longest) continue;
    sum.longest = time;
    sum.bound = entry.bound;
  }
  std::erase_if(sums, [](const OperatorSum& sum) { return sum.time == Seconds(0); });
  std::stable_sort(sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.time > b.time; });
  return sums;
}

Seconds total(const std::map<Bound, Seconds>& bounds) {
  Seconds sum;
  for (const auto& [bound, time] : bounds) sum += time;
  return sum;
}

}  // namespace

std::map<Bound, Seconds> time_by_bound(const Prediction& prediction) {
  std::map<Bound, Seconds> sums;
  for (const auto& entry : prediction.timeline) {
    sums[entry.bound] += entry.duration * repeats(prediction, entry);
    sums[Bound::kLaunch] += entry.waited * repeats(prediction, entry);
  }
  sums[Bound::kNetwork] += prediction.exposed_communication;
  sums.erase(Bound::kNothing);
  std::erase_if(sums, [](const auto& part) { return part.second == Seconds(0); });
  return sums;
}

Bound main_bound(const Prediction& prediction) {
  const auto bounds = time_by_bound(prediction);
  const auto most =
      std::max_element(bounds.begin(), bounds.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bounds.end() ? Bound::kNothing : most->first;
}

Table operator_table(const PredictedRun& run, std::size_t top) {
  Table table({{"operator", "operator"},
               {"kind", "kind"},
               {"output", "output"},
               {"share", "share", CellFormat::kPercent},
               {"forward_s", "forward", CellFormat::kSeconds},
               {"backward_s", "backward", CellFormat::kSeconds},
               {"update_s", "update", CellFormat::kSeconds},
               {"bound", "bound by"}});
  const Seconds whole = total(time_by_bound(run.prediction));
  const auto sums = slowest_first(run);
  for (std::size_t i = 0; i < std::min(top, sums.size()); ++i) {
    const OperatorSum& sum = sums[i];
    const auto& op = run.point.run.graph[sum.index];
    table.add({op.name, std::string(to_string(op.kind)), op.outputs[0].shape.to_string(), sum.time / whole,
               sum.by_phase[0].value(), sum.by_phase[1].value(), sum.by_phase[2].value(),
               std::string(to_string(sum.bound))});
  }
  return table;
}

std::string explanation_text(const PredictedRun& run, std::size_t top) {
  const Prediction& prediction = run.prediction;
  const auto bounds = time_by_bound(prediction);
  std::string text = "\nwhat bounds the time of one device\n";
  for (const auto& [bound, time] : bounds) {
    text += fmt::format("  {:<9}{:>6.1f} %\n", to_string(bound), 100 * (time / total(bounds)));
  }
  text += "\nmemory\n";
  for (const MemoryPart& part : kMemoryParts) {
    const Bytes bytes = prediction.memory_breakdown.*part.bytes;
    if (bytes > Bytes(0)) text += fmt::format("  {:<17}{:>10}\n", part.title, format_bytes(bytes));
  }
  text += "\nslowest operators\n";
  for (const std::string& line : split(operator_table(run, top).to_text(), '\n')) {
    if (!line.empty()) text += "  " + line + "\n";
  }
  return text;
}

std::string explanation_json(const PredictedRun& run, std::size_t top) {
  const Prediction& prediction = run.prediction;
  nlohmann::ordered_json json;
  const auto bounds = time_by_bound(prediction);
  for (const auto& [bound, time] : bounds) json["bound_share"][std::string(to_string(bound))] = time / total(bounds);
  for (const MemoryPart& part : kMemoryParts) {
    json["memory"][std::string(part.key)] = (prediction.memory_breakdown.*part.bytes).value();
  }
  json["operators"] = nlohmann::ordered_json::parse(operator_table(run, top).to_json());
  json["notes"] = prediction.notes;
  return json.dump();
}

}  // namespace orrery::service
