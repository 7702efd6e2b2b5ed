#pragma once
// Submitting to Slurm with `sbatch`.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "env/processes.h"

namespace orrery::slurm {

// Slurm refuses arrays of more tasks unless its configuration raises MaxArraySize (1001).
inline constexpr std::size_t kArrayTasksMax = 1000;

// A job array: the script runs once per task, with SLURM_ARRAY_TASK_ID from 0 on.
struct JobArray {
  std::string name;
  std::string script;              // path; Slurm copies it when it is submitted
  std::string output;              // path of a task's output; %a is its number
  std::size_t tasks = 0;           // 1 to kArrayTasksMax
  std::vector<std::string> words;  // further words for sbatch, such as a partition
};

// Submits the array and returns when all its tasks have ended. The error is that of sbatch, or says that a task failed.
Status run_array(const JobArray& array, env::Processes& processes);

// `text` as one word of a shell script.
std::string shell_quoted(std::string_view text);

}  // namespace orrery::slurm
