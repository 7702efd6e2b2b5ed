#include "simulate/run_tables.h"

#include <fmt/format.h>

namespace orrery::simulate {

Table decisions_table(const JobTrace& job_trace, const std::vector<RunResult>& runs) {
  Table table({{"policy", "policy"},
               {"time_s", "time", CellFormat::kNumber},
               {"action", "action"},
               {"job", "job"},
               {"machines", "machines"},
               {"reason", "reason"}});
  for (const RunResult& run : runs) {
    for (const LoggedDecision& entry : run.log) {
      std::string machines;
      for (const schedule::Slice& slice : entry.decision.allocation) {
        machines += fmt::format("{}{}:{}", machines.empty() ? "" : " ", slice.machine, slice.gpus);
        if (slice.servers > 0) machines += fmt::format("+{}", slice.servers);
      }
      table.add({run.policy, schedule::to_seconds(entry.at_ns), std::string(to_string(entry.decision.action)),
                 job_trace.jobs[entry.decision.job].id, machines, to_string(entry.decision.reason)});
    }
  }
  return table;
}

Table jobs_table(const JobTrace& job_trace, const std::vector<RunResult>& runs) {
  Table table({{"policy", "policy"},
               {"job", "job"},
               {"submit_s", "submit", CellFormat::kNumber},
               {"start_s", "start", CellFormat::kNumber},
               {"end_s", "end", CellFormat::kNumber},
               {"executed_s", "executed", CellFormat::kNumber},
               {"starts", "starts", CellFormat::kInteger}});
  const auto time = [](TimeNs at) { return at == kNever ? Cell() : Cell(schedule::to_seconds(at)); };
  for (const RunResult& run : runs) {
    for (const JobIndex j : run.jobs.indices()) {
      const JobOutcome& o = run.jobs[j];
      table.add({run.policy, job_trace.jobs[j].id, time(job_trace.jobs[j].facts.submit_ns), time(o.first_start_ns),
                 time(o.end_ns), schedule::to_seconds(o.executed_ns), std::int64_t{o.starts}});
    }
  }
  return table;
}

}  // namespace orrery::simulate
