#pragma once
// Files of published measurements, as they are in the folder of data sets: plain or gzipped.

#include <string>
#include <vector>

#include "env/files.h"

namespace orrery::predict {

// The content of `folder`/`name` (of `name` if the folder is empty), unpacked if it is gzip. The error says how to
// point to the data.
Result<std::string> read_data(env::Files& files, const std::string& folder, const std::string& name);
// The names of what is in a folder, in order. The error likewise.
Result<std::vector<std::string>> list_data(env::Files& files, const std::string& folder);

}  // namespace orrery::predict
