#include "predict/readers/data_files.h"

#include <algorithm>

#include "base/gzip.h"

namespace orrery::predict {

namespace {

constexpr Bytes kFileMax = gibibytes(1);
constexpr const char* kWhereDataIs =
    "the measurements (set ORRERY_DATA to the folder that holds data/, or give --train DIR)";

}  // namespace

Result<std::string> read_data(env::Files& files, const std::string& folder, const std::string& name) {
  const std::string path = folder.empty() ? name : folder + "/" + name;
  auto bytes = files.read(path, kFileMax);
  if (!bytes) return std::move(bytes).error().with_context(kWhereDataIs);
  if (!is_gzip(*bytes)) return bytes;
  auto content = gunzip(*bytes, kFileMax);
  if (!content) return std::move(content).error().with_context(path);
  return content;
}

Result<std::vector<std::string>> list_data(env::Files& files, const std::string& folder) {
  auto names = files.list(folder);
  if (!names) return std::move(names).error().with_context(kWhereDataIs);
  std::sort(names->begin(), names->end());
  return names;
}

}  // namespace orrery::predict
