#include "elastic/job/enlist.h"

#include <gtest/gtest.h>

#include "env/sim_terminal.h"

namespace orrery::elastic {
namespace {

env::SimVariables variables_of(const std::map<std::string, std::string>& values) {
  env::SimVariables variables;
  for (const auto& [name, value] : values) variables.set(name, value);
  return variables;
}

TEST(Enlist, WhatALauncherGivesIsWhatAProcessReads) {
  const Enlistment given{"demo", "/proc/1/fd/3", {7, 0, 2}, {{1, 0, 0}, {7, 0, 2}}};
  const auto read = read_enlistment(variables_of(to_variables(given)));
  ASSERT_TRUE(read) << read.error().to_string();
  ASSERT_TRUE(*read);
  EXPECT_EQ(**read, given);
}

TEST(Enlist, AJobOnSeveralHostsHasAddresses) {
  const Enlistment given{"demo",
                         "/proc/1/fd/3",
                         {7, 1, 2, "10.0.0.2:4711"},
                         {{1, 0, 0, "10.0.0.1:4711"}, {7, 1, 2, "10.0.0.2:4711"}},
                         {.secret = "secret", .encrypts = true},
                         2.5};
  const auto read = read_enlistment(variables_of(to_variables(given)));
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(**read, given);
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"ORRERY_HOST", "x"}, {"ORRERY_PARTITION_TIMEOUT_S", "-1"}, {"ORRERY_INITIAL_WORKERS", "1:0:0"}}) {
    auto values = to_variables(given);
    values[name] = value;
    EXPECT_FALSE(read_enlistment(variables_of(values))) << name;
  }
}

TEST(Enlist, ScriptsForTorchrunFindTheirVariables) {
  Enlistment given{"demo", "/proc/1/fd/3", {3, 1, 0, "b:2"}, {{1, 0, 0, "a:1"}, {2, 0, 1, "a:2"}, {3, 1, 0, "b:2"}}};
  given.master_host = "a";
  given.master_port = 29500;
  const auto initial_worker = to_variables(given);
  for (const auto& [name, value] : std::map<std::string, std::string>{{"RANK", "2"},
                                                                      {"WORLD_SIZE", "3"},
                                                                      {"LOCAL_RANK", "0"},
                                                                      {"LOCAL_WORLD_SIZE", "1"},
                                                                      {"MASTER_ADDR", "a"},
                                                                      {"MASTER_PORT", "29500"}}) {
    ASSERT_TRUE(initial_worker.contains(name)) << name;
    EXPECT_EQ(initial_worker.at(name), value) << name;
  }
  given.self = {9, 0, 2, "a:3"};
  EXPECT_FALSE(to_variables(given).contains("RANK"));  // it joins: the ranks of the first membership are taken
}

TEST(Enlist, WithoutALauncherAProcessIsAJobOfItsOwn) {
  const auto options = enlist(env::SimVariables(), {.samples = 10, .seed = 3, .parameters = {{"batch", 4}}});
  ASSERT_TRUE(options) << options.error().to_string();
  EXPECT_FALSE(options->has_launcher);
  ASSERT_TRUE(options->first);
  EXPECT_EQ(options->first->workers, (std::vector<WorkerRecord>{{1, 0, 0}}));
  EXPECT_EQ(options->first->progress.cursor, (DataCursor{.samples = 10, .seed = 3}));
  EXPECT_EQ(batch_of(*options->first), 4u);
}

TEST(Enlist, InitialWorkersHaveTheFirstMembershipAndOthersJoin) {
  const auto segment = *Segment::create({.slots = 4, .arena_bytes = 0});
  Enlistment given{"demo", segment->path(), {2, 0, 1}, {{1, 0, 0}, {2, 0, 1}}};
  const auto initial_worker = enlist(variables_of(to_variables(given)), {});
  ASSERT_TRUE(initial_worker) << initial_worker.error().to_string();
  ASSERT_TRUE(initial_worker->first);
  EXPECT_EQ(initial_worker->first->workers, given.initial_workers);
  EXPECT_TRUE(initial_worker->has_launcher);
  given.self = {5, 0, 3};
  const auto joining_worker = enlist(variables_of(to_variables(given)), {});
  ASSERT_TRUE(joining_worker);
  EXPECT_FALSE(joining_worker->first);
}

TEST(Enlist, UnsoundVariablesAreNamed) {
  const Enlistment sound{"demo", "/proc/1/fd/3", {7, 0, 2}, {{1, 0, 0}}};
  for (const auto& [name, value] : std::multimap<std::string, std::string>{{"ORRERY_WORKER", "x"},
                                                                           {"ORRERY_WORKER", "0"},
                                                                           {"ORRERY_SLOT", "-1"},
                                                                           {"ORRERY_MEMORY", ""},
                                                                           {"ORRERY_INITIAL_WORKERS", "1"},
                                                                           {"ORRERY_INITIAL_WORKERS", ""}}) {
    auto values = to_variables(sound);
    values[name] = value;
    const auto read = read_enlistment(variables_of(values));
    ASSERT_FALSE(read) << name << "=" << value;
    EXPECT_EQ(read.error().message().find(name + "="), 0u) << read.error().message();
  }
  auto values = to_variables(sound);
  values["ORRERY_JOB"] = "a b";
  EXPECT_FALSE(read_enlistment(variables_of(values)));
  // The memory ends with its launcher.
  EXPECT_FALSE(enlist(variables_of(to_variables({"demo", "/proc/1/fd/999999", {7, 0, 2}, {{1, 0, 0}}})), {}));
}

}  // namespace
}  // namespace orrery::elastic
