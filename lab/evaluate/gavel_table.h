#pragma once
// Gavel's table of throughputs (Narayanan et al., OSDI 2020) for `orrery evaluate scaling`: steps per second of jobs on
// 1, 2, 4 and 8 GPUs of a kind, on one server or spread over several ("v100_unconsolidated").
//
// JSON: {GPU: {"('MODEL (batch size B)', K)": {"null": steps/s of the job alone, …}}}. K workers count their steps
// together, so one step takes K / (steps/s). Jobs without a batch size, and those that did not fit (0), are left out.
//
// Groups, the time on one GPU known in both:
//
//   gavel                     one run left out: a model, batch, kind of GPU and number of them above 1
//   gavel, number never seen  all batches of a model on a number of GPUs left out together
//
// Intervals: the errors on other models.

#include "lab/evaluate/left_out.h"
#include "lab/evaluate/suites.h"
#include "lab/lab.h"
#include "lab/methods/scaled_run.h"

namespace orrery::lab {

struct GavelRun {
  std::string model, gpus;  // gpus: their kind
  ScaledRun run{};
};

// Any text gives runs or an error that names the key.
Result<std::vector<GavelRun>> parse_gavel_table(std::string_view json);

// Of `folder`/simulation_throughputs.json.gz.
Result<std::vector<Case>> gavel_cases(env::Files& files, const std::string& folder);

}  // namespace orrery::lab
