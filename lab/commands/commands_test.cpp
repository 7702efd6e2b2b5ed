#include "lab/commands/commands.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/main.h"
#include "env/sim_env.h"

namespace orrery::lab {
namespace {

const cli::Program& program() {
  static const cli::Program kLab{"orrery-lab", "the lab", lab_commands(), {}};
  return kLab;
}

cli::Outcome call(env::SimEnv& sim, const std::string& line) {
  return cli::run(program(), split(line, ' '), sim.env());
}

TEST(LabCommands, ExplainThemselvesWithExamples) {
  env::SimEnv sim;
  for (const cli::Command& command : cli::make_commands(lab_commands())) {
    const cli::Outcome outcome = call(sim, command.name + " --help");
    EXPECT_EQ(outcome.exit_code, cli::kDone);
    EXPECT_NE(outcome.output.find("usage: orrery-lab " + command.name), std::string::npos);
    EXPECT_FALSE(command.summary.empty()) << command.name;
    ASSERT_FALSE(command.examples.empty()) << command.name;
    for (const std::string& example : command.examples) {
      EXPECT_TRUE(example.starts_with("orrery-lab " + command.name)) << example;
    }
  }
}

TEST(LabCommands, MissingMeasurementsAreAClearError) {
  env::SimEnv sim;
  const cli::Outcome outcome = call(sim, "evaluate memory");
  EXPECT_EQ(outcome.exit_code, cli::kBadInput);
  EXPECT_NE(outcome.errors.find("set ORRERY_DATA"), std::string::npos) << outcome.errors;
}

TEST(LabCommands, AReferenceThatIsNotMetFails) {
  env::SimEnv sim;
  const auto write = [&](const std::string& path, const std::string& text) {
    ASSERT_TRUE(sim.env().files.write_atomically(path, text).has_value());
  };
  ASSERT_TRUE(sim.files.make_directory("o").has_value());
  write("o/t.csv", "job_id,num_gpu,submit_time_s,duration_s\n0,1,0,10\n");
  write("o/t.summary.json", "{\"gpus\": 2}");
  write("o/t.expected_end_times.csv", "job_id,fifo\n0,10\n");
  EXPECT_EQ(call(sim, "reference o").exit_code, cli::kDone);
  write("o/t.expected_end_times.csv", "job_id,fifo\n0,11\n");
  const cli::Outcome outcome = call(sim, "reference o --json");
  EXPECT_NE(outcome.exit_code, cli::kDone);
  EXPECT_EQ(nlohmann::json::parse(outcome.output)["failed"], 2);
}

}  // namespace
}  // namespace orrery::lab
