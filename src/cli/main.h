#pragma once
// A program: a list of words in, output and exit code out.

#include <span>
#include <string>
#include <string_view>
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

// The group of commands that no list has: how the program starts processes of its own.
inline constexpr std::string_view kHidden = "";

// A command by its name; its records are made only when they are asked for.
struct CommandEntry {
  std::string_view group;  // of the list of commands
  std::string_view name;   // as Command::name
  std::string_view brief;  // in the list; empty for one that stands on the line of the command before it
  Command (*make)();
};

struct Program {
  std::string name;
  std::string summary;                     // one line
  std::span<const CommandEntry> commands;  // those of a group stand together
  std::vector<std::string> examples;
};

// The records of all that are not hidden, for pages and completion.
std::vector<Command> make_commands(std::span<const CommandEntry> entries);

// Runs one command line (without the program's name).
Outcome run(const Program& program, const std::vector<std::string>& words, env::Env environment);
const Program& orrery_program();
// The same, of orrery.
Outcome run(const std::vector<std::string>& words, env::Env environment);

// Runs the words of this process in the real environment and writes what comes out. Returns the exit code.
int run_as_process(const Program& program, int argc, char** argv);

}  // namespace orrery::cli
