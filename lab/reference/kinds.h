#pragma once
// The kinds of oracle folders, one file each.

#include <optional>

#include "lab/lab.h"
#include "lab/reference/reference.h"

namespace orrery::lab {

Result<std::vector<ReferenceCase>> run_tiresias_results(const ReferenceInput& input,
                                                        const std::vector<std::string>& names);
Result<std::vector<ReferenceCase>> run_pollux_results(const ReferenceInput& input);
Result<std::vector<ReferenceCase>> run_gavel_results(const ReferenceInput& input,
                                                     const std::vector<std::string>& names);
Result<std::vector<ReferenceCase>> run_batch_results(const ReferenceInput& input,
                                                     const std::vector<std::string>& names);
Result<std::vector<ReferenceCase>> run_colocation_results(const ReferenceInput& input);
Result<std::vector<ReferenceCase>> run_shockwave_results(const ReferenceInput& input);
Result<std::vector<ReferenceCase>> run_muri_results(const ReferenceInput& input, const std::vector<std::string>& names);

// The first of `paths` that exists in the folder, in data or in fallback, packed or not; the error lists where it was
// looked for. Paths of data and fallback are also tried below `subfolder`.
Result<std::string> find_input(const ReferenceInput& input, const std::string& subfolder,
                               const std::vector<std::string>& paths);

// The first CSV file whose name begins with `prefix`, in the same folders.
Result<std::string> find_input_named(const ReferenceInput& input, const std::string& subfolder,
                                     std::string_view prefix);

// "name" of "name.expected_end_times.csv.gz" for the suffix ".expected_end_times.csv"; nothing for other names.
std::optional<std::string> stem_of(const std::string& name, std::string_view suffix);

}  // namespace orrery::lab
