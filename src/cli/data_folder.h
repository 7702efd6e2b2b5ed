#pragma once
// Where measurements that are too large for this repository are looked for.

#include <string>

#include "cli/command.h"
#include "env/terminal.h"

namespace orrery::cli {

// The folder of data sets: $ORRERY_DATA/data, or shared/data beside the working directory.
inline std::string data_folder(const Context& context) {
  return context.env.variables.get("ORRERY_DATA").value_or("../shared") + "/data";
}

}  // namespace orrery::cli
