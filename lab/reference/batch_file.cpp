#include "lab/reference/batch_file.h"

#include <fmt/format.h>

#include "base/text.h"
#include "simulate/data_file.h"

namespace orrery::lab {

Result<std::vector<MachineCount>> parse_machine_counts(const std::string& text) {
  std::vector<MachineCount> result;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const auto count = equals == std::string::npos ? std::nullopt : parse_number(part.substr(equals + 1));
    if (!count || *count < 1 || *count > 1e6) {
      return Error::invalid(fmt::format("machines: expected TYPE=COUNT instead of {}", quote(part)));
    }
    result.push_back({std::string(trim(part.substr(0, equals))), static_cast<int>(*count)});
  }
  return result;
}

Result<schedule::BatchProblem> read_batch_problem(env::Files& files, const std::string& path,
                                                  const std::vector<MachineCount>& machines) {
  ORRERY_TRY(const CsvTable table, read_csv_file(files, path));
  schedule::BatchProblem problem;
  for (const MachineCount& type : machines) problem.machines.push_back(type.count);
  for (const CsvRow& row : table.rows) {
    schedule::BatchJob& job = problem.jobs.emplace_back();
    ORRERY_TRY(const std::string deadline, text_field(table, row, "ddl"));
    if (to_lower(trim(deadline)) != "inf") {
      ORRERY_TRY(job.deadline_s, number_field(table, row, "ddl"));
    }
    for (const MachineCount& type : machines) {
      ORRERY_TRY(job.runtime_s.emplace_back(), number_field(table, row, type.type));
    }
  }
  ORRERY_TRY_VOID(schedule::validate(problem));
  return problem;
}

}  // namespace orrery::lab
