#pragma once
// A report of several runs that can be forwarded: one HTML file with its tables and figures inside.

#include "simulate/readers/reader.h"
#include "simulate/summary.h"

namespace orrery::simulate {

struct ReportInput {
  const JobTraceFile& file;
  const std::vector<RunResult>& runs;
  const std::vector<Summary>& summaries;
  std::string cluster;  // "32 machines with 8 GPUs"
  std::string command;  // that makes it again
  int gpus = 0;
};

std::string completion_svg(const ReportInput& input);   // share of jobs that ended within a time
std::string utilisation_svg(const ReportInput& input);  // GPUs in use over time
std::string fragmentation_svg(const ReportInput& input);
std::string waiting_svg(const ReportInput& input);  // jobs that wait, over time
std::string means_svg(const ReportInput& input);    // mean and p99 completion time

std::string to_html(const ReportInput& input);

}  // namespace orrery::simulate
