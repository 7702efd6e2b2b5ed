#pragma once
// The options that `distributed` and the processes it starts have in common.

#include "cli/command.h"
#include "workload/training_run.h"

namespace orrery::cli {

// Form, numbers of processes, steps, batch, learning rate, seed, time limits.
std::vector<OptionRecord> distributed_options();
// The same options again as words of a command line.
std::vector<std::string> distributed_words(const OptionValues& options);
// "50MB/s": a number, k, M or G (decimal) or nothing, and B/s.
Result<BytesPerSecond> parse_rate(const std::string& text);
// The model at the batch of one worker, trained by plain SGD.
Result<workload::TrainingRun> distributed_run(env::Env env, const std::string& model, const OptionValues& options);

}  // namespace orrery::cli
