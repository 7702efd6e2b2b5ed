#include "elastic/job/attempt.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "env/clock.h"
#include "env/processes.h"

namespace orrery::elastic {

namespace {

constexpr Bytes kProcFileMax = kibibytes(4);
constexpr std::size_t kStartField = 19;  // of the fields behind the name, counted from 0

std::string trimmed_file(env::Env env, const std::string& path) {
  const auto text = env.files.read(path, kProcFileMax);
  return text ? std::string(trim(*text)) : "";
}

// In ticks since the machine's start; empty where the machine does not say.
std::string own_start(env::Env env) {
  const std::string text = trimmed_file(env, "/proc/self/stat");
  const std::size_t name_end = text.rfind(") ");  // the name may contain anything
  if (name_end == std::string::npos) return "";
  const auto fields = split(text.substr(name_end + 2), ' ');
  return fields.size() > kStartField ? fields[kStartField] : "";
}

}  // namespace

std::string mark_of(const std::string& job_on_host, std::uint64_t run) {
  return fmt::format("{}.{:016x}", job_on_host, run);
}

Result<AttemptFolder> AttemptFolder::create(env::Env env, const std::string& path, const std::string& job,
                                            std::uint64_t run) {
  if (const Status made = env.files.make_new_directory(path); !made) {
    return Error(made.error()).with_context("--folder is of one attempt, and is created by it");
  }
  const nlohmann::ordered_json launcher = {{"job", job},
                                           {"process", env.processes.own_id()},
                                           {"started", own_start(env)},
                                           {"boot", trimmed_file(env, "/proc/sys/kernel/random/boot_id")},
                                           {"run", mark_of(job, run)}};
  if (const Status written = env.files.write_atomically(path + "/launcher", launcher.dump() + "\n"); !written) {
    // Nothing was started, so the attempt can be made again.
    (void)env.files.remove(path);
    return written.error();
  }
  return AttemptFolder(env, path);
}

Status AttemptFolder::record_exit(int code, const std::string& summary) {
  const nlohmann::ordered_json exit = {{"code", code}, {"summary", summary}, {"time_s", env_.clock.wall().value()}};
  return env_.files.write_atomically(path_ + "/exit", exit.dump() + "\n");
}

}  // namespace orrery::elastic
