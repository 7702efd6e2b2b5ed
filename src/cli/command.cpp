#include "cli/command.h"

#include <fmt/format.h>

#include "base/text.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/terminal.h"

namespace orrery::cli {

Status Context::print_table(const Table& table, const OptionValues& options) {
  Table shown = table;
  if (options.has("columns")) {
    ORRERY_TRY(shown, table.select(options.texts("columns")));
  }
  if (options.flag("json"))
    print(shown.to_json() + "\n");
  else if (options.flag("csv"))
    print(shown.to_csv());
  else
    print(shown.to_text());
  return {};
}

Status Context::write_file(const std::string& path, std::string_view content, const OptionValues& options) {
  ORRERY_TRY_VOID(env.files.write_atomically(path, content));
  if (for_people(options)) print(fmt::format("wrote {}\n", path));
  return {};
}

bool for_people(const OptionValues& options) {
  return !options.flag("json") && !options.flag("csv") && !options.has("columns");
}

ProgressOptions progress_options(env::Env environment, std::string unit) {
  return {.terminal = environment.terminal.shows_errors(),
          .sink = [environment](std::string_view text) { environment.terminal.write_error(text); },
          .now = [environment] { return environment.clock.monotonic(); },
          .unit = std::move(unit)};
}

std::vector<OptionRecord> table_options() {
  return {flag_option("json", "print JSON"), flag_option("csv", "print CSV"),
          text_option("columns", "", "columns to show, by their JSON keys").in("KEY").list()};
}

std::vector<OptionRecord> join(std::vector<OptionRecord> first, std::vector<OptionRecord> second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

namespace {

// By "--name" or "-n".
const OptionRecord* find_record(const Command& command, std::string_view word) {
  for (const OptionRecord& record : command.options) {
    if (word.starts_with("--") && word.substr(2) == record.name) return &record;
    if (word.size() == 2 && record.letter != 0 && word[1] == record.letter) return &record;
  }
  return nullptr;
}

Error unknown_option(const Command& command, std::string_view name) {
  std::vector<std::string> names;
  for (const OptionRecord& record : command.options) names.push_back("--" + record.name);
  return Error::invalid(fmt::format("unknown option \"{}\"{}", name, did_you_mean(name, names)));
}

}  // namespace

Result<Arguments> parse_arguments(const Command& command, const std::vector<std::string>& words) {
  Arguments arguments{{}, OptionValues(command.options)};
  bool only_words = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (only_words || word.size() < 2 || word[0] != '-') {
      arguments.words.push_back(word);
      continue;
    }
    if (word == "--") {
      only_words = true;
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string head = word.substr(0, equals);
    const OptionRecord* record = find_record(command, head);
    if (record == nullptr) return unknown_option(command, head);
    std::string value = "true";
    if (equals != std::string::npos)
      value = word.substr(equals + 1);
    else if (record->type != OptionType::kFlag) {
      if (i + 1 == words.size()) return Error::invalid(fmt::format("{} needs a value", head));
      value = words[++i];
    }
    Status status = arguments.options.set(record->name, value);
    if (!status) return Error::invalid("--" + status.error().message());
  }
  if (arguments.words.size() < command.words_min) {
    return Error::invalid(fmt::format("expected {}", command.words));
  }
  if (arguments.words.size() > command.words_max) {
    return Error::invalid(fmt::format("unexpected \"{}\"", arguments.words[command.words_max]));
  }
  ORRERY_TRY_VOID(arguments.options.check_required());
  return arguments;
}

std::string command_help(std::string_view program, const Command& command) {
  std::string text = fmt::format("{}\n\nusage: {} {}{}{} [options]\n", command.summary, program, command.name,
                                 command.words.empty() ? "" : " ", command.words);
  if (!command.options.empty()) text += "\noptions:\n" + help_text(command.options);
  if (!command.examples.empty()) text += "\nexamples:\n";
  for (const std::string& example : command.examples) text += "  " + example + "\n";
  return text;
}

}  // namespace orrery::cli
