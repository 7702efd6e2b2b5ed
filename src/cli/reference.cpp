#include <algorithm>
#include <fmt/format.h>
#include <orrery_version.h>

#include "cli/commands.h"
#include "env/files.h"
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

std::string manual_head(std::string_view page, std::string_view summary) {
  return fmt::format(".TH \"{}\" 1 \"\" \"orrery {}\" \"Orrery\"\n.SH NAME\n{} \\- {}\n", page, kVersion,
                     roff_text(page), roff_text(summary));
}

// The name of the manual page of a command: "orrery-model-show".
std::string page_of(std::string_view command) {
  std::string page = fmt::format("orrery-{}", command);
  std::replace(page.begin(), page.end(), ' ', '-');
  return page;
}

std::string manual_of(const Command& command) {
  std::string text = manual_head(page_of(command.name), command.summary);
  text +=
      fmt::format(".SH SYNOPSIS\n\\fBorrery {}\\fR {} [options]\n", roff_text(command.name), roff_text(command.words));
  if (!command.options.empty()) text += ".SH OPTIONS\n" + roff_options(command.options);
  if (!command.examples.empty()) text += ".SH EXAMPLES\n.nf\n";
  for (const std::string& example : command.examples) text += roff_text(example) + "\n";
  if (!command.examples.empty()) text += ".fi\n";
  return text + ".SH SEE ALSO\n\\fBorrery\\fR(1)\n";
}

std::string manual_of(const Program& program, const std::vector<Command>& commands) {
  std::string text = manual_head(program.name, program.summary);
  text += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR COMMAND [options]\n.SH COMMANDS\n", program.name);
  for (const Command& command : commands) {
    text += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", roff_text(page_of(command.name)), roff_text(command.summary));
  }
  text += ".SH EXIT STATUS\n0: done; 1: failed; 2: wrong input.\n.SH EXAMPLES\n.nf\n";
  for (const std::string& example : program.examples) text += roff_text(example) + "\n";
  return text + ".fi\n";
}

Status write_manual(Context& context, const std::vector<Command>& commands, const std::string& folder) {
  ORRERY_TRY_VOID(context.env.files.make_directory(folder));
  const auto write = [&](const std::string& page, const std::string& text) {
    return context.env.files.write_atomically(fmt::format("{}/{}.1", folder, page), text);
  };
  for (const Command& command : commands) ORRERY_TRY_VOID(write(page_of(command.name), manual_of(command)));
  ORRERY_TRY_VOID(write("orrery", manual_of(orrery_program(), commands)));
  context.print(fmt::format("wrote {} manual pages to {}\n", commands.size() + 1, folder));
  return {};
}

Status run_reference(Context& context, const Arguments& arguments) {
  const std::vector<Command> commands = make_commands(orrery_commands());
  if (arguments.options.has("man")) return write_manual(context, commands, arguments.options.text("man"));
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
          "print the reference page, or the JSON Schema, of all commands; or write their manual pages",
          {choice_option("format", "markdown", {"markdown", "schema"}, "what to print"),
           text_option("man", "", "write a manual page for every command into this folder instead").in("DIR")},
          {"orrery reference > docs/reference/commands.md", "orrery reference --format schema",
           "orrery reference --man man1"},
          run_reference};
}

}  // namespace orrery::cli
