#pragma once
// A sweep whose runs are tasks of a Slurm job array, for `orrery simulate --slurm`.
//
// Beside the sweep's file there is a folder FILE.slurm with the list of runs, the script of the tasks, the result of
// every task (a sweep file of its own) and its output. Slurm and this program must see the folder on the same path. A
// task is `orrery simulate` itself with the same options and one policy and seed, so its rows are those of a local run.

#include "cli/command.h"
#include "simulate/sweep.h"

namespace orrery::cli {

// Submits what is missing in the file of the sweep, waits for it and adds the rows to the file. Rows that an earlier,
// interrupted sweep left in the folder are taken first. Errors name the log of a task that failed.
Status run_on_slurm(Context& context, const std::string& trace, const OptionValues& options,
                    const simulate::SweepInput& sweep);

}  // namespace orrery::cli
