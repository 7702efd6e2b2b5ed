#include "predict/driple/resource_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "env/sim_env.h"
#include "predict/analytic/analytic.h"
#include "predict/readers/resource_examples.h"
#include "workload/zoo/zoo.h"

namespace orrery::predict {
namespace {

workload::TrainingRun run_of(const std::string& model, std::int64_t batch) {
  return {.graph = workload::build_model(model).value().with_batch(batch).value()};
}

// A metric that grows with the batch and one that does not.
std::string table_text() {
  std::string csv = "model,batch,cpu burst [s],memory\n";
  for (const char* model : {"lenet", "lenet:input=40", "lenet:classes=100"}) {
    for (int batch = 1; batch <= 16; ++batch)
      csv += fmt::format("{},{},{},{}\n", fmt::format("\"{}\"", model), batch, 0.1 * batch, 5);
  }
  return csv;
}

ResourceNetworkOptions quick(std::uint64_t steps) {
  ResourceNetworkOptions options;
  options.steps = steps;
  options.hidden = 8;
  options.warm_up = 5;
  return options;
}

TEST(ResourceModel, PredictsFiguresOfItsKindAndKnowsWhatIsNot) {
  const ResourceSet set = parse_resource_table(table_text(), "t.csv", std::nullopt).value();
  ASSERT_EQ(set.metrics.size(), 2U);
  EXPECT_EQ(set.metrics[0], (MetricLabel{"cpu burst", "s"}));
  EXPECT_EQ(set.metrics[1], (MetricLabel{"memory", ""}));
  ResourceModel model = fit_resources(set, quick(400)).value();
  EXPECT_LT(model.errors[0], 0.35);
  const std::string bytes = to_bytes(model);
  const FittedResources fitted = FittedResources::make(std::move(model)).value();
  const ResourcePrediction known = fitted.predict(run_of("lenet", 8)).value();
  EXPECT_TRUE(known.in_domain);
  for (const PredictedMetric& metric : known.metrics) {
    EXPECT_LE(metric.low, metric.value);
    EXPECT_GE(metric.high, metric.value);
  }
  EXPECT_NEAR(known.metrics[1].value, 5, 2);
  const ResourcePrediction unlike = fitted.predict(run_of("resnet18", 64)).value();
  EXPECT_FALSE(unlike.in_domain);
  EXPECT_FALSE(unlike.notes.empty());
  EXPECT_GE(unlike.metrics[1].high, unlike.metrics[1].value * (kFormulaHigh - 1e-9));

  const FittedResources again = FittedResources::make(parse_resource_model(bytes).value()).value();
  EXPECT_EQ(again.predict(run_of("lenet", 8))->metrics[0].value, known.metrics[0].value);
  for (std::size_t size = 0; size < bytes.size(); size += 101)
    EXPECT_FALSE(parse_resource_model(bytes.substr(0, size)));
}

TEST(ResourceModel, ATrainingThatWasKilledGoesOn) {
  env::SimEnv sim;
  const ResourceSet set = parse_resource_table(table_text(), "t.csv", std::nullopt).value();
  double now = 0;
  TrainingWatch watch{.now_s = [&] { return now += 1; }, .files = &sim.env().files, .checkpoint = "d.training"};
  watch.seconds_max = 12;
  EXPECT_LT(fit_resources(set, quick(12), watch).value().steps, 12U);
  watch.seconds_max = std::numeric_limits<double>::infinity();
  const ResourceModel resumed = fit_resources(set, quick(12), watch).value();
  ASSERT_TRUE(sim.env().files.remove("d.training"));
  EXPECT_EQ(to_bytes(resumed), to_bytes(fit_resources(set, quick(12), watch).value()));
}

TEST(ResourceTable, ErrorsNameTheLine) {
  const auto error = [](std::string_view csv) {
    return parse_resource_table(csv, "t.csv", std::nullopt).error().message();
  };
  EXPECT_EQ(error("model,memory\nlenet,1\n"), "t.csv:1: no column model or no column batch");
  EXPECT_EQ(error("model,batch\nlenet,1\n"), "t.csv:1: no column of a figure beside model, batch and optimizer");
  EXPECT_EQ(error("model,batch,memory\nlenet,0,1\n"), "t.csv:2: expected a batch from 1 on, got \"0\"");
  EXPECT_EQ(error("model,batch,memory\nlenet,1,-1\n"), "t.csv:2: memory: expected a number from 0 on, got \"-1\"");
  EXPECT_NE(error("model,batch,memory\nlenett,1,1\n").find("t.csv:2: "), std::string::npos);
}

// Graphs of a forward pass look like those of runs that are published as lists of layers.
TEST(ResourceGraph, TheForwardFormHasOperatorsAndVariables) {
  const workload::TrainingRun run = run_of("lenet", 4);
  const OpFrequencies frequencies;
  const BuiltGraph forward = resource_graph(run, GraphForm::kForward, frequencies);
  const BuiltGraph training = resource_graph(run, GraphForm::kTraining, frequencies);
  EXPECT_LT(forward.graph.nodes.size(), training.graph.nodes.size());
  std::size_t variables = 0, tensors = 0;
  for (const std::string& op : forward.ops) variables += op == "VariableV2" ? 1 : 0;
  for (const workload::Operator& op : run.graph.operators()) tensors += op.parameters.size();
  EXPECT_EQ(variables, tensors);
}

}  // namespace
}  // namespace orrery::predict
