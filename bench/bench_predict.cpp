// How long predictions take, against the bars of an interactive tool:
//
//   one answer of the whole program   50 ms   a shell command that feels immediate
//   a graph of 2,000 operators       100 ms   the largest models, inside a program
//   a sweep of 1,000 predictions       1 s    what a planner asks for before it decides
//   a Driple graph of 3,000 nodes    100 ms   cut into 100 groups and read by a network of the published size
//
// Starting a process costs something on every machine: /bin/true, run in turn with orrery, shows how much. Exit code 1
// when a median misses its bar.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "env/clock.h"
#include "env/env.h"
#include "env/processes.h"
#include "hardware/placement.h"
#include "predict/analytic/analytic.h"
#include "predict/driple/grouping.h"
#include "predict/driple/inspector.h"
#include "predict/driple/random_graphs.h"
#include "predict/driple/random_weights.h"
#include "workload/training_run.h"
#include "workload/zoo/zoo.h"

namespace orrery {
namespace {

struct Row {
  std::string what;
  std::vector<Seconds> samples;
  Seconds bar;  // 0: a speed_probe, not judged

  // The smallest sample that a share of `q` of them does not exceed.
  Seconds quantile(double q) const {
    std::vector<Seconds> sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    const double rank = std::ceil(q * static_cast<double>(sorted.size()));
    return sorted[static_cast<std::size_t>(std::max(1.0, rank)) - 1];
  }
  Seconds median() const { return quantile(0.5); }
  bool judged() const { return bar > Seconds(0); }
  bool meets() const { return median() <= bar; }
};

template <class Work>
Result<Seconds> time_of(env::Clock& clock, const Work& work) {
  const Seconds start = clock.monotonic();
  ORRERY_TRY_VOID(work());
  return clock.monotonic() - start;
}

Status run_to_end(env::Env& env, const std::vector<std::string>& argv) {
  ORRERY_TRY(const auto process, env.processes.spawn({.argv = argv, .output = env::Output::kDiscard}));
  ORRERY_TRY(const auto exit, process->wait(Seconds(60)));
  if (exit && exit->ok()) return {};
  return Error::unavailable(fmt::format("{}: {}", argv[0], exit ? env::to_string(*exit) : "still running after 60 s"));
}

// The first run of each is not counted: it fills the page cache.
Result<std::vector<Row>> whole_process(env::Env& env, const std::string& orrery) {
  constexpr int kRuns = 50;
  const std::vector<std::string> predict = {orrery, "predict", "resnet50", "--device", "V100", "--batch", "64"};
  const std::vector<std::string> speed_probe = {"/bin/true"};
  Row ours{"`orrery predict resnet50 --device V100 --batch 64`, whole process", {}, Seconds(0.050)};
  Row theirs{"`/bin/true`, run in turn with it (speed_probe)", {}, Seconds(0)};
  for (int i = 0; i <= kRuns; ++i) {
    ORRERY_TRY(const Seconds predicting, time_of(env.clock, [&] { return run_to_end(env, predict); }));
    ORRERY_TRY(const Seconds nothing, time_of(env.clock, [&] { return run_to_end(env, speed_probe); }));
    if (i == 0) continue;
    ours.samples.push_back(predicting);
    theirs.samples.push_back(nothing);
  }
  return std::vector<Row>{std::move(ours), std::move(theirs)};
}

Status predict_once(const workload::TrainingGraph& single, std::int64_t batch, const hardware::Placement& placement) {
  ORRERY_TRY(workload::TrainingGraph graph, single.with_batch(batch));
  workload::TrainingRun run{std::move(graph)};
  run.parallelism.data = placement.devices;
  const predict::AnalyticPredictor predictor;
  ORRERY_TRY_VOID(predictor.predict(run, placement));
  return {};
}

// Name to answer: build the graph, set the batch, predict.
Result<Row> large_graph(env::Clock& clock) {
  constexpr int kRuns = 50;
  constexpr std::size_t kOperatorsMin = 2000;
  const std::string model = "gpt2:layers=150,hidden=768";
  ORRERY_TRY(const hardware::Placement placement, hardware::make_placement("A100", 1, 1));
  ORRERY_TRY(const workload::TrainingGraph graph, workload::build_model(model));
  const std::size_t operators = graph.operators().size();
  if (operators < kOperatorsMin) {
    return Error::internal(fmt::format("{} has {} operators; expected at least {}", model, operators, kOperatorsMin));
  }
  Row row{fmt::format("`{}`, {} operators: build, set the batch, predict", model, operators), {}, Seconds(0.100)};
  for (int i = 0; i < kRuns; ++i) {
    ORRERY_TRY(const Seconds time, time_of(clock, [&]() -> Status {
                 ORRERY_TRY(const workload::TrainingGraph single, workload::build_model(model));
                 return predict_once(single, 8, placement);
               }));
    row.samples.push_back(time);
  }
  return row;
}

// ResNet-50 on ten devices, ten device counts and ten batches.
Result<Row> sweep(env::Clock& clock) {
  constexpr int kRuns = 5;
  ORRERY_TRY(const workload::TrainingGraph single, workload::build_model("resnet50"));
  std::vector<hardware::Placement> placements;
  for (const char* device : {"K80", "P100", "V100", "T4", "A10", "L4", "A100", "RTX 3090", "H100", "B200"}) {
    for (int count = 1; count <= 512; count *= 2) {
      ORRERY_TRY(placements.emplace_back(), hardware::make_placement(device, count, std::min(count, 8)));
    }
  }
  Row row{"", {}, Seconds(1)};
  for (int i = 0; i < kRuns; ++i) {
    ORRERY_TRY(const Seconds time, time_of(clock, [&]() -> Status {
                 for (const hardware::Placement& placement : placements) {
                   for (std::int64_t batch = 1; batch <= 512; batch *= 2) {
                     ORRERY_TRY_VOID(predict_once(single, batch, placement));
                   }
                 }
                 return {};
               }));
    row.samples.push_back(time);
  }
  row.what = fmt::format("`resnet50`, a sweep of 1,000 predictions: {:.0f} per second", 1000 / row.median().value());
  return row;
}

Result<Row> inspected_graph(env::Clock& clock) {
  constexpr int kRuns = 20;
  constexpr std::size_t kNodes = 3000, kMoreEdges = 2500, kGroups = 100;
  constexpr std::int64_t kHidden = 64, kOutputs = 12;
  const predict::NodeGraph graph = predict::random_graph(kNodes, kMoreEdges, 1);
  ORRERY_TRY(const auto inspector, predict::Inspector::make(predict::random_inspector_weights(kHidden, kOutputs, 1)));
  Row row{fmt::format("a graph of {} nodes: {} fluid communities, inspector", kNodes, kGroups), {}, Seconds(0.100)};
  for (int i = 0; i < kRuns; ++i) {
    ORRERY_TRY(const Seconds time, time_of(clock, [&]() -> Status {
                 ORRERY_TRY(const predict::NodeGraph groups, predict::grouped(graph, kGroups, {}));
                 ORRERY_TRY_VOID(inspector.predict(groups));
                 return {};
               }));
    row.samples.push_back(time);
  }
  return row;
}

std::string in_ms(Seconds time) {
  return fmt::format("{:.2f}", time.value() * 1e3);
}

// One line of cells per row, the first of them the titles.
std::vector<std::vector<std::string>> cells_of(const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> lines = {
      {"what", "runs", "median ms", "p90 ms", "bar ms", "bar / median", "verdict"}};
  for (const Row& row : rows) {
    lines.push_back({row.what, fmt::format("{}", row.samples.size()), in_ms(row.median()), in_ms(row.quantile(0.9)),
                     row.judged() ? fmt::format("{:g}", row.bar.value() * 1e3) : "",
                     row.judged() ? fmt::format("{:.1f}", row.bar / row.median()) : "",
                     !row.judged() ? ""
                     : row.meets() ? "meets"
                                   : "MISSES"});
  }
  return lines;
}

std::string as_markdown(const std::vector<std::vector<std::string>>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += fmt::format("| {} |\n", fmt::join(lines[i], " | "));
    if (i == 0) text += "|---|---:|---:|---:|---:|---:|---|\n";
  }
  return text;
}

std::string as_text(const std::vector<std::vector<std::string>>& lines) {
  std::string text;
  for (const auto& line : lines) {
    std::string what = line[0];
    std::erase(what, '`');
    text += fmt::format("{:<75} {:>5} {:>10} {:>8} {:>7} {:>13}  {}\n", what, line[1], line[2], line[3], line[4],
                        line[5], line[6]);
  }
  return text;
}

Result<std::vector<Row>> measure(env::Env env, const std::string& orrery) {
  ORRERY_TRY(std::vector<Row> rows, whole_process(env, orrery));
  ORRERY_TRY(Row large, large_graph(env.clock));
  ORRERY_TRY(Row swept, sweep(env.clock));
  rows.push_back(std::move(large));
  rows.push_back(std::move(swept));
  ORRERY_TRY(Row inspected, inspected_graph(env.clock));
  rows.push_back(std::move(inspected));
  return rows;
}

int run(const std::vector<std::string>& words) {
  const bool markdown = words.size() == 2 && words[1] == "--markdown";
  if (words.empty() || (words.size() > 1 && !markdown)) {
    std::fputs("usage: bench_predict [--markdown]\n", stderr);
    return 2;
  }
  // Both programs are built into the same folder.
  const std::string folder = words[0].substr(0, words[0].rfind('/') + 1);
  const auto rows = measure(env::make_real_env(), folder + "orrery");
  if (!rows) {
    std::fputs(fmt::format("bench_predict: {}\n", rows.error().to_string()).c_str(), stderr);
    return 2;
  }
  const auto lines = cells_of(*rows);
  std::fputs((markdown ? as_markdown(lines) : as_text(lines)).c_str(), stdout);
  const bool all_meet = std::all_of(rows->begin(), rows->end(), [](const Row& r) { return !r.judged() || r.meets(); });
  return all_meet ? 0 : 1;
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  return orrery::run(std::vector<std::string>(argv, argv + argc));
}
