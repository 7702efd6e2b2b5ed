#include "cli/main.h"

#include <fmt/format.h>
#include <orrery_version.h>

#include "base/text.h"
#include "cli/commands.h"

namespace orrery::cli {

namespace {

std::string overview() {
  std::string text =
      "orrery: a working model of a deep-learning training cluster\n\n"
      "usage: orrery COMMAND [options]\n\ncommands:\n";
  for (const Command& command : all_commands()) text += fmt::format("  {:<18}{}\n", command.name, command.summary);
  text +=
      "\n`orrery COMMAND --help` explains one. Try:\n"
      "  orrery predict resnet50 --device V100 --batch 64\n"
      "  orrery compare gpt2 --steps 100000\n";
  return text;
}

std::size_t word_count(const std::string& name) {
  return split(name, ' ').size();
}

bool starts_with(const std::vector<std::string>& words, const std::string& name) {
  const auto parts = split(name, ' ');
  return words.size() >= parts.size() && std::equal(parts.begin(), parts.end(), words.begin());
}

const Command* find_command(const std::vector<std::string>& words) {
  const Command* found = nullptr;
  for (const Command& command : all_commands()) {
    const bool longer = found == nullptr || word_count(command.name) > word_count(found->name);
    if (longer && starts_with(words, command.name)) found = &command;
  }
  return found;
}

Outcome failure(const Error& error, std::string_view command) {
  const bool bad_input = error.code() == ErrorCode::kInvalidArgument || error.code() == ErrorCode::kNotFound;
  const std::string prefix = command.empty() ? "orrery" : fmt::format("orrery {}", command);
  return {bad_input ? kBadInput : kFailed, "", fmt::format("{}: {}\n", prefix, error.to_string())};
}

Outcome unknown_command(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const Command& command : all_commands()) {
    names.push_back(command.name);
    // "orrery model" alone: say what can follow.
    if (command.name.starts_with(words[0] + " ")) {
      return failure(Error::invalid(fmt::format("incomplete command \"{}\"; try `orrery {} {}`", words[0], command.name,
                                                command.words)),
                     "");
    }
  }
  const std::string hint = did_you_mean(words[0], names);
  return failure(Error::invalid(fmt::format("unknown command \"{}\"{}", words[0],
                                            hint.empty() ? "; `orrery --help` lists them" : hint)),
                 "");
}

bool asks_for_help(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") return false;
    if (word == "--help" || word == "-h") return true;
  }
  return false;
}

}  // namespace

Outcome run(const std::vector<std::string>& words, env::Env environment) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") return {kDone, overview(), ""};
  if (words[0] == "--version") return {kDone, fmt::format("orrery {}\n", kVersion), ""};
  const Command* command = find_command(words);
  if (command == nullptr) return unknown_command(words);
  if (asks_for_help(words)) return {kDone, command_help(*command), ""};

  const std::vector<std::string> rest(words.begin() + static_cast<std::ptrdiff_t>(word_count(command->name)),
                                      words.end());
  const auto arguments = parse_arguments(*command, rest);
  if (!arguments) {
    Outcome outcome = failure(arguments.error(), command->name);
    outcome.errors += fmt::format("`orrery {} --help` shows what it takes.\n", command->name);
    return outcome;
  }
  std::string output;
  Context context(environment, output);
  const Status status = command->run(context, *arguments);
  if (!status) {
    Outcome outcome = failure(status.error(), command->name);
    outcome.output = std::move(output);
    return outcome;
  }
  return {context.exit_code(), std::move(output), ""};
}

}  // namespace orrery::cli
