#pragma once
// Training runs measured by Politecnico di Milano with a-GPUBench, and the ways to leave some of them out.
//
// A table is a CSV file of runs of one network with one framework; columns are named as in the raw benchmark table
// ("batch size(13)"). It names a GPU by the GFLOP/s of its board: 1195 is a P600, 5591 half a K80, 7365 half an M60,
// 11339 a GTX 1080 Ti. The first and the last stood in the laboratory (host 0), the others in a public cloud (host 1).

#include <optional>
#include <string>
#include <vector>

#include "env/files.h"
#include "lab/lab.h"
#include "lab/methods/run_law.h"

namespace orrery::lab {

struct PolimiRun {
  std::string gpu{};  // a name of the device table; empty: the file does not say
  MeasuredRun run{};
};

// Errors name the file and the line. A file without threads had four.
Result<std::vector<PolimiRun>> parse_polimi_runs(std::string_view csv);
Result<std::vector<PolimiRun>> read_polimi_runs(env::Files& files, const std::string& folder, const std::string& file);

struct CellSplit {
  double gpus = 1;
  RunSplit split;
};

// Below, `known` are runs of one network to learn from and `asked` runs to be predicted; they may be the same. What is
// held back is left out of the known ones, and all that is asked about.

// Held back: the largest batch of every number of GPUs. One split per number of GPUs of which a smaller batch is known;
// runs on other numbers of GPUs weigh 0.3.
std::vector<CellSplit> largest_batch_splits(std::span<const MeasuredRun> known, std::span<const MeasuredRun> asked);
// Held back: the largest number of GPUs, if two smaller ones are known. Runs weigh as the root of their GPUs.
std::optional<RunSplit> most_gpus_split(std::span<const MeasuredRun> known, std::span<const MeasuredRun> asked);
// Held back: networks of more than `modules_max` inner modules.
std::optional<RunSplit> modules_split(std::span<const MeasuredRun> known, std::span<const MeasuredRun> asked,
                                      double modules_max);
// Held back: the GPU with the highest peak, if two others are known. Each of them weighs the same.
std::optional<RunSplit> fastest_gpu_split(std::span<const MeasuredRun> known, std::span<const MeasuredRun> asked);

}  // namespace orrery::lab
