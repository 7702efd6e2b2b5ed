#pragma once
// Reads ZIP archives whose files are stored as they are, not packed: the container of PyTorch's files.

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace orrery::predict {

inline constexpr std::size_t kZipFilesMax = 65'535;

// Name → content, as views into `bytes`. Every checksum is verified. Errors name what is damaged; packed or encrypted
// files are kUnsupported.
Result<std::map<std::string, std::string_view>> parse_zip(std::string_view bytes);

}  // namespace orrery::predict
