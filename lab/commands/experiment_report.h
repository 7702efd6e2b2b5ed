#pragma once
// How experiments that give several tables and figures print and write them.

#include "cli/command.h"
#include "lab/experiments/report.h"
#include "lab/lab.h"

namespace orrery::lab {

using namespace cli;

// --plots and --json, which such experiments have.
std::vector<OptionRecord> report_options();

Status print_report(Context& context, const ExperimentReport& report, const OptionValues& options);

}  // namespace orrery::lab
