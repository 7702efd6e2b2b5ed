#include "workload/job_file.h"

#include <gtest/gtest.h>

#include "base/yaml.h"

namespace orrery::workload {
namespace {

std::string message_of(const std::string& yaml) {
  const auto job = read_job(yaml, "job.yaml");
  return job ? "read" : job.error().message();
}

// A job that is right but for what is added to it. Its two lines come first.
std::string with(const std::string& rest) {
  return "job: j\nmodel: resnet50\n" + rest;
}

TEST(JobFileTest, EveryFieldIsRead) {
  const auto job = read_job(
      "job: big\n"
      "model: nets/gpt.onnx\n"
      "command: [python3, train.py, 'a,b']\n"
      "train: {batch: 256, optimizer: adamw, precision: bf16, epochs: 1.5, dataset_size: 1000}\n"
      "resources:\n"
      "  any_of:\n"
      "    - {device: V100, count: 8}\n"
      "    - {device: A100, count: {min: 4, max: 16}}\n"
      "parallelism: {tensor: 2, pipeline: 2, microbatches: 4, zero: 1, exchange: ps, servers: 3}\n"
      "elastic: true\n"
      "deadline: 1.5d\n"
      "budget: 99.5\n"
      "priority: -7\n",
      "job.yaml");
  ASSERT_TRUE(job) << job.error().message();
  JobSpec expected;
  expected.name = "big";
  expected.model = "nets/gpt.onnx";
  expected.command = {"python3", "train.py", "a,b"};
  expected.batch = 256;
  expected.optimizer = Optimizer::kAdamW;
  expected.precision = Precision::kBf16;
  expected.epochs = 1.5;
  expected.dataset_size = 1000;
  expected.resources = {{"V100", {8, 8}}, {"A100", {4, 16}}};
  expected.parallelism = {.tensor = 2,
                          .pipeline = 2,
                          .microbatches = 4,
                          .zero_stage = 1,
                          .exchange = GradientExchange::kParameterServer,
                          .servers = 3};
  expected.elastic = true;
  expected.deadline = Seconds(129600);
  expected.budget = Dollars(99.5);
  expected.priority = -7;
  EXPECT_EQ(job->spec, expected);
  EXPECT_EQ(job->places.error(request_path(*job, 1) + ".device", "odd").message(),
            "job.yaml:8: resources.any_of[1].device: odd");
}

TEST(JobFileTest, WhatIsNotSaidHasItsDefault) {
  const auto job = read_job("job: j\ncommand: [make]\nparallelism: {data: 4, tensor: 2}\n", "job.yaml");
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(job->spec.resources, (std::vector<DeviceRequest>{{"", {8, 8}}}));
  EXPECT_EQ(job->spec.optimizer, Optimizer::kMomentum);
  EXPECT_FALSE(job->spec.precision || job->spec.batch || job->spec.steps || job->spec.deadline || job->spec.budget);
  EXPECT_EQ(request_path(*job, 0), "resources");
}

TEST(JobFileTest, MistakesNameFileLineAndField) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "job.yaml:1: expected fields (name: value)"},
      {"- 3\n", "job.yaml:1: expected fields (name: value)"},
      {"model: resnet50\n", "job.yaml:1: job: missing; expected name of the job"},
      {"job: j\n", "job.yaml:1: model: missing; a job has a model, a command or both"},
      {"job: j\nmodel:\n", "job.yaml:2: model: missing; a job has a model, a command or both"},
      {with("modle: x\n"), "job.yaml:3: modle: unknown field; did you mean \"model\"?"},
      {with("train:\n  batsh: 3\n"), "job.yaml:4: train.batsh: unknown field; did you mean \"batch\"?"},
      {with("resources:\n  any_of:\n  - device: V100\n    cuont: 2\n"),
       "job.yaml:6: resources.any_of[0].cuont: unknown field; did you mean \"count\"?"},
      {with("train: 3\n"), "job.yaml:3: train: expected fields (name: value)"},
      {with("train: [3]\n"), "job.yaml:3: train: expected fields (name: value)"},
      {with("train: {batch: [1]}\n"), "job.yaml:3: train.batch: expected a whole number"},
      {with("train: {batch: many}\n"), "job.yaml:3: train.batch: expected a whole number, not \"many\""},
      {with("train: {batch: 1.5}\n"), "job.yaml:3: train.batch: expected a whole number, not \"1.5\""},
      {with("train: {batch: 0}\n"), "job.yaml:3: train.batch: 0 is out of range; expected 1 to 16777216"},
      {with("train: {batch: -4}\n"), "job.yaml:3: train.batch: -4 is out of range; expected 1 to 16777216"},
      {with("train: {batch: 99999999999999999999}\n"),
       "job.yaml:3: train.batch: expected a whole number, not \"99999999999999999999\""},
      {with("train: {epochs: nan, dataset_size: 5}\n"),
       "job.yaml:3: train.epochs: nan is out of range; expected 1e-06 to 1000000000"},
      {with("train: {epochs: 1e300, dataset_size: 5}\n"),
       "job.yaml:3: train.epochs: 1e300 is out of range; expected 1e-06 to 1000000000"},
      {with("train: {optimizer: adm}\n"),
       "job.yaml:3: train.optimizer: unknown value \"adm\"; did you mean \"adam\"? (one of: sgd, momentum, adam, "
       "adamw)"},
      {with("train: {precision: fp17}\n"),
       "job.yaml:3: train.precision: unknown value \"fp17\"; did you mean \"fp16\"? (one of: auto, fp32, tf32, fp16, "
       "bf16)"},
      {with("command: make\n"), "job.yaml:3: command: expected a list (- …)"},
      {with("command: []\n"), "job.yaml:3: command: expected at least one item"},
      {with("command:\n- make\n- [x]\n"), "job.yaml:5: command[1]: expected text"},
      {with("command: [\"a\\nb\"]\n"), "job.yaml:3: command[0]: expected one line without tabs"},
      {with("resources: {any_of: [{count: 3}]}\n"),
       "job.yaml:3: resources.any_of[0].device: missing; expected name of the device"},
      {with("resources: {count: {min: 3}}\n"), "job.yaml:3: resources.count.max: missing; expected at most"},
      {with("resources: {count: [3]}\n"),
       "job.yaml:3: resources.count: expected a whole number or fields (name: value)"},
      {with("resources: {count: 2000000}\n"),
       "job.yaml:3: resources.count: 2000000 is out of range; expected 1 to 1048576"},
      {with("elastic: maybe\n"), "job.yaml:3: elastic: expected true or false, not \"maybe\""},
      {with("elastic: {min: 1}\n"), "job.yaml:3: elastic: expected true or false"},
      {with("deadline: 12\n"), "job.yaml:3: deadline: expected a time such as 90s, 30m, 12h or 7d, not \"12\""},
      {with("deadline: 0h\n"), "job.yaml:3: deadline: 0h is out of range; expected 1s to 3650d"},
      {with("deadline: 1e9d\n"), "job.yaml:3: deadline: 1e9d is out of range; expected 1s to 3650d"},
      {with("budget: -1\n"), "job.yaml:3: budget: -1 is out of range; expected 0.01 to 1000000000000"},
      {with("budget: inf\n"), "job.yaml:3: budget: inf is out of range; expected 0.01 to 1000000000000"},
      {with("priority: 1001\n"), "job.yaml:3: priority: 1001 is out of range; expected -1000 to 1000"},
      {"job: \"\"\nmodel: x\n", "job.yaml:1: job: 0 bytes long; expected 1 to 200 bytes"},
      {"job: " + std::string(201, 'x') + "\nmodel: x\n", "job.yaml:1: job: 201 bytes long; expected 1 to 200 bytes"},
  };
  for (const auto& [yaml, message] : cases) EXPECT_EQ(message_of(yaml), message) << yaml;
}

TEST(JobFileTest, ContradictionsAreErrors) {
  const std::pair<std::string, std::string> cases[] = {
      {with("train:\n  epochs: 3\n  dataset_size: 10\n  steps: 5\n"),
       "job.yaml:6: train.steps: epochs are given too; expected one of them"},
      {with("train: {epochs: 3}\n"), "job.yaml:3: train.epochs: needs dataset_size, the samples of one epoch"},
      {with("resources:\n  any_of: [{device: V100}]\n  device: A100\n"),
       "job.yaml:5: resources.device: any_of is given too; put it into the list"},
      {with("resources:\n  any_of: [{device: V100}]\n  count: {max: 3}\n"),
       "job.yaml:5: resources.count: any_of is given too; put it into the list"},
      {with("resources:\n  count:\n    max: 3\n    min: 4\n"), "job.yaml:6: resources.count.min: 4 is above max 3"},
      {with("resources: {count: 6}\nparallelism: {tensor: 4}\n"),
       "job.yaml:3: resources.count: 6 is not a multiple of tensor 4 × pipeline 1"},
      {with("resources: {count: 8}\nparallelism: {data: 2, tensor: 2}\n"),
       "job.yaml:3: resources.count: 8 is not data 2 × tensor 2 × pipeline 1"},
      {with("resources: {any_of: [{device: V100, count: 8}, {device: A100, count: 6}]}\nparallelism: {tensor: 4}\n"),
       "job.yaml:3: resources.any_of[1].count: 6 is not a multiple of tensor 4 × pipeline 1"},
      {with("resources: {count: {min: 5, max: 7}}\nparallelism: {tensor: 4}\n"),
       "job.yaml:3: resources.count: no number from 5 to 7 fits: 7 is not a multiple of tensor 4 × pipeline 1"},
      {with("resources: {count: {max: 8}}\nparallelism: {data: 2}\n"),
       "job.yaml:4: parallelism.data: fixes the number of devices, but resources.count is a range; leave it out"},
      {with("train: {batch: 250}\nresources: {count: 4}\n"),
       "job.yaml:3: train.batch: the global batch 250 does not divide into 4 replicas"},
      {with("train: {batch: 64}\nresources: {count: 4}\nparallelism: {microbatches: 3}\n"),
       "job.yaml:3: train.batch: the global batch 64 does not divide into 4 replicas × 3 micro-batches"},
      {with("parallelism: {servers: 2}\n"), "job.yaml:3: parallelism.servers: only exchange: ps has servers"},
      {with("parallelism: {tensor: 2048, pipeline: 2048}\n"),
       "job.yaml:3: parallelism: needs more than 1048576 devices"},
      {with("parallelism: {data: 1048576, tensor: 1048576}\n"),
       "job.yaml:3: parallelism: needs more than 1048576 devices"},
      {with("elastic: true\n"), "job.yaml:3: elastic: needs a range of devices, such as count: {min: 1, max: 8}"},
      {with("elastic: true\nresources: {count: {min: 4, max: 4}}\n"),
       "job.yaml:3: elastic: needs a range of devices, such as count: {min: 1, max: 8}"},
  };
  for (const auto& [yaml, message] : cases) EXPECT_EQ(message_of(yaml), message) << yaml;
}

TEST(JobFileTest, HostileFilesAreRefused) {
  std::string bomb = "a: &a [x,x]\n";
  for (char c = 'b'; c < 'z'; ++c) bomb += std::string(1, c) + ": &" + c + " [*" + char(c - 1) + "]\n";
  std::string deep = "train: " + std::string(100, '[') + std::string(100, ']');
  std::string long_list = "command: [x";
  for (int i = 0; i < 5000; ++i) long_list += ",x";
  std::string alternatives = "resources: {any_of: [{device: x}";
  for (int i = 0; i < 64; ++i) alternatives += ",{device: x}";
  const std::pair<std::string, std::string> cases[] = {
      {bomb, "job.yaml:2: aliases (*name) are not supported; write the value out"},
      {with("priority: !!int 3\n"), "job.yaml:3: tags (\"tag:yaml.org,2002:int\") are not supported"},
      {with("job: k\n"), "job.yaml:3: \"job\" is there twice"},
      {with(deep), "job.yaml:3: nested more than 64 deep"},
      {with("---\njob: k\n"), "job.yaml:4: a second document; expected one"},
      {with("? [a]\n: b\n"), "job.yaml:3: a key must be text"},
      {"job: \"a\\0b\"\nmodel: x\n", "job.yaml:1: control characters, or not UTF-8"},
      {"job: \"\\e[31m\"\nmodel: x\n", "job.yaml:1: control characters, or not UTF-8"},
      {with(long_list + "]\n"), "job.yaml:3: command: 5001 items; expected at most 4096"},
      {with(alternatives + "]}\n"), "job.yaml:3: resources.any_of: 65 items; expected at most 64"},
      {std::string(5 << 20, '#'), "job.yaml: larger than 4.00 MiB"},
  };
  for (const auto& [yaml, message] : cases) EXPECT_EQ(message_of(yaml), message) << yaml.substr(0, 200);
  for (const std::string& bytes :
       {std::string("job: a\0b\nmodel: x\n", 18), std::string("job: \xff\xfe\nmodel: x\n")}) {
    EXPECT_NE(message_of(bytes), "read");
  }
}

TEST(JobFileTest, JobsAreToldFromModelsByTheirFirstField) {
  for (const auto* text : {"job: x\n", "# note\n\n---\njob: x", "\xEF\xBB\xBFmodel: y", "train:\n  batch: 3", "x:"}) {
    EXPECT_TRUE(looks_like_job(text)) << text;
  }
  for (const auto* text : {"", "# only a note\n", "{\"format\": 1}", "node {\n", "- job: x", "\x08\x07\x12", "job"}) {
    EXPECT_FALSE(looks_like_job(text)) << text;
  }
}

}  // namespace
}  // namespace orrery::workload
