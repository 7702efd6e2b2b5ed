#include <fmt/format.h>

#include "cli/commands.h"
#include "workload/zoo/zoo.h"

namespace orrery::cli {

std::string reference_of(std::string_view program, const std::vector<Command>& commands) {
  std::string text;
  for (const Command& command : commands) {
    const std::string_view gap = command.words.empty() ? "" : " ";
    text += fmt::format("\n## {} {}{}{}\n\n{}\n", program, command.name, gap, command.words, command.summary);
    if (!command.options.empty()) text += "\n" + markdown_reference(command.options);
    if (!command.examples.empty()) text += fmt::format("\n```sh\n{}\n```\n", fmt::join(command.examples, "\n"));
  }
  return text;
}

namespace {

Status run_reference(Context& context, const Arguments& arguments) {
  const std::vector<Command> commands = make_commands(orrery_commands());
  if (arguments.options.text("format") == "schema") {
    std::string text = "{\n";
    for (const Command& command : commands) {
      text += fmt::format("{}\"{}\": {}", text.size() > 2 ? ",\n" : "", command.name,
                          json_schema(command.options, "options of orrery " + command.name));
    }
    context.print(text + "\n}\n");
    return {};
  }
  context.print("# Commands\n\nMade by `orrery reference` from the option records of the program.\n");
  context.print(reference_of("orrery", commands));
  context.print("\n# Model families\n");
  for (const workload::ModelFamily& family : workload::model_families()) {
    context.print(
        fmt::format("\n## {}\n\n{}\n\n{}", family.name, family.summary, markdown_reference(family.parameters, "")));
  }
  return {};
}

}  // namespace

Command reference_command() {
  return {"reference",
          "print the reference page, or the JSON Schema, of all commands",
          {choice_option("format", "markdown", {"markdown", "schema"}, "what to print")},
          {"orrery reference > docs/reference/commands.md", "orrery reference --format schema"},
          run_reference};
}

}  // namespace orrery::cli
