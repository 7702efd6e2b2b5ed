#pragma once
// How experiments that give several tables and figures print and write them.

#include "cli/command.h"
#include "simulate/experiment/report.h"

namespace orrery::cli {

// --plots and --json, which such experiments have.
std::vector<OptionRecord> report_options();

Status print_report(Context& context, const simulate::ExperimentReport& report, const OptionValues& options);

}  // namespace orrery::cli
