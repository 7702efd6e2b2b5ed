#pragma once
// Lets a benchmark read a large file in a process of its own, whose peak memory is then that of the reading alone.

#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <unistd.h>

#include "env/env.h"
#include "env/processes.h"

namespace orrery::bench {

// Writes a temporary file with `write`, runs `self name PATH`, and removes the file. Whether it ended well in time.
inline Result<bool> measure_in_child(env::Env& env, const std::string& self, const std::string& name, Seconds time_max,
                                     const std::function<Status(const std::string& path)>& write) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("orrery-bench-{}-{}", name, static_cast<long>(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "input").string();
  Status written = write(path);
  Result<bool> met = false;
  if (written) {
    auto process = env.processes.spawn({.argv = {self, name, path}});
    if (process) {
      const auto exit = (*process)->wait(time_max);
      met = exit && *exit && (*exit)->ok();
    }
  }
  std::filesystem::remove_all(folder);
  if (!written) return std::move(written).error();
  return met;
}

}  // namespace orrery::bench
