#pragma once
// The kinds of oracle folders, one file each.

#include <optional>

#include "simulate/oracle/oracle.h"

namespace orrery::simulate {

Result<std::vector<OracleCase>> run_tiresias_oracle(const OracleInput& input, const std::vector<std::string>& names);
Result<std::vector<OracleCase>> run_pollux_oracle(const OracleInput& input);
Result<std::vector<OracleCase>> run_gavel_oracle(const OracleInput& input, const std::vector<std::string>& names);
Result<std::vector<OracleCase>> run_batch_oracle(const OracleInput& input, const std::vector<std::string>& names);
Result<std::vector<OracleCase>> run_colocation_oracle(const OracleInput& input);
Result<std::vector<OracleCase>> run_shockwave_oracle(const OracleInput& input);
Result<std::vector<OracleCase>> run_muri_oracle(const OracleInput& input, const std::vector<std::string>& names);

// The first of `paths` that exists in the folder, in data or in fallback, packed or not; the error lists where it was
// looked for. Paths of data and fallback are also tried below `subfolder`.
Result<std::string> find_input(const OracleInput& input, const std::string& subfolder,
                               const std::vector<std::string>& paths);

// The first CSV file whose name begins with `prefix`, in the same folders.
Result<std::string> find_input_named(const OracleInput& input, const std::string& subfolder, std::string_view prefix);

// "name" of "name.expected_end_times.csv.gz" for the suffix ".expected_end_times.csv"; nothing for other names.
std::optional<std::string> stem_of(const std::string& name, std::string_view suffix);

}  // namespace orrery::simulate
