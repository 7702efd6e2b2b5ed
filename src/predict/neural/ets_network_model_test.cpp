#include "predict/neural/ets_network_model.h"

#include <cmath>
#include <gtest/gtest.h>

#include "env/sim_env.h"
#include "workload/zoo/zoo.h"

namespace orrery::predict {
namespace {

workload::TrainingRun run_of(const std::string& model, std::int64_t batch) {
  return {.graph = workload::build_model(model).value().with_batch(batch).value()};
}

// A machine on which every step takes 20 µs and what its bytes need at 10 GB/s, and waits for 5 µs.
EtsLesson lesson_of(const std::string& model, std::int64_t batch) {
  EtsLesson lesson{.key = model + " " + std::to_string(batch), .run = run_of(model, batch)};
  for (const workload::PhaseStep& step : lesson.run.graph.execution_order()) {
    const auto cost = workload::operator_cost(lesson.run.graph, step, lesson.run.cost_options());
    lesson.steps.push_back({20 + cost.bytes().value() / 1e4, 5});
  }
  lesson.rows = graph_rows(lesson.run, hardware::DeviceKind::kCpu);
  add_times(lesson.rows, lesson.steps);
  lesson.rows.trace.id = lesson.key;
  return lesson;
}

const EtsLessons& lessons() {
  static const EtsLessons kLessons = [] {
    EtsLessons all{.machine = {.name = "a machine", .library = "a library"}};
    for (const char* model : {"lenet", "lenet:input=40", "lenet:input=48"}) {
      for (std::int64_t batch = 1; batch <= 10; ++batch) all.lessons.push_back(lesson_of(model, batch));
    }
    return all;
  }();
  return kLessons;
}

SequenceOptions quick(std::uint64_t steps) {
  SequenceOptions options;
  options.layers = 1;
  options.hidden = 16;
  options.rows_per_step = 240;
  options.learning_rate = 1e-2;
  options.schedule = LearningRate::kFalling;
  options.steps = steps;
  return options;
}

hardware::Placement on(std::string_view device) {
  return hardware::make_placement(device, 1, 1).value();
}

TEST(EtsNetworkModel, PredictsWhatIsLikeItsLessonsAndKnowsWhatIsNot) {
  EtsNetworkModel model = fit_ets_network(lessons(), quick(400)).value();
  EXPECT_LT(model.error, 0.1);
  EXPECT_GT(model.left_out, 0U);
  const std::string bytes = to_bytes(model);
  const auto predictor = EtsNetworkPredictor::make(std::move(model)).value();
  const EtsLesson like = lesson_of("lenet:input=44", 6);
  const Prediction known = predictor->predict(like.run, on("CPU")).value();
  EXPECT_NEAR(known.iteration.value.value() / (1e-6 * like.rows.trace.iteration), 1, 0.2);
  EXPECT_TRUE(known.in_domain && known.calibrated);
  EXPECT_GT(known.learned_share, 0.9);
  const Prediction unlike = predictor->predict(run_of("resnet18:input=64", 2), on("CPU")).value();
  EXPECT_FALSE(unlike.in_domain || unlike.calibrated);
  EXPECT_LE(unlike.iteration.low / unlike.iteration.value, kFormulaLow + 1e-9);
  EXPECT_GE(unlike.iteration.high / unlike.iteration.value, kFormulaHigh - 1e-9);
  EXPECT_EQ(predictor->predict(like.run, on("T4")).error().message(),
            "the network was learned on CPU, not on T4; give --device CPU");

  const auto again = EtsNetworkPredictor::make(parse_ets_network(bytes).value()).value();
  EXPECT_EQ(again->predict(like.run, on("CPU"))->iteration.value, known.iteration.value);
  EXPECT_EQ(again->predict(like.run, on("CPU"))->iteration.low, known.iteration.low);
}

TEST(EtsNetworkModel, AFileThatIsCutOrDamagedIsRefused) {
  const std::string bytes = to_bytes(fit_ets_network(lessons(), quick(2)).value());
  for (std::size_t size = 0; size < bytes.size(); size += 97) EXPECT_FALSE(parse_ets_network(bytes.substr(0, size)));
  std::string damaged = bytes;
  damaged[bytes.size() / 2] = static_cast<char>(damaged[bytes.size() / 2] ^ 1);
  EXPECT_FALSE(parse_ets_network(damaged));
}

TEST(EtsNetworkModel, ATrainingThatWasKilledEndsAsIfItWasNot) {
  env::SimEnv sim;
  double now = 0;
  TrainingWatch watch{.now_s = [&] { return now += 1; }, .files = &sim.env().files, .checkpoint = "t.training"};
  watch.seconds_max = 12;
  const EtsNetworkModel cut = fit_ets_network(lessons(), quick(20), watch).value();
  EXPECT_LT(cut.weights.training.steps, 20U);
  watch.seconds_max = std::numeric_limits<double>::infinity();
  const EtsNetworkModel resumed = fit_ets_network(lessons(), quick(20), watch).value();
  const EtsNetworkModel whole = fit_ets_network(lessons(), quick(20)).value();
  EXPECT_EQ(resumed.weights.training.steps, 20U);
  EXPECT_EQ(resumed.weights.parameters, whole.weights.parameters);
  EXPECT_EQ(resumed.error, whole.error);
}

TEST(EtsNetworkModel, FewIterationsAreRefused) {
  EtsLessons few{.machine = {}};
  few.lessons.push_back(lesson_of("lenet", 1));
  EXPECT_EQ(fit_ets_network(few, quick(1)).error().message(), "1 iterations that can be learned from; 20 are needed");
}

}  // namespace
}  // namespace orrery::predict
