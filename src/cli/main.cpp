#include "cli/main.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <orrery_version.h>

#include "base/text.h"
#include "cli/commands.h"

namespace orrery::cli {

namespace {

std::string overview() {
  std::string text =
      "orrery: a working model of a deep-learning training cluster\n\n"
      "usage: orrery COMMAND [options]\n\ncommands:\n";
  std::size_t width = 0;
  for (const Command& command : all_commands()) width = std::max(width, command.name.size());
  for (const Command& command : all_commands()) {
    text += fmt::format("  {:<{}}  {}\n", command.name, width, command.summary);
  }
  text +=
      "\n`orrery help COMMAND` explains one. Try:\n"
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

// The words before "--"; those after it are for another program.
bool has_word(const std::vector<std::string>& words, std::string_view wanted) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::find(words.begin(), end, wanted) != end;
}

// On standard error, as JSON if --json asks for that: standard output is for answers.
Outcome failure(const Error& error, std::string_view command, const std::vector<std::string>& words,
                std::string_view advice = "") {
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
  const std::string prefix = command.empty() ? "orrery" : fmt::format("orrery {}", command);
  return {exit_code, "", fmt::format("{}: {}\n{}", prefix, error.to_string(), advice)};
}

Outcome unknown_command(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const Command& command : all_commands()) {
    names.push_back(command.name);
    // "orrery model" alone: prints what can follow.
    if (command.name.starts_with(words[0] + " ")) {
      return failure(Error::invalid(fmt::format("incomplete command \"{}\"; try `orrery {} {}`", words[0], command.name,
                                                command.words)),
                     "", words);
    }
  }
  const std::string hint = did_you_mean(words[0], names);
  return failure(Error::invalid(fmt::format("unknown command \"{}\"{}", words[0],
                                            hint.empty() ? "; `orrery --help` lists them" : hint)),
                 "", words);
}

bool asks_for_help(const std::vector<std::string>& words) {
  return has_word(words, "--help") || has_word(words, "-h");
}

// "orrery help", "orrery help model show"; a first word of several commands, like "model", shows all of them.
Outcome help_on(const std::vector<std::string>& words) {
  if (words.empty()) return {kDone, overview(), ""};
  if (const Command* const command = find_command(words)) return {kDone, command_help(*command), ""};
  std::string text;
  for (const Command& command : all_commands()) {
    if (words.size() > 1 || !command.name.starts_with(words[0] + " ")) continue;
    text += (text.empty() ? "" : "\n") + command_help(command);
  }
  if (text.empty()) return unknown_command(words);
  return {kDone, text, ""};
}

}  // namespace

Outcome run(const std::vector<std::string>& words, env::Env environment) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h") return help_on({});
  if (words[0] == "help") return help_on({words.begin() + 1, words.end()});
  if (words[0] == "--version") return {kDone, fmt::format("orrery {}\n", kVersion), ""};
  const Command* command = find_command(words);
  if (command == nullptr) return unknown_command(words);
  if (asks_for_help(words)) return {kDone, command_help(*command), ""};

  const std::vector<std::string> rest(words.begin() + static_cast<std::ptrdiff_t>(word_count(command->name)),
                                      words.end());
  const auto arguments = parse_arguments(*command, rest);
  if (!arguments) {
    return failure(arguments.error(), command->name, words,
                   fmt::format("`orrery {} --help` shows what it takes.\n", command->name));
  }
  std::string output;
  Context context(environment, output);
  const Status status = command->run(context, *arguments);
  if (!status) {
    Outcome outcome = failure(status.error(), command->name, words);
    outcome.output = std::move(output);
    return outcome;
  }
  return {context.exit_code(), std::move(output), ""};
}

}  // namespace orrery::cli
