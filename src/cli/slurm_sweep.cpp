#include "cli/slurm_sweep.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "env/files.h"
#include "env/real_processes.h"
#include "service/job_traces.h"
#include "service/simulate_setup.h"
#include "slurm/sbatch.h"

namespace orrery::cli {

namespace {

using slurm::shell_quoted;

constexpr std::string_view kPart = "part-";

// The options that decide the result of a run, as they were given.
std::string setup_words(const OptionValues& options) {
  std::string words;
  std::vector<OptionRecord> records = join(service::setup_fields().records(), service::job_trace_fields().records());
  records.push_back(service::cluster_option());
  for (const OptionRecord& record : records) {
    if (!options.given(record.name)) continue;
    words += fmt::format(" --{}", record.name);
    if (record.type != OptionType::kFlag) words += " " + shell_quoted(options.display(record.name));
  }
  return words;
}

struct Array {
  std::string folder;
  std::size_t tasks = 0;
  std::size_t runs_per_task = 1;
};

Status write_array(Context& context, const Array& array, const std::string& trace, const OptionValues& options,
                   const std::vector<simulate::SweepRun>& runs) {
  std::string list;
  for (const simulate::SweepRun& run : runs) list += fmt::format("{} {}\n", run.policy, run.seed);
  ORRERY_TRY(const std::string program, env::program_path());
  const std::string folder = shell_quoted(array.folder);
  const std::string script = fmt::format(
      "#!/bin/sh\n"
      "# Written by orrery simulate --slurm: a task makes its lines of the list of runs.\n"
      "first=$((SLURM_ARRAY_TASK_ID * {0} + 1))\n"
      "last=$((first + {0} - 1))\n"
      "sed -n \"${{first}},${{last}}p\" {1}/runs | while read -r policy seed; do\n"
      "  {2} simulate {3}{4} --policy \"$policy\" --seed \"$seed\" --threads 1 --json \\\n"
      "    --sweep {1}/{5}\"$SLURM_ARRAY_TASK_ID\".jsonl < /dev/null > /dev/null || exit 1\n"
      "done\n",
      array.runs_per_task, folder, shell_quoted(program), shell_quoted(trace), setup_words(options), kPart);
  ORRERY_TRY_VOID(context.env.files.write_atomically(array.folder + "/runs", list));
  return context.env.files.write_atomically(array.folder + "/task.sh", script);
}

// Takes the rows of all tasks, and their files away.
Status adopt_parts(Context& context, const std::string& folder, const simulate::SweepInput& sweep) {
  ORRERY_TRY(const std::vector<std::string> names, context.env.files.list(folder));
  for (const std::string& name : names) {
    if (!name.starts_with(kPart)) continue;
    ORRERY_TRY_VOID(simulate::adopt_rows(sweep, context.env.files, folder + "/" + name));
    ORRERY_TRY_VOID(context.env.files.remove(folder + "/" + name));
  }
  return {};
}

Status submit(Context& context, const Array& array, const OptionValues& options) {
  slurm::JobArray job{.name = "orrery-sweep",
                      .script = array.folder + "/task.sh",
                      .output = array.folder + "/log-%a.txt",
                      .tasks = array.tasks,
                      .words = {}};
  for (const std::string& word : split(options.has("sbatch") ? options.text("sbatch") : "", ' ')) {
    if (!word.empty()) job.words.push_back(word);
  }
  Status ended = slurm::run_array(job, context.env.processes);
  if (ended) return ended;
  return std::move(ended).error().with_context(fmt::format("--slurm (tasks print into {}/log-*.txt)", array.folder));
}

}  // namespace

Status run_on_slurm(Context& context, const std::string& trace, const OptionValues& options,
                    const simulate::SweepInput& sweep) {
  Array array{.folder = sweep.file + ".slurm"};
  ORRERY_TRY_VOID(context.env.files.make_directory(array.folder));
  ORRERY_TRY_VOID(adopt_parts(context, array.folder, sweep));
  ORRERY_TRY(const std::vector<simulate::SweepRun> runs, simulate::missing_runs(sweep, context.env.files));
  if (runs.empty()) return {};
  array.runs_per_task = (runs.size() + slurm::kArrayTasksMax - 1) / slurm::kArrayTasksMax;
  array.tasks = (runs.size() + array.runs_per_task - 1) / array.runs_per_task;
  ORRERY_TRY_VOID(write_array(context, array, trace, options, runs));
  const Status ended = submit(context, array, options);
  // What other tasks found is kept even if one failed.
  ORRERY_TRY_VOID(adopt_parts(context, array.folder, sweep));
  if (!ended) return ended;
  ORRERY_TRY(const std::vector<simulate::SweepRun> left, simulate::missing_runs(sweep, context.env.files));
  if (left.empty()) return {};
  return Error::infeasible(fmt::format("{} of {} runs are missing, the first {} with seed {}; see {}/log-*.txt",
                                       left.size(), runs.size(), left[0].policy, left[0].seed, array.folder));
}

}  // namespace orrery::cli
