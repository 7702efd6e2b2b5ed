#include "predict/neural/sequence_model.h"

#include <cmath>
#include <gtest/gtest.h>

#include "base/random.h"
#include "env/sim_env.h"
#include "predict/learn/sealed.h"

namespace orrery::predict {
namespace {

using workload::Phase;

const std::map<std::int32_t, std::string> kKinds = {{203, "conv2d"}, {152, "relu"}, {227, "adam"}};

// A synthetic GPU: a convolution runs 100 µs for each step of its size, the rest 10; the gap is 5 µs, and 20 behind the
// last operator of a phase.
LaunchTrace synthetic(int index, int layers) {
  LaunchTrace trace;
  trace.id = std::to_string(index);
  trace.gpu = "synthetic";
  trace.batch = 8 << (index % 4);
  trace.image = 64;
  const auto add = [&](std::int32_t kind, Phase phase) {
    LaunchedOperator op;
    op.kind = kind;
    op.phase = phase;
    op.parameters = {static_cast<std::int32_t>(trace.batch), 64, 3};
    const double device = kind == 203 ? 100.0 * (1 + index % 4) : 10;
    trace.operators.push_back(op);
    trace.times.push_back({device, 5, 0, 0});
  };
  for (int i = 0; i < layers; ++i) {
    add(203, Phase::kForward);
    add(152, Phase::kForward);
  }
  trace.times.back().gap = 20;
  for (int i = 0; i < layers; ++i) {
    add(152, Phase::kBackward);
    add(203, Phase::kBackward);
  }
  trace.times.back().gap = 20;
  for (int i = 0; i < layers; ++i) add(227, Phase::kUpdate);
  for (const LaunchTimes& times : trace.times) trace.iteration += times.device + times.gap;
  return trace;
}

class SequenceModelTest : public ::testing::Test {
 protected:
  SequenceModelTest() {
    for (int i = 0; i < 16; ++i) traces_.push_back(synthetic(i, 3 + i % 5));
    for (const LaunchTrace& trace : traces_) all_.push_back(&trace);
  }

  static SequenceOptions quick(Structure structure = Structure::kBiLstm) {
    SequenceOptions options;
    options.structure = structure;
    options.layers = 1;
    options.hidden = 12;
    options.rows_per_step = 120;
    options.learning_rate = 1e-2;
    options.steps = 60;
    return options;
  }

  std::vector<LaunchTrace> traces_;
  std::vector<const LaunchTrace*> all_;
};

TEST_F(SequenceModelTest, LearnsWhatItSawByHeart) {
  for (const Structure structure : {Structure::kBiLstm, Structure::kGcn}) {
    SequenceOptions options = quick(structure);
    options.steps = 400;
    const SequenceModel model = SequenceModel::fit(all_, kKinds, options).value();
    double error = 0;
    for (const LaunchTrace& trace : traces_) {
      error += std::abs(model.predict(trace).value().iteration / trace.iteration - 1) / 16;
    }
    EXPECT_LT(error, structure == Structure::kGcn ? 0.15 : 0.05) << to_string(structure);
  }
}

TEST_F(SequenceModelTest, PartsAddUpAndTimesOfTheTraceDoNotMatter) {
  const SequenceModel model = SequenceModel::fit(all_, kKinds, quick()).value();
  LaunchTrace trace = synthetic(2, 9);
  const SequencePrediction prediction = model.predict(trace).value();
  ASSERT_EQ(prediction.execution.size(), trace.operators.size());
  double sum = 0, update = 0;
  for (std::size_t i = 0; i < trace.operators.size(); ++i) {
    const double both = prediction.execution[i] + prediction.gap[i];
    sum += both;
    if (trace.operators[i].phase == Phase::kUpdate) update += both;
  }
  EXPECT_NEAR(sum, prediction.iteration, 1e-6 * sum);
  EXPECT_NEAR(update, prediction.phases[2], 1e-6 * sum);
  EXPECT_NEAR(prediction.phases[0] + prediction.phases[1] + prediction.phases[2], sum, 1e-6 * sum);
  trace.times.clear();
  EXPECT_EQ(model.predict(trace).value().iteration, prediction.iteration);
}

TEST_F(SequenceModelTest, SurvivesBeingWritten) {
  for (const Structure structure : {Structure::kBiLstm, Structure::kGcn, Structure::kTransformer}) {
    const SequenceModel model = SequenceModel::fit(all_, kKinds, quick(structure)).value();
    const std::string bytes = to_bytes(model.weights());
    const SequenceModel again = SequenceModel::make(parse_sequence_weights(bytes).value()).value();
    EXPECT_EQ(to_bytes(again.weights()), bytes);
    EXPECT_EQ(again.predict(traces_[3]).value().iteration, model.predict(traces_[3]).value().iteration);
  }
}

TEST_F(SequenceModelTest, RefusesWhatIsCutDamagedForeignOrFromAnotherVersion) {
  const SequenceModel model = SequenceModel::fit(all_, kKinds, quick()).value();
  const std::string bytes = to_bytes(model.weights());
  for (std::size_t cut = 0; cut < bytes.size(); cut += 997) {
    EXPECT_FALSE(parse_sequence_weights(std::string_view(bytes).substr(0, cut)).has_value()) << cut;
  }
  const auto message = [](const std::string& changed) {
    const auto weights = parse_sequence_weights(changed);
    return weights ? std::string("read") : weights.error().to_string();
  };
  std::string damaged = bytes;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  EXPECT_NE(message(damaged).find("damaged"), std::string::npos);
  std::string other = bytes;
  other[14] = 7;
  EXPECT_NE(message(other).find("version 7"), std::string::npos);
  EXPECT_NE(message("orrery-model\n" + bytes).find("not a neural model"), std::string::npos);
  EXPECT_NE(message(bytes + "x").find("cut"), std::string::npos);
  SequenceWeights fewer = model.weights();
  fewer.parameters.pop_back();
  EXPECT_FALSE(SequenceModel::make(fewer).has_value());
  SequenceWeights infinite = model.weights();
  infinite.parameters.front() = INFINITY;
  EXPECT_NE(message(to_bytes(infinite)).find("not finite"), std::string::npos);
  SequenceWeights foreign = model.weights();
  foreign.network.structure = Structure::kMlp;
  foreign.network.widths = {4};
  EXPECT_NE(message(to_bytes(foreign)).find("does not fit"), std::string::npos);
}

// The clock reports the end of the time after 25 of 60 steps; the rest is trained from the checkpoint.
TEST_F(SequenceModelTest, GoesOnWhereItWasInterrupted) {
  const SequenceModel unbroken = SequenceModel::fit(all_, kKinds, quick()).value();
  env::SimEnv sim;
  double now = 0;
  TrainingWatch watch;
  watch.files = &sim.files;
  watch.checkpoint = "t";
  watch.now_s = [&] { return now; };
  watch.progress = [&](std::uint64_t) { now += 1; };
  watch.checkpoint_every_s = 10;
  watch.seconds_max = 25;
  EXPECT_EQ(SequenceModel::fit(all_, kKinds, quick(), watch).value().weights().training.steps, 25U);
  watch.seconds_max = 1000;
  const SequenceModel resumed = SequenceModel::fit(all_, kKinds, quick(), watch).value();
  EXPECT_EQ(resumed.weights().training.steps, 60U);
  EXPECT_EQ(resumed.weights().training.seconds, 60);
  EXPECT_EQ(resumed.weights().parameters, unbroken.weights().parameters);
}

TEST_F(SequenceModelTest, RefusesTheCheckpointOfAnotherTrainingOrADamagedOne) {
  env::SimEnv sim;
  TrainingWatch watch;
  watch.files = &sim.files;
  watch.checkpoint = "t";
  ASSERT_TRUE(SequenceModel::fit(all_, kKinds, quick(), watch).has_value());
  SequenceOptions other = quick();
  other.seed = 2;
  const auto refused = SequenceModel::fit(all_, kKinds, other, watch);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().to_string().find("another training"), std::string::npos);
  ASSERT_TRUE(sim.files.write_atomically("t", "orrery-training\nxx").has_value());
  EXPECT_NE(SequenceModel::fit(all_, kKinds, quick(), watch).error().to_string().find("t: "), std::string::npos);
}

TEST_F(SequenceModelTest, IsTheSameForTheSameSeed) {
  const auto bytes_with = [&](std::uint64_t seed) {
    SequenceOptions options = quick();
    options.seed = seed;
    return to_bytes(SequenceModel::fit(all_, kKinds, options).value().weights());
  };
  EXPECT_EQ(bytes_with(1), bytes_with(1));
  EXPECT_NE(bytes_with(1), bytes_with(2));
}

TEST_F(SequenceModelTest, RefusesOptionsAndTracesItCannotLearnFrom) {
  SequenceOptions wide = quick();
  wide.stride = 13;
  EXPECT_FALSE(SequenceModel::fit(all_, kKinds, wide).has_value());
  EXPECT_FALSE(SequenceModel::fit(all_, kKinds, quick(Structure::kMlp)).has_value());
  for (LaunchTrace& trace : traces_) trace.overlaps = true;
  EXPECT_FALSE(SequenceModel::fit(all_, kKinds, quick()).has_value());
}

TEST(EtsFeatures, AreThoseOfThePublishedCode) {
  EXPECT_EQ(ets_type_of("dropout"), ets_type_of("__iadd__"));
  EXPECT_EQ(ets_type_of("fft"), kEtsTypes - 1);
  const LaunchTrace trace = synthetic(1, 3);
  std::vector<float> features(kEtsFeatures);
  ets_features(trace, 0, ets_types_of(kKinds), SizeForm::kPublished, features);
  EXPECT_EQ(features[ets_type_of("conv2d")], 1);
  EXPECT_EQ(features[26], 1);  // forward
  EXPECT_EQ(features[32], 16);
  EXPECT_EQ(features[33], 64);
  EXPECT_FLOAT_EQ(features[36], std::log(17.0F));
  EXPECT_EQ(features[39], 0);
  ets_features(trace, 0, ets_types_of(kKinds), SizeForm::kLogarithmic, features);
  EXPECT_FLOAT_EQ(features[32], std::log(17.0F));
}

}  // namespace
}  // namespace orrery::predict
