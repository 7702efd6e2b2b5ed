#pragma once
// A command of the program, as data: what it is called, what it takes, examples, and the function that does it.

#include <string>
#include <vector>

#include "base/options.h"
#include "base/progress.h"
#include "base/table.h"
#include "env/env.h"

namespace orrery::cli {

// The options of a command line, checked against the command's records.
struct Arguments {
  std::vector<std::string> words;  // positional
  OptionValues options;
};

// Where a command writes and what it may touch.
class Context {
 public:
  Context(env::Env environment, std::string& output) : env(environment), output_(output) {}

  void print(std::string_view text) { output_ += text; }
  // Prints the table as --json, --csv or text, with the --columns asked for.
  Status print_table(const Table& table, const OptionValues& options);
  // Writes a file the user asked for and reports it, except in machine-readable output.
  Status write_file(const std::string& path, std::string_view content, const OptionValues& options);
  // For a command that runs other programs: their exit code instead of ours.
  void exit_with(int code) { exit_code_ = code; }
  int exit_code() const { return exit_code_; }

  env::Env env;

 private:
  std::string& output_;
  int exit_code_ = 0;
};

struct Command {
  using Run = Status (*)(Context& context, const Arguments& arguments);

  Command(std::string command, std::string line, std::vector<OptionRecord> records, std::vector<std::string> lines,
          Run function);
  // With words that are not among the records.
  Command(std::string command, std::string usage, std::size_t least, std::size_t most, std::string line,
          std::vector<OptionRecord> records, std::vector<std::string> lines, Run function);

  std::string name;   // "predict", "model show"
  std::string words;  // "MODEL…": words without a dash
  std::size_t words_min = 0;
  std::size_t words_max = 0;
  std::string summary;  // one line
  std::vector<OptionRecord> options;
  std::vector<std::string> examples;
  Run run;
};

// Whether the output is for people: none of the table options asks for another form.
bool for_people(const OptionValues& options);

// Progress on standard error: a line that is rewritten for a person, a line per tenth in a log.
ProgressOptions progress_options(env::Env environment, std::string unit);

// --json, --csv and --columns, which every command that prints a table has.
std::vector<OptionRecord> table_options();
std::vector<OptionRecord> join(std::vector<OptionRecord> first, std::vector<OptionRecord> second);

// Reads what follows the command's name. An unknown option is named with its nearest match.
Result<Arguments> parse_arguments(const Command& command, const std::vector<std::string>& words);

// `program` is the name of the program that the command belongs to.
std::string command_help(std::string_view program, const Command& command);

}  // namespace orrery::cli
