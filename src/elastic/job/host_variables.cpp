#include "elastic/job/host_variables.h"

#include <filesystem>

#include "env/files.h"
#include "env/real_processes.h"
#include "env/terminal.h"

namespace orrery::elastic {

namespace {

constexpr const char* kLibrary = "liborrery_elastic.so.1";

std::string library_beside(env::Files& files) {
  const Result<std::string> program = env::program_path();
  if (!program) return "";
  const std::filesystem::path folder = std::filesystem::path(*program).parent_path();
  for (const std::filesystem::path& path : {folder / kLibrary, folder.parent_path() / "lib" / kLibrary}) {
    if (files.exists(path.string())) return path.string();
  }
  return "";
}

}  // namespace

void add_host_variables(env::Env env, std::map<std::string, std::string>& variables) {
  const auto is_missing = [&](const char* name) { return !variables.contains(name) && !env.variables.get(name); };
  if (is_missing("ORRERY_LIBRARY")) {
    const std::string library = library_beside(env.files);
    if (!library.empty()) variables["ORRERY_LIBRARY"] = library;
  }
  const auto processes = variables.find("LOCAL_WORLD_SIZE");
  const bool is_alone = processes == variables.end() || processes->second == "1" || processes->second == "0";
  if (!is_alone && is_missing("OMP_NUM_THREADS")) variables["OMP_NUM_THREADS"] = "1";
}

}  // namespace orrery::elastic
