#include "predict/ets/graph_steps.h"

#include <gtest/gtest.h>

#include "workload/zoo/zoo.h"

namespace orrery::predict {
namespace {

using workload::Operator;
using workload::OperatorKind;
using workload::Phase;

const std::map<std::int32_t, std::string> kKinds = {{1, "conv2d"},        {2, "batch_norm"},          {3, "relu"},
                                                    {4, "__iadd__"},      {5, "max_pool2d"},          {6, "linear"},
                                                    {7, "cross_entropy"}, {8, "adaptive_avg_pool2d"}, {9, "add_"}};

std::int32_t kind_of(const Operator& op) {
  switch (op.kind) {
    case OperatorKind::kConv2d:
      return 1;
    case OperatorKind::kBatchNorm:
      return 2;
    case OperatorKind::kRelu:
      return 3;
    case OperatorKind::kAdd:
      return 4;
    case OperatorKind::kMaxPool2d:
      return 5;
    case OperatorKind::kLinear:
      return 6;
    case OperatorKind::kCrossEntropy:
      return 7;
    case OperatorKind::kAdaptiveAvgPool2d:
      return 8;
    default:
      return 0;  // a view: no row
  }
}

WorkClass class_of(std::int32_t kind) {
  return kind == 0 ? WorkClass::kElementwise : work_class_of(kKinds.at(kind));
}

std::vector<std::int32_t> parameters_of(const workload::TrainingGraph& graph, const Operator& op) {
  const auto size = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  const auto& out = op.outputs.front().shape;
  if (const auto* conv = std::get_if<workload::ConvAttributes>(&op.attributes)) {
    const auto& in = graph.type(op.inputs.front()).shape;
    return {size(in[0]),
            size(in[1]),
            size(in[2]),
            size(in[3]),
            size(out[1]),
            size(out[2]),
            size(out[3]),
            size(conv->window.kernel_h),
            size(conv->window.kernel_w),
            0,
            0,
            size(conv->window.stride_h),
            size(conv->window.stride_w),
            1,
            1,
            size(conv->groups),
            4};
  }
  if (op.kind == OperatorKind::kLinear) {
    const auto& in = graph.type(op.inputs.front()).shape;
    std::vector<std::int32_t> parameters(21);
    parameters[0] = parameters[10] = parameters[20] = 4;
    parameters[1] = size(in[0]);
    parameters[2] = size(in[1]);
    parameters[11] = size(out[1]);
    parameters[12] = size(in[1]);
    return parameters;
  }
  return {4, size(out.rank() > 0 ? out[0] : 1), size(out.rank() > 1 ? out[1] : 1)};
}

// A trace of the graph in which operator `i` takes 10 + i microseconds forward and twice that backward, on a device
// that never waits; the linear layer's backward pass has no row: it hides behind the loss's.
LaunchTrace trace_of(const workload::TrainingGraph& graph) {
  LaunchTrace trace;
  const auto add = [&](workload::OperatorIndex at, Phase phase, double device, double gap) {
    LaunchedOperator op;
    op.kind = phase == Phase::kUpdate ? 9 : kind_of(graph[at]);
    op.phase = phase;
    if (phase != Phase::kUpdate) op.parameters = parameters_of(graph, graph[at]);
    trace.operators.push_back(std::move(op));
    trace.times.push_back({.device = device, .gap = gap, .interval = trace.times.empty() ? 0.0 : 0.1, .launch = 0.1});
  };
  trace.first_start = 1000;
  for (const workload::PhaseStep& step : graph.execution_order()) {
    const Operator& op = graph[step.op];
    if (step.phase == Phase::kUpdate) {
      for (const workload::Parameter& parameter : op.parameters) {
        for (int row = 0; row < 3; ++row) {
          add(step.op, Phase::kUpdate, 5, 0);
          trace.operators.back().parameters.push_back(4);
          for (const std::int64_t size : parameter.shape.dims()) {
            trace.operators.back().parameters.push_back(static_cast<std::int32_t>(size));
          }
        }
      }
      continue;
    }
    if (kind_of(op) == 0) continue;
    const double device = 10.0 + step.op.value();
    if (step.phase == Phase::kForward) {
      add(step.op, step.phase, device, 0);
    } else if (op.kind == OperatorKind::kLinear) {
      trace.times.back().gap = 2 * device;
    } else {
      add(step.op, step.phase, 2 * device, 0);
    }
  }
  return trace;
}

workload::TrainingRun run_of(const std::string& model) {
  return {.graph = workload::build_model(model).value().with_batch(2).value()};
}

TEST(GraphSteps, EveryTimeFindsItsStep) {
  workload::TrainingRun run = run_of("resnet18:input=64,classes=10");
  const LaunchTrace trace = trace_of(run.graph);
  const MeasuredSteps steps = graph_steps(LaunchContext(trace, class_of, {}), kKinds, run).value();
  const auto order = run.graph.execution_order();
  ASSERT_EQ(steps.seconds.size(), order.size());
  double sum = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Operator& op = run.graph[order[i].op];
    const double forward = 1e-6 * (10.0 + order[i].op.value());
    double expected = order[i].phase == Phase::kForward ? forward : 2 * forward;
    if (kind_of(op) == 0) expected = 0;
    if (order[i].phase == Phase::kUpdate) expected = 15e-6 * static_cast<double>(op.parameters.size());
    EXPECT_NEAR(steps.seconds[i], expected, 1e-12) << op.name << " " << to_string(order[i].phase);
    sum += expected;
  }
  EXPECT_NEAR(steps.iteration, sum, 1e-9);
}

TEST(GraphSteps, WhatHidesInAWaitStaysUnknown) {
  workload::TrainingRun run = run_of("resnet18:input=64,classes=10");
  LaunchTrace trace = trace_of(run.graph);
  for (LaunchTimes& times : trace.times) times.interval = 1000;  // the device always waits for the host
  const MeasuredSteps steps = graph_steps(LaunchContext(trace, class_of, {}), kKinds, run).value();
  const auto order = run.graph.execution_order();
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i].phase != Phase::kBackward) continue;
    const OperatorKind kind = run.graph[order[i].op].kind;
    if (kind == OperatorKind::kLinear) {
      EXPECT_EQ(steps.seconds[i], 0);
    }
    if (kind == OperatorKind::kConv2d) {
      EXPECT_GT(steps.seconds[i], 0);
    }
  }
}

TEST(GraphSteps, AnotherModelsTraceIsRefused) {
  const LaunchTrace trace = trace_of(run_of("resnet18:input=64,classes=10").graph);
  const auto steps = graph_steps(LaunchContext(trace, class_of, {}), kKinds, run_of("vgg11:input=64,classes=10"));
  ASSERT_FALSE(steps.has_value());
  EXPECT_NE(steps.error().message().find("no operator"), std::string::npos);
}

TEST(GraphSteps, AllTimesOfATraceAreLaidAndNoneIsLost) {
  const workload::TrainingRun run{.graph = workload::build_model("resnet18:input=64").value().with_batch(4).value()};
  LaunchTrace trace = trace_of(run.graph);
  trace.times[3].gap = 40;  // the host was late
  double all = 0;
  for (const LaunchTimes& times : trace.times) all += times.device + times.gap;
  const LaunchContext context(trace, class_of, DevicePeaks{});
  const std::vector<StepTime> steps = all_step_times(context, kKinds, run).value();
  ASSERT_EQ(steps.size(), run.graph.execution_order().size());
  double laid = 0;
  for (const StepTime& step : steps) {
    EXPECT_GE(step.execution, 0);
    EXPECT_GE(step.gap, 0);
    laid += step.execution + step.gap;
  }
  EXPECT_NEAR(laid, all, 1e-6 * all);
  GraphRows rows = graph_rows(run, hardware::DeviceKind::kGpu);
  add_times(rows, steps);
  EXPECT_NEAR(rows.trace.iteration, all, 1e-6 * all);
  double in_rows = 0;
  for (const LaunchTimes& times : rows.trace.times) in_rows += times.device + times.gap;
  EXPECT_NEAR(in_rows, all, 1e-6 * all);
}

TEST(GraphRows, AViewIsARowOnlyOnAProcessor) {
  const workload::TrainingRun run{.graph = workload::build_model("lenet").value().with_batch(4).value()};
  const GraphRows device = graph_rows(run, hardware::DeviceKind::kGpu),
                  host = graph_rows(run, hardware::DeviceKind::kCpu);
  EXPECT_EQ(host.steps.size(), run.graph.execution_order().size());
  EXPECT_LT(device.steps.size(), host.steps.size());
  for (const LaunchedOperator& op : device.trace.operators) {
    EXPECT_GT(op.bytes + op.flops, 0);
    EXPECT_FALSE(op.parameters.empty());
  }
}

}  // namespace
}  // namespace orrery::predict
