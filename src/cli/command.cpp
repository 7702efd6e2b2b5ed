#include "cli/command.h"

#include <fmt/format.h>

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

Command::Command(std::string command, std::string line, std::vector<OptionRecord> records,
                 std::vector<std::string> lines, Run function)
    : name(std::move(command)),
      words(words_text(records)),
      summary(std::move(line)),
      options(std::move(records)),
      examples(std::move(lines)),
      run(function) {}

Command::Command(std::string command, std::string usage, std::size_t least, std::size_t most, std::string line,
                 std::vector<OptionRecord> records, std::vector<std::string> lines, Run function)
    : name(std::move(command)),
      words(std::move(usage)),
      words_min(least),
      words_max(most),
      summary(std::move(line)),
      options(std::move(records)),
      examples(std::move(lines)),
      run(function) {}

Result<Arguments> parse_arguments(const Command& command, const std::vector<std::string>& words) {
  static constexpr const char* kWords = "words";
  std::vector<OptionRecord> records = command.options;
  if (command.words_max > 0) records.push_back(text_option(kWords, "", "").word().list(command.words_max));
  ORRERY_TRY(OptionValues values, read_words(records, words));
  std::vector<std::string> plain = command.words_max > 0 ? values.texts(kWords) : std::vector<std::string>();
  if (plain.size() < command.words_min) return Error::invalid(fmt::format("expected {}", command.words));
  return Arguments{std::move(plain), std::move(values)};
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
