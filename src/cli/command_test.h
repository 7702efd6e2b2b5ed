#pragma once
// What tests of commands share: a simulated machine, files on it, and calls by their command line.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/main.h"
#include "env/sim_env.h"

namespace orrery::cli {

class CommandTest : public ::testing::Test {
 protected:
  void write(const std::string& path, std::string_view text) {
    EXPECT_TRUE(sim_.files.write_atomically(path, text).has_value());
  }
  Outcome call(const std::string& line) { return run(split(line, ' '), sim_.env()); }
  nlohmann::json json_of(const std::string& line) {
    const Outcome outcome = call(line + " --json");
    EXPECT_EQ(outcome.exit_code, kDone) << outcome.errors;
    return nlohmann::json::parse(outcome.output);
  }

  env::SimEnv sim_;
};

}  // namespace orrery::cli
