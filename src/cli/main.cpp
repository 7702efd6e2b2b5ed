#include "cli/main.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <orrery_version.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/commands.h"
#include "env/posix.h"

namespace orrery::cli {

namespace {

// A file that is opened while one of these is closed would take its place, and get what is meant for it. Where nothing
// is open, reading and writing fail instead.
void keep_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    const int flags = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", flags) < 0) return;
  }
}

std::string overview(const Program& program) {
  struct Line {
    std::string_view group;
    std::string names;  // "trace show|summary"
    std::string_view brief;
  };
  std::vector<Line> lines;
  for (const CommandEntry& entry : program.commands) {
    if (entry.group == kHidden) continue;
    if (!entry.brief.empty()) {
      lines.push_back({entry.group, std::string(entry.name), entry.brief});
      continue;
    }
    const bool first = lines.back().names.find(' ') == std::string::npos;  // "simulate [compare|…"
    lines.back().names += fmt::format("{}{}", first ? " [" : "|", entry.name.substr(entry.name.find(' ') + 1));
  }
  std::size_t group_width = 0;
  std::size_t width = 0;
  for (Line& line : lines) {
    if (line.names.find('[') != std::string::npos) line.names += "]";
    group_width = std::max(group_width, line.group.size());
    width = std::max(width, line.names.size());
  }
  std::string text = fmt::format("{0}: {1}\n\nusage: {0} COMMAND [options]\n\n", program.name, program.summary);
  std::string_view group;
  for (const Line& line : lines) {
    text += fmt::format("{:<{}}  {:<{}}  {}\n", line.group == group ? "" : line.group, group_width, line.names, width,
                        line.brief);
    group = line.group;
  }
  text += fmt::format("\n`{} help COMMAND` explains one command. Try:\n", program.name);
  for (const std::string& example : program.examples) text += fmt::format("  {}\n", example);
  return text;
}

// Whether the words begin with "model show", which may be the first two of them.
bool begin_with(const std::vector<std::string>& words, std::string_view name) {
  const std::size_t gap = name.find(' ');
  if (words[0] != name.substr(0, gap)) return false;
  return gap == std::string_view::npos || (words.size() > 1 && words[1] == name.substr(gap + 1));
}

// "simulate compare" before "simulate".
std::optional<Command> find_command(const Program& program, const std::vector<std::string>& words) {
  const CommandEntry* found = nullptr;
  for (const CommandEntry& entry : program.commands) {
    if ((found == nullptr || entry.name.size() > found->name.size()) && begin_with(words, entry.name)) found = &entry;
  }
  if (found == nullptr) return std::nullopt;
  return found->make();
}

// The words before "--": what comes after them is for another program.
bool has_word(const std::vector<std::string>& words, std::string_view wanted) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::find(words.begin(), end, wanted) != end;
}

// On standard error, as JSON if --json asks for that: standard output is for answers.
Outcome failure(const Program& program, const Error& error, std::string_view command,
                const std::vector<std::string>& words, std::string_view advice = "") {
  const bool bad_input = error.code() == ErrorCode::kInvalidArgument || error.code() == ErrorCode::kNotFound;
  const int exit_code = bad_input ? kBadInput : kFailed;
  if (has_word(words, "--json")) {
    const nlohmann::ordered_json json = {{"error",
                                          {{"code", to_string(error.code())},
                                           {"message", error.to_string()},
                                           {"command", command},
                                           {"exit_code", exit_code}}}};
    return {exit_code, "", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"};
  }
  const std::string prefix = command.empty() ? program.name : fmt::format("{} {}", program.name, command);
  return {exit_code, "", fmt::format("{}: {}\n{}", prefix, error.to_string(), advice)};
}

Outcome unknown_command(const Program& program, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const CommandEntry& entry : program.commands) {
    if (entry.group == kHidden) continue;
    names.emplace_back(entry.name);
    // "orrery model" alone: the error says what can follow.
    if (entry.name.starts_with(words[0] + " ")) {
      return failure(program,
                     Error::invalid(fmt::format("incomplete command \"{}\"; try `{} {} {}`", words[0], program.name,
                                                entry.name, entry.make().words)),
                     "", words);
    }
  }
  const std::string hint = did_you_mean(words[0], names);
  const std::string advice = hint.empty() ? fmt::format("; `{} --help` lists them", program.name) : hint;
  return failure(program, Error::invalid(fmt::format("unknown command \"{}\"{}", words[0], advice)), "", words);
}

bool asks_for_help(const std::vector<std::string>& words) {
  return has_word(words, "--help") || has_word(words, "-h");
}

// "orrery help", "orrery help model show"; a first word of several commands, like "model", shows all of them.
Outcome help_on(const Program& program, const std::vector<std::string>& words) {
  if (words.empty()) return {kDone, overview(program), ""};
  if (const auto command = find_command(program, words)) return {kDone, command_help(program.name, *command), ""};
  std::string text;
  for (const CommandEntry& entry : program.commands) {
    if (words.size() > 1 || entry.group == kHidden || !entry.name.starts_with(words[0] + " ")) continue;
    text += (text.empty() ? "" : "\n") + command_help(program.name, entry.make());
  }
  if (text.empty()) return unknown_command(program, words);
  return {kDone, text, ""};
}

}  // namespace

Outcome run(const Program& program, const std::vector<std::string>& words, env::Env environment) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h") return help_on(program, {});
  if (words[0] == "help") return help_on(program, {words.begin() + 1, words.end()});
  if (words[0] == "--version") return {kDone, fmt::format("{} {}\n", program.name, kVersion), ""};
  const auto command = find_command(program, words);
  if (!command) return unknown_command(program, words);
  if (asks_for_help(words)) return {kDone, command_help(program.name, *command), ""};

  const std::ptrdiff_t name_words = command->name.find(' ') == std::string::npos ? 1 : 2;
  const std::vector<std::string> rest(words.begin() + name_words, words.end());
  const auto arguments = parse_arguments(*command, rest);
  if (!arguments) {
    return failure(program, arguments.error(), command->name, words,
                   fmt::format("`{} {} --help` shows what it takes.\n", program.name, command->name));
  }
  std::string output;
  Context context(environment, output);
  const Status status = command->run(context, *arguments);
  if (!status) {
    Outcome outcome = failure(program, status.error(), command->name, words);
    outcome.output = std::move(output);
    return outcome;
  }
  return {context.exit_code(), std::move(output), ""};
}

std::vector<Command> make_commands(std::span<const CommandEntry> entries) {
  std::vector<Command> commands;
  for (const CommandEntry& entry : entries) {
    if (entry.group != kHidden) commands.push_back(entry.make());
  }
  return commands;
}

const Program& orrery_program() {
  static const Program kOrrery{
      "orrery",
      "a working model of a deep-learning training cluster",
      orrery_commands(),
      {"orrery predict resnet50 --device V100 --batch 64", "orrery choose gpt2 --steps 100000"}};
  return kOrrery;
}

Outcome run(const std::vector<std::string>& words, env::Env environment) {
  return run(orrery_program(), words, environment);
}

int run_as_process(const Program& program, int argc, char** argv) {
  keep_standard_descriptors();
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  Outcome outcome = run(program, words, env::make_real_env());
  if (!env::write_all(STDOUT_FILENO, outcome.output)) {
    const int error = errno;
    const std::string what = fmt::format("{}: cannot write to standard output", program.name);
    outcome.errors += env::posix_error(error, what).message() + "\n";
    if (outcome.exit_code == kDone) outcome.exit_code = kFailed;
  }
  (void)env::write_all(STDERR_FILENO, outcome.errors);
  return outcome.exit_code;
}

}  // namespace orrery::cli
