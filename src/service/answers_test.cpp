// A request gives the same answer whichever door it came through: the words of a command line, or JSON.

#include <gtest/gtest.h>

#include "base/text.h"
#include "base/yaml_options.h"
#include "env/sim_env.h"
#include "service/choose.h"
#include "service/memory.h"
#include "service/prediction_table.h"
#include "service/simulate.h"
#include "service/simulate_estimate.h"
#include "service/simulate_whatif.h"
#include "service/whatif.h"

namespace orrery::service {
namespace {

class Answers : public ::testing::Test {
 protected:
  void write(const std::string& path, std::string_view text) {
    ASSERT_TRUE(sim_.files.write_atomically(path, text).has_value());
  }
  // Two GPUs; the second job waits for the first, the third would fit beside it.
  void write_trace() { write("jobs.csv", "id,submit_s,duration_s,gpus\na,0,10,1\nb,1,5,2\nc,2,3,1\n"); }

  // `answer_text` asks for the answer of a request and makes text of it.
  template <class Request, class AnswerText>
  void expect_same(const Fields<Request>& fields, const std::string& words, const std::string& json,
                   AnswerText answer_text) {
    const std::vector<OptionRecord> records = fields.records();
    const auto from_words = read_words(records, split(words, ' '));
    const auto from_json = read_json(records, json);
    ASSERT_TRUE(from_words) << from_words.error().to_string();
    ASSERT_TRUE(from_json) << from_json.error().to_string();
    const Result<std::string> one = answer_text(*fields.read(*from_words));
    const Result<std::string> other = answer_text(*fields.read(*from_json));
    ASSERT_TRUE(one) << one.error().to_string();
    ASSERT_TRUE(other) << other.error().to_string();
    EXPECT_FALSE(one->empty());
    EXPECT_EQ(*one, *other);
  }

  template <class Request>
  Result<Request> of_words(const Fields<Request>& fields, const std::string& words) {
    ORRERY_TRY(const OptionValues values, read_words(fields.records(), split(words, ' ')));
    return fields.read(values);
  }
  template <class Request>
  Result<Request> of_yaml(const Fields<Request>& fields, const std::string& yaml) {
    ORRERY_TRY(const OptionValues values, read_yaml(fields.records(), yaml, "request.yaml"));
    return fields.read(values);
  }

  Result<std::string> simulated(const SimulateRequest& request) {
    const env::Env env = sim_.env();
    ORRERY_TRY(const Simulation loaded, load_simulation(env, request));
    ORRERY_TRY(const SimulateAnswer answer, simulate(env, request, loaded, watch_));
    return simulate::to_table(answer.summaries).to_json();
  }

  Watch watch_;
  env::SimEnv sim_;
};

TEST_F(Answers, OfPredict) {
  expect_same(predict_fields(), "resnet18 --device V100,A100 --batch-per-gpu 8 --predictor analytic",
              R"({"model": ["resnet18"], "device": ["V100", "A100"], "batch_per_gpu": [8], "predictor": "analytic"})",
              [&](const PredictRequest& request) -> Result<std::string> {
                ORRERY_TRY(const std::vector<PredictedRun> runs, predict(sim_.env(), request));
                Table table(prediction_columns());
                for (const PredictedRun& run : runs) table.add(prediction_cells(run));
                return table.to_json();
              });
}

TEST_F(Answers, OfMemory) {
  expect_same(memory_fields(), "resnet18 --gpus T4:2 --batch 16 --precision fp16",
              R"({"model": ["resnet18"], "gpus": ["T4:2"], "batch": [16], "precision": ["fp16"]})",
              [&](const MemoryRequest& request) -> Result<std::string> {
                ORRERY_TRY(const std::vector<MemoryAnswer> answers, predict_memory(sim_.env(), request));
                return fmt::format("{} {}", answers.front().prediction.memory.value.value(),
                                   answers.front().largest_batch_per_gpu);
              });
}

TEST_F(Answers, OfWhatif) {
  expect_same(whatif_fields(), "resnet18 --device V100 --to-device A100 --to-count 2,4 --predictor analytic",
              R"({"model": ["resnet18"], "device": ["V100"], "to_device": ["A100"], "to_count": [2, 4],
                  "predictor": "analytic"})",
              [&](const WhatifRequest& request) -> Result<std::string> {
                ORRERY_TRY(const WhatifAnswer answer, whatif(sim_.env(), request));
                std::string text;
                for (const WhatifRow& row : answer.rows) {
                  text += fmt::format("{}: {}\n", row.change, row.run->prediction.total_time.value.value());
                }
                return text;
              });
}

TEST_F(Answers, OfChoose) {
  expect_same(choose_fields(), "resnet18 --steps 1000 --deadline 24h --device T4 --nodes 1,2 --predictor analytic",
              R"({"model": "resnet18", "steps": 1000, "deadline": "24h", "device": ["T4"], "nodes": [1, 2],
                  "predictor": ["analytic"]})",
              [&](const ChooseRequest& request) -> Result<std::string> {
                ORRERY_TRY(const ChooseAnswers answers, choose(sim_.env(), request));
                return choice_table(*answers.front(), true).to_json();
              });
}

TEST_F(Answers, OfSimulate) {
  write_trace();
  expect_same(simulate_fields(), "jobs.csv --cluster 1x2 --policy fifo,srtf --prediction-error 0.5 --seeds 2 --mtbf 1h",
              R"({"trace": "jobs.csv", "cluster": "1x2", "policy": ["fifo", "srtf"], "prediction_error": 0.5,
                  "seeds": 2, "mtbf": "60m"})",
              [&](const SimulateRequest& request) { return simulated(request); });
}

TEST_F(Answers, OfWhatChangesOfAClusterDo) {
  write_trace();
  expect_same(
      simulate_whatif_fields(), "jobs.csv --cluster 1x2 policy=first-fit mtbf=1h+prediction-error=0.5",
      R"({"trace": "jobs.csv", "cluster": "1x2", "change": ["policy=first-fit", "mtbf=1h+prediction-error=0.5"]})",
      [&](const SimulateWhatifRequest& request) -> Result<std::string> {
        ORRERY_TRY(const SimulateWhatifAnswer answer, simulate_whatif(sim_.env(), request, watch_));
        return simulate_whatif_table(answer).to_json();
      });
}

TEST_F(Answers, OfEstimate) {
  write("queue.csv", "id,submit_s,duration_s,gpus,executed_s\na,0,10,2,5\nb,1,10,2,\nc,2,10,1,\n");
  expect_same(estimate_fields(), "queue.csv --cluster 1x2 --error 0.05 --draws 20 --explain b",
              R"({"queue": "queue.csv", "cluster": "1x2", "error": 0.05, "draws": 20, "explain": "b"})",
              [&](const EstimateRequest& request) -> Result<std::string> {
                ORRERY_TRY(const EstimateAnswer answer, estimate(sim_.env(), request));
                return estimate_table(answer).to_json() + explanation_text(answer);
              });
}

// Rows of a sweep count as done in a later one that states the same, whatever door and spelling it came through.
TEST_F(Answers, ASweepKnowsItsRunsFromEveryDoor) {
  write_trace();
  const auto fingerprint_of = [&](const Result<SimulateRequest>& request) {
    const env::Env env = sim_.env();
    return load_simulation(env, *request)->fingerprint;
  };
  const std::string words = "jobs.csv --cluster 1x2 --sweep s.jsonl --stragglers 0.1";
  const std::string first = fingerprint_of(of_words(simulate_fields(), words + " --repair 90m"));
  const std::string file = "trace: jobs.csv\ncluster: 1x2\nsweep: s.jsonl\nstragglers: 0.10\nrepair: 1.5h\n";
  EXPECT_EQ(first, fingerprint_of(of_yaml(simulate_fields(), file)));
  EXPECT_NE(first, fingerprint_of(of_words(simulate_fields(), words)));
  // While this stays as it is, files of earlier versions stay valid.
  EXPECT_EQ(first, "2f25eec14d7cc5d7");
  // Only a sweep that is kept in a file needs one.
  EXPECT_EQ(fingerprint_of(of_words(simulate_fields(), "jobs.csv --cluster 1x2")), "");
  // The content of a file counts, not its name alone.
  write("prices.csv", "time_s,price\n0,1\n");
  const std::string cheap = fingerprint_of(of_words(simulate_fields(), words + " --prices prices.csv"));
  write("prices.csv", "time_s,price\n0,2\n");
  EXPECT_NE(cheap, fingerprint_of(of_words(simulate_fields(), words + " --prices prices.csv")));
}

TEST_F(Answers, ErrorsOfSimulationsNameTheFieldAsItsSourceSpellsIt) {
  write_trace();
  const auto error_of = [&](const Result<SimulateRequest>& request) { return simulated(*request).error().to_string(); };
  EXPECT_EQ(error_of(of_words(simulate_fields(), "jobs.csv --bid 2")), "--bid: is of --prices; give them as well");
  EXPECT_EQ(error_of(of_yaml(simulate_fields(), "trace: jobs.csv\nbid: 2\n")),
            "request.yaml:2: bid: is of prices; give them as well");
  EXPECT_EQ(error_of(of_yaml(simulate_fields(), "trace: jobs.csv\npolicy: [fifo]\ncluster: 0x2\n")),
            "request.yaml:3: cluster: 0x2 is not 1 to 1048576 machines with 1 to 1024 GPUs");
  EXPECT_EQ(error_of(of_yaml(simulate_fields(), "seeds: 3\ntrace: jobs.csv\n")),
            "request.yaml:1: seeds: every seed gives the same run; give prediction_error, mtbf, stragglers or scaling "
            "fitted");
}

}  // namespace
}  // namespace orrery::service
