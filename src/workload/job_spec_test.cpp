#include "workload/job_spec.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>
#include <set>

#include "base/text.h"
#include "workload/job_file.h"

namespace orrery::workload {
namespace {

TEST(JobSpecTest, CountsToTryAreTheSmallestItsDoublingsAndTheLargest) {
  JobSpec job;
  EXPECT_EQ(counts_to_try(job, {1, 8}), (std::vector<int>{1, 2, 4, 8}));
  EXPECT_EQ(counts_to_try(job, {3, 13}), (std::vector<int>{3, 6, 12, 13}));
  job.parallelism.tensor = 3;
  EXPECT_EQ(counts_to_try(job, {1, 8}), (std::vector<int>{3, 6}));
  EXPECT_EQ(counts_to_try(job, {4, 5}), std::vector<int>());
  job.batch = 9;  // replicas 1, 3 and 9
  EXPECT_EQ(counts_to_try(job, {1, 100}), (std::vector<int>{3, 27}));
}

// 256 samples on 8 devices in replicas of 2 devices: 4 replicas of 64.
TEST(JobSpecTest, TheBatchIsOfAllReplicas) {
  JobSpec job;
  job.batch = 256;
  job.parallelism.tensor = 2;
  EXPECT_EQ(replica_batch(job, 8), 64);
  EXPECT_FALSE(misfit(job, 8).has_value());
  EXPECT_TRUE(misfit(job, 6)->of_batch);
  EXPECT_FALSE(misfit(job, 5)->of_batch);
}

std::string random_name() {
  return *rc::gen::nonEmpty(rc::gen::container<std::string>(
      rc::gen::element('a', 'Z', '0', ' ', ':', '#', '"', '\'', '\\', '-', '{', '~', ',', '*', '&')));
}

template <class Make>
auto maybe(Make make) -> std::optional<decltype(make())> {
  if (*rc::gen::arbitrary<bool>()) return std::nullopt;
  return make();
}

Parallelism random_parallelism() {
  Parallelism parallel;
  parallel.tensor = *rc::gen::inRange(1, 5);
  parallel.pipeline = *rc::gen::inRange(1, 5);
  parallel.microbatches = *rc::gen::inRange(1, 5);
  parallel.zero_stage = *rc::gen::inRange(0, 4);
  parallel.exchange = *rc::gen::element(GradientExchange::kRing, GradientExchange::kTree,
                                        GradientExchange::kHierarchical, GradientExchange::kParameterServer);
  if (parallel.exchange == GradientExchange::kParameterServer) parallel.servers = *rc::gen::inRange(1, 9);
  return parallel;
}

void set_random_length(JobSpec& job) {
  const auto samples = [] { return *rc::gen::inRange<std::int64_t>(1, 1'000'000'000'000); };
  job.dataset_size = maybe(samples);
  if (job.dataset_size && *rc::gen::arbitrary<bool>()) {
    job.epochs = *rc::gen::inRange(1, 100000) / 37.;
  } else {
    job.steps = maybe(samples);
  }
}

// Replicas, devices and batch that fit each other.
void set_random_devices(JobSpec& job) {
  const int each = static_cast<int>(devices_per_replica(job));
  const int replicas = *rc::gen::inRange(1, 17);
  job.replicas = maybe([&] { return replicas; });
  job.batch = maybe([&] { return std::int64_t{replicas} * job.parallelism.microbatches * *rc::gen::inRange(1, 65); });
  job.resources.clear();
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
    DeviceRequest request{random_name(), {replicas * each, replicas * each}};
    if (!job.replicas) request.count.max += *rc::gen::inRange(0, 50);
    job.resources.push_back(request);
    job.elastic = job.elastic || request.count.is_range();
  }
}

JobSpec random_job() {
  JobSpec job;
  job.name = random_name();
  job.model = *rc::gen::arbitrary<bool>() ? random_name() : "";
  if (job.model.empty() || *rc::gen::arbitrary<bool>()) job.command = {random_name(), "", random_name()};
  job.optimizer = *rc::gen::element(Optimizer::kSgd, Optimizer::kMomentum, Optimizer::kAdam, Optimizer::kAdamW);
  job.precision = maybe([] { return *rc::gen::element(Precision::kFp32, Precision::kTf32, Precision::kBf16); });
  job.parallelism = random_parallelism();
  set_random_length(job);
  set_random_devices(job);
  job.deadline = maybe([] { return Seconds(*rc::gen::inRange(60, 1'000'000) / 7.); });
  job.budget = maybe([] { return Dollars(*rc::gen::inRange(1, 1'000'000) / 64.); });
  job.priority = *rc::gen::inRange(-1000, 1001);
  return job;
}

TEST(JobSpecTest, WhatIsWrittenIsReadBack) {
  EXPECT_TRUE(rc::check("a random job survives YAML and JSON", [] {
    const JobSpec job = random_job();
    for (const std::string& text : {to_yaml(job), to_json(job)}) {
      const auto read = read_job(text, "f");
      if (!read) RC_FAIL(read.error().message() + "\n" + text);
      RC_ASSERT(read->spec == job);
    }
    RC_ASSERT(looks_like_job(to_yaml(job)));
  }));
}

TEST(JobSpecTest, AnyTextIsAJobOrAnErrorWithItsPlace) {
  const std::vector<std::string> pieces = {
      "job: ", "model: ",    "train:\n", "  batch: ", "resources: ", "{count: ",    "{min: 1, max: 9}",
      "}",     "\n",         "any_of",   "- ",        "device: ",    "parallelism", "elastic: ",
      "true",  "deadline: ", "12h",      "99",        "-1",          "nan",         "\t",
      "[",     "]",          "\"",       "*a",        "\x01",        "\xff"};
  EXPECT_TRUE(rc::check("read or refused", [&] {
    std::string text;
    for (const auto i :
         *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, pieces.size()))) {
      text += pieces[i];
    }
    text += *rc::gen::arbitrary<std::string>();
    const auto job = read_job(text, "f");
    if (job) return;
    RC_ASSERT(job.error().message().starts_with("f:"));
    RC_ASSERT(is_printable(job.error().message()));
  }));
}

// Every path of the schema, and a value of the right type for it, as YAML that holds nothing else but what is required.
void collect_paths(const nlohmann::json& schema, const std::string& path, std::set<std::string>& paths) {
  if (schema.contains("oneOf")) {
    for (const auto& choice : schema["oneOf"]) collect_paths(choice, path, paths);
  }
  if (schema.contains("items")) collect_paths(schema["items"], path + "[]", paths);
  if (!schema.contains("properties")) return;
  EXPECT_EQ(schema["additionalProperties"], false) << path;
  for (const auto& [name, property] : schema["properties"].items()) {
    paths.insert(path + "." + name);
    collect_paths(property, path + "." + name, paths);
  }
}

std::string yaml_of(const std::string& path) {
  std::string text;
  std::string ends;
  for (const std::string& step : split(std::string_view(path).substr(1), '.')) {
    const bool is_list = step.ends_with("[]");
    text += "{" + (is_list ? step.substr(0, step.size() - 2) + ": [" : step + ": ");
    ends = (is_list ? "]}" : "}") + ends;
  }
  return text + ends;
}

TEST(JobSchemaTest, TheReaderKnowsEveryFieldOfTheSchema) {
  std::set<std::string> paths;
  collect_paths(nlohmann::json::parse(job_schema()), "", paths);
  EXPECT_GE(paths.size(), 30U);
  for (const std::string& path : paths) {
    const auto job = read_job(yaml_of(path), "f");
    EXPECT_EQ(!job && job.error().message().find("unknown field") != std::string::npos, false) << path;
  }
}

void collect_written(const nlohmann::json& json, const std::string& path, std::set<std::string>& paths) {
  if (json.is_array()) {
    for (const auto& item : json) collect_written(item, path + "[]", paths);
  }
  if (!json.is_object()) return;
  for (const auto& [name, value] : json.items()) {
    paths.insert(path + "." + name);
    collect_written(value, path + "." + name, paths);
  }
}

TEST(JobSchemaTest, TheSchemaKnowsEveryFieldThatIsWritten) {
  std::set<std::string> known;
  collect_paths(nlohmann::json::parse(job_schema()), "", known);
  EXPECT_TRUE(rc::check("written fields are in the schema", [&] {
    std::set<std::string> written;
    collect_written(nlohmann::json::parse(to_json(random_job())), "", written);
    for (const std::string& path : written) RC_ASSERT(known.contains(path));
  }));
}

TEST(JobSchemaTest, SaysWhatItIs) {
  const auto schema = nlohmann::json::parse(job_schema());
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema["required"], nlohmann::json::array({"job"}));
  EXPECT_EQ(schema["properties"]["priority"]["default"], 0);
  EXPECT_EQ(schema["properties"]["resources"]["properties"]["count"]["oneOf"][1]["required"][0], "max");
}

}  // namespace
}  // namespace orrery::workload
