#include "cli/command_test.h"
#include "workload/import/graph_json.h"
#include "workload/zoo/zoo.h"

namespace orrery::cli {
namespace {

constexpr std::string_view kJob =
    "job: nightly\n"
    "model: resnet18\n"
    "train: {batch: 256, optimizer: adam, precision: fp16, epochs: 2, dataset_size: 1000}\n"
    "resources: {device: V100, count: 4}\n"
    "deadline: 1h\n";

class JobCommandTest : public CommandTest {
 protected:
  void SetUp() override {
    write("job.yaml", kJob);
    EXPECT_TRUE(sim_.files.make_directory("jobs").has_value());
  }
  void expect_error(const std::string& line, const std::string& message) {
    const Outcome outcome = call(line);
    EXPECT_EQ(outcome.exit_code, kBadInput) << line;
    EXPECT_EQ(outcome.errors, message + "\n");
  }
};

TEST_F(JobCommandTest, CheckShowsWhatWasUnderstood) {
  EXPECT_EQ(call("job check job.yaml").output,
            "field               value\n"
            "job                 nightly\n"
            "model               resnet18\n"
            "train.batch         256\n"
            "train.optimizer     adam\n"
            "train.precision     fp16\n"
            "train.epochs        2\n"
            "train.dataset_size  1000\n"
            "resources.device    V100\n"
            "resources.count     4\n"
            "deadline            1h\n"
            "\nruns on\n"
            "  4 × V100: 4 replicas of batch 64, 8 steps\n");
  EXPECT_EQ(json_of("job check job.yaml")["resources"]["count"], 4);
}

TEST_F(JobCommandTest, CheckAddsNothingThatTheJobDoesNotSay) {
  write("short.yaml", "job: x\nmodel: resnet18\n");
  EXPECT_TRUE(call("job check short.yaml").output.ends_with("runs on\n  1 × any device: 1 replica\n"));
}

TEST_F(JobCommandTest, AFileWhoseNameBeginsLikeAModelIsAFile) {
  write("resnet50.job.yaml", kJob);
  const auto plain = json_of("predict resnet50.job.yaml"), with_folder = json_of("predict ./resnet50.job.yaml");
  EXPECT_EQ(plain, with_folder);
  EXPECT_EQ(plain[0]["model"], "resnet18");
  write("resnet50.a1_in1k", kJob);  // a tagged name of the zoo, and a file
  EXPECT_EQ(json_of("predict resnet50.a1_in1k")[0]["model"], "resnet18");
  for (const char* missing : {"resnet50.nosuch.yaml", "resnet50.yaml", "resnet50.onnx", "resnet50."}) {
    const Outcome outcome = call(fmt::format("predict {}", missing));
    EXPECT_EQ(outcome.exit_code, kBadInput) << missing;
    EXPECT_NE(outcome.errors.find("unknown model"), std::string::npos) << outcome.errors;
  }
  EXPECT_EQ(json_of("predict resnet50.ra_in1k")[0]["model"], "resnet50.ra_in1k");
}

TEST_F(JobCommandTest, CheckNamesThePlaceOfAMistake) {
  write("bad.yaml", "job: x\nmodel: resnet18\nresources:\n  device: V10O\n");
  expect_error("job check bad.yaml",
               "orrery job check: bad.yaml:4: resources.device: unknown device \"V10O\"; did you mean \"V100\"?");
  expect_error("predict bad.yaml",
               "orrery predict: bad.yaml:4: resources.device: unknown device \"V10O\"; did you mean \"V100\"?");
  write("bad.yaml", "job: x\nmodel: resnet18\nresources: {any_of: [{device: T4},\n {device: V10O}]}\n");
  expect_error(
      "memory bad.yaml",
      "orrery memory: bad.yaml:4: resources.any_of[1].device: unknown device \"V10O\"; did you mean \"V100\"?");
  write("bad.yaml", "job: x\nmodel: resnet1B\n");
  expect_error("choose bad.yaml",
               "orrery choose: bad.yaml:2: model: unknown model \"resnet1B\"; did you mean \"resnet18\"?");
  write("bad.yaml", "job: x\ncommand: [make]\n");
  expect_error("model show bad.yaml",
               "orrery model show: bad.yaml:1: model: missing; a command alone cannot be predicted");
  EXPECT_EQ(call("job check bad.yaml").exit_code, kDone);
  write("bad.yaml", "job: x\nmodel: lenet\nparallelism: {pipeline: 500}\n");
  expect_error("job check bad.yaml",
               "orrery job check: bad.yaml:3: parallelism: 500 pipeline stages for a model of 14 operators");
}

TEST_F(JobCommandTest, AJobSaysWhatOptionsWouldSay) {
  const auto by_job = json_of("predict job.yaml");
  const auto by_options = json_of(
      "predict resnet18 --batch 256 --optimizer adam --precision fp16 --epochs 2 --dataset-size 1000 --device V100 "
      "--count 4");
  EXPECT_EQ(by_job, by_options);
  EXPECT_EQ(json_of("memory job.yaml")[0]["batch_per_gpu"], 64);
  EXPECT_EQ(json_of("model show job.yaml")["model"], "resnet18");
  EXPECT_EQ(call("model export job.yaml").output, call("model export resnet18").output);
}

TEST_F(JobCommandTest, OptionsWinOverTheJob) {
  const auto row = json_of("predict job.yaml --device A100 --count 2 --precision bf16 --steps 7")[0];
  EXPECT_EQ(row["device"], "A100");
  EXPECT_EQ(row["batch"], 256);  // the global batch stays
  EXPECT_EQ(row["batch_per_gpu"], 128);
  EXPECT_EQ(row["precision"], "bf16");
  EXPECT_EQ(row["steps"], 7);
  EXPECT_EQ(json_of("predict job.yaml --batch-per-gpu 3")[0]["batch"], 12);
  EXPECT_EQ(json_of("predict job.yaml --epochs 4")[0]["steps"], 16);
  EXPECT_EQ(json_of("predict job.yaml --tensor 2")[0]["batch_per_gpu"], 128);
  EXPECT_EQ(json_of("predict job.yaml resnet18 --count 1,2").size(), 4U);
  expect_error(
      "predict job.yaml --count 3",
      "orrery predict: --batch: 256 samples cannot be divided among 3 replicas; --batch-per-gpu gives those of one");
  expect_error("predict job.yaml --tensor 8",
               "orrery predict: nightly: --count 4 is not a multiple of tensor 8 × pipeline 1");
}

TEST_F(JobCommandTest, AlternativesAreRowsAndEqualOnesAreShownOnce) {
  write("any.yaml",
        "job: x\nmodel: resnet18\nresources: {any_of: [{device: V100, count: 4}, {device: A100, count: {max: 4}}]}\n");
  EXPECT_EQ(json_of("predict any.yaml").size(), 4U);
  EXPECT_EQ(json_of("predict any.yaml --device T4 --count 2").size(), 1U);
}

TEST_F(JobCommandTest, ChooseKeepsTheGlobalBatchAndTheDeadline) {
  const auto rows = json_of("choose job.yaml --all");
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(json_of("choose job.yaml --all --deadline 1000h --batch-per-gpu 64").size() >= rows.size(), true);
  write("slow.yaml", "job: x\nmodel: resnet18\ntrain: {batch: 64, steps: 100000000}\ndeadline: 1m\n");
  const Outcome late = call("choose slow.yaml");
  EXPECT_NE(late.errors.find("misses the deadline"), std::string::npos) << late.errors;
  EXPECT_FALSE(json_of("choose slow.yaml --deadline 1000000h").empty());
}

TEST_F(JobCommandTest, AModelFileIsLookedForBesideTheJob) {
  write("jobs/net", workload::to_graph_json(*workload::build_model("lenet")));
  write("jobs/job", "# a job, whatever its name\njob: x\nmodel: net\n");
  EXPECT_EQ(json_of("predict jobs/job")[0]["model"], "net");
  write("job", "job: x\nmodel: jobs/net\n");
  EXPECT_EQ(call("job check job").exit_code, kDone);
  write("job", "job: x\nmodel: job.yaml\n");
  EXPECT_EQ(call("job check job").exit_code, kBadInput);
}

TEST_F(JobCommandTest, SchemaAndTableOfFields) {
  EXPECT_EQ(nlohmann::json::parse(call("job schema").output)["title"], "Orrery training job");
  EXPECT_NE(call("job schema --format markdown").output.find("| `train.batch` | N | global batch"), std::string::npos);
}

}  // namespace
}  // namespace orrery::cli
