#pragma once
// The entry point: a list of words in, output and exit code out.

#include <string>
#include <vector>

#include "env/env.h"

namespace orrery::cli {

enum ExitCode { kDone = 0, kFailed = 1, kBadInput = 2 };

struct Outcome {
  int exit_code = kDone;
  std::string output;  // for standard output
  std::string
      errors;  // for standard error; with --json one line: {"error": {"code", "message", "command", "exit_code"}}
};

// Runs one command line (without the program's name).
Outcome run(const std::vector<std::string>& words, env::Env environment);

}  // namespace orrery::cli
