#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/text.h"
#include "cli/commands.h"
#include "hardware/device.h"
#include "workload/zoo/zoo.h"

namespace orrery::cli {

namespace {

std::string names_of_models() {
  std::string text;
  for (const workload::ModelVariant& variant : workload::model_variants()) {
    if (variant.listed) text += variant.name + " ";
  }
  return text;
}

std::string names_of_devices() {
  std::string text;
  for (const hardware::Device& device : hardware::all_devices()) {
    if (device.name.find(' ') == std::string_view::npos) text += std::string(device.name) + " ";
  }
  return text;
}

// One case per command: "predict "* for one word, "model show" for two.
std::string option_cases() {
  std::string cases;
  for (const Command& command : make_commands(orrery_commands())) {
    const bool two_words = command.name.find(' ') != std::string::npos;
    const std::string pattern = two_words ? fmt::format("\"{}\"", command.name) : fmt::format("\"{} \"*", command.name);
    std::string words = "--help";
    for (const OptionRecord& record : command.options) {
      if (!record.is_word) words += " --" + record.name;
    }
    if (command.words.starts_with("MODEL")) words += " $models";
    cases += fmt::format("    {}) words=\"{}\" ;;\n", pattern, words);
  }
  return cases;
}

std::string value_cases() {
  std::map<std::string, std::vector<std::string>> choices;
  for (const Command& command : make_commands(orrery_commands())) {
    for (const OptionRecord& record : command.options) {
      if (!record.choices.empty()) choices[record.name] = record.choices;
    }
  }
  std::string cases = fmt::format("    --device) words=\"{}\" ;;\n", names_of_devices());
  for (const auto& [name, values] : choices) {
    cases += fmt::format("    --{}) words=\"{}\" ;;\n", name, fmt::join(values, " "));
  }
  return cases;
}

// One bash function serves bash and, through bashcompinit, zsh.
std::string bash_script() {
  std::set<std::string> first_words;
  std::map<std::string, std::string> second_words;
  for (const Command& command : make_commands(orrery_commands())) {
    const auto parts = split(command.name, ' ');
    first_words.insert(parts[0]);
    if (parts.size() > 1) second_words[parts[0]] += parts[1] + " ";
  }
  std::string second_cases;
  for (const auto& [first, words] : second_words)
    second_cases += fmt::format("    {}) words=\"{}\" ;;\n", first, words);
  return fmt::format(R"(_orrery() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
  local models="{}"
  local words="{} help"
  case "${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}}" in
{}  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="{} help"; fi
  if [ "$COMP_CWORD" -eq 2 ]; then
    case "$previous" in
{}    esac
  fi
  case "$previous" in
{}  esac
  # shellcheck disable=SC2207
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _orrery orrery
)",
                     names_of_models(), fmt::join(first_words, " "), option_cases(), fmt::join(first_words, " "),
                     second_cases, value_cases());
}

// A text in single quotes, as fish reads it.
std::string fish_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

// Whether the words so far are those of a command, or of none yet.
constexpr const char* kFishHelpers = R"(function __orrery_is
  set -l words (commandline -opc)
  set -e words[1]
  test "$words[1..2]" = "$argv"; or test "$words[1]" = "$argv"
end
function __orrery_first
  test (count (commandline -opc)) -eq 1
end
function __orrery_second
  set -l words (commandline -opc)
  test (count $words) -eq 2; and test "$words[2]" = "$argv"
end
)";

std::string fish_option(const std::string& condition, const OptionRecord& record) {
  std::string line = fmt::format("complete -c orrery -n {} -l {} -d {}", fish_quoted(condition), record.name,
                                 fish_quoted(record.help));
  if (record.type == OptionType::kFlag) return line + "\n";
  if (record.name == "device") return fmt::format("{} -x -a {}\n", line, fish_quoted(names_of_devices()));
  if (record.choices.empty()) return line + " -r\n";
  return fmt::format("{} -x -a {}\n", line, fish_quoted(fmt::format("{}", fmt::join(record.choices, " "))));
}

std::string fish_script() {
  std::string text = kFishHelpers;
  std::set<std::string> first_words;
  for (const Command& command : make_commands(orrery_commands())) {
    const auto parts = split(command.name, ' ');
    const bool is_new = first_words.insert(parts[0]).second;
    const std::string summary = parts.size() == 1 ? command.summary : "";
    if (is_new)
      text += fmt::format("complete -c orrery -f -n __orrery_first -a {} -d {}\n", parts[0], fish_quoted(summary));
    if (parts.size() > 1) {
      text += fmt::format("complete -c orrery -f -n '__orrery_second {}' -a {} -d {}\n", parts[0], parts[1],
                          fish_quoted(command.summary));
    }
    const std::string condition = "__orrery_is " + command.name;
    for (const OptionRecord& record : command.options) {
      if (!record.is_word) text += fish_option(condition, record);
    }
    if (command.words.starts_with("MODEL")) {
      text += fmt::format("complete -c orrery -n '{}' -a {}\n", condition, fish_quoted(names_of_models()));
    }
  }
  return text + "complete -c orrery -f -n __orrery_first -a help -d 'explain a command'\n";
}

Status run_completion(Context& context, const Arguments& arguments) {
  const std::string& shell = arguments.options.text("shell");
  if (shell == "zsh") context.print("autoload -U +X bashcompinit && bashcompinit\n");
  context.print(shell == "fish" ? fish_script() : bash_script());
  return {};
}

}  // namespace

Command completion_command() {
  return {"completion",
          "print completion for bash, zsh or fish",
          {choice_option("shell", "", {"bash", "zsh", "fish"}, "whose completion").word().required()},
          {"orrery completion bash > /etc/bash_completion.d/orrery", "source <(orrery completion zsh)",
           "orrery completion fish > ~/.config/fish/completions/orrery.fish"},
          run_completion};
}

}  // namespace orrery::cli
