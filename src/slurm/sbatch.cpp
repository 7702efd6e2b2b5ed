#include "slurm/sbatch.h"

#include <fmt/format.h>

#include "base/text.h"

namespace orrery::slurm {

namespace {

constexpr Seconds kWaitMax(3600);  // between looks at sbatch, which itself waits for the array

}  // namespace

Status run_array(const JobArray& array, env::Processes& processes) {
  env::ProcessSpec spec;
  spec.argv = {"sbatch", "--wait", "--parsable", "--job-name", array.name, "--output", array.output};
  spec.argv.push_back(fmt::format("--array=0-{}", array.tasks - 1));
  spec.argv.insert(spec.argv.end(), array.words.begin(), array.words.end());
  spec.argv.push_back(array.script);
  spec.output = env::Output::kCapture;
  auto process = processes.spawn(spec);
  if (!process) return std::move(process).error().with_context("sbatch");
  for (;;) {
    ORRERY_TRY(const auto exit, (*process)->wait(kWaitMax));
    if (!exit) continue;
    if (exit->ok()) return {};
    const std::string said(trim((*process)->standard_error()));
    return Error::infeasible(
        fmt::format("the Slurm array failed ({}){}{}", to_string(*exit), said.empty() ? "" : ": ", said));
  }
}

std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace orrery::slurm
