#pragma once
// A program: a list of words in, output and exit code out.

#include <string>
#include <vector>

#include "cli/command.h"
#include "env/env.h"

namespace orrery::cli {

enum ExitCode { kDone = 0, kFailed = 1, kBadInput = 2 };

struct Outcome {
  int exit_code = kDone;
  std::string output;  // for standard output
  std::string
      errors;  // for standard error; with --json one line: {"error": {"code", "message", "command", "exit_code"}}
};

struct Program {
  std::string name;
  std::string summary;                        // one line
  const std::vector<Command>& (*commands)();  // made when they are first asked for
  std::vector<std::string> examples;
};

// Runs one command line (without the program's name).
Outcome run(const Program& program, const std::vector<std::string>& words, env::Env environment);
const Program& orrery_program();
// The same, of orrery.
Outcome run(const std::vector<std::string>& words, env::Env environment);

// Runs the words of this process in the real environment and writes what comes out. Returns the exit code.
int run_as_process(const Program& program, int argc, char** argv);

}  // namespace orrery::cli
