#pragma once
// GraphDefs in files, in text or binary form, whichever it is.

#include "base/units.h"
#include "env/files.h"
#include "workload/import/graphdef/graphdef.h"

namespace orrery::workload {

// A text form may be this long; binary files are read in parts.
inline constexpr Bytes kGraphDefTextFileMax = gibibytes(1);

// Errors carry the line or the offset.
Result<GraphDef> read_graphdef(env::Files& files, const std::string& path);

// Whether a text begins as the text form of a GraphDef does.
bool looks_like_graphdef_text(std::string_view beginning);
// Whether there is a byte that no text has. A protocol buffer has them: its tags and lengths.
bool is_binary_file(std::string_view beginning);

}  // namespace orrery::workload
