#pragma once
// A job under `orrery run` that is resized while it is measured.

#include <filesystem>
#include <string>
#include <vector>

#include "elastic/job/jobs.h"
#include "env/clock.h"
#include "env/env.h"
#include "env/files.h"
#include "env/processes.h"

namespace orrery {

inline constexpr Seconds kBackoff{60};

template <class Condition>
bool wait_for(const env::Env& env, Condition condition) {
  for (const Seconds end = env.clock.monotonic() + kBackoff; env.clock.monotonic() < end;) {
    if (condition()) return true;
    env.clock.sleep(Seconds(0.002));
  }
  return false;
}

class ResizedJob {
 public:
  // Two workers and a standby, of a program that is given as it is called. `orrery` is beside it.
  static Result<ResizedJob> start(const env::Env& env, std::string name, const std::vector<std::string>& program) {
    const std::string orrery = (std::filesystem::path(program.front()).parent_path() / "orrery").string();
    std::vector<std::string> words = {orrery,      "run", "-n",     "2",  "--elastic", "1:4",
                                      "--standby", "1",   "--name", name, "--quiet",   "--"};
    words.insert(words.end(), program.begin(), program.end());
    ORRERY_TRY(auto launcher, env.processes.spawn({.argv = words, .output = env::Output::kDiscard}));
    return ResizedJob(env, std::move(name), std::move(launcher));
  }

  // So many workers, and a standby that has started.
  bool wait_until_ready(std::size_t workers = 2) const {
    return wait_for(env_, [this, workers] {
      const auto status =
          elastic::ask_launcher(env_, name_, {.request = elastic::LauncherRequest::kStatus}, Seconds(1));
      return status && status->workers.size() == workers && status->processes.size() == workers + 1 &&
             status->processes.back().state == elastic::ProcessState::kWaiting;
    });
  }

  // Waits for the first step of the new size. The pause in ms, and the time from the request on.
  bool resize(std::uint64_t size, std::vector<double>& pauses_ms, std::vector<double>& requests_ms) const {
    using elastic::LauncherRequest;
    const auto before = elastic::ask_launcher(env_, name_, {.request = LauncherRequest::kStatus}, kBackoff);
    const Seconds start = env_.clock.monotonic();
    if (!before || !elastic::ask_launcher(env_, name_, {.request = LauncherRequest::kResize, .size = size}, kBackoff)) {
      return false;
    }
    Result<elastic::JobStatus> after = Error::unavailable("");
    const bool done = wait_for(env_, [&] {
      after = elastic::ask_launcher(env_, name_, {.request = LauncherRequest::kStatus}, kBackoff);
      return after && after->workers.size() == size && after->pause_s > 0 && after->pause_s != before->pause_s;
    });
    if (!done) return false;
    requests_ms.push_back(1e3 * (env_.clock.monotonic() - start).value());
    pauses_ms.push_back(1e3 * after->pause_s);
    return true;
  }

  void stop() const {
    (void)launcher_->kill(env::Signal::kTerminate);
    (void)launcher_->wait(kBackoff);
  }

 private:
  ResizedJob(const env::Env& env, std::string name, std::unique_ptr<env::Process> launcher)
      : env_(env), name_(std::move(name)), launcher_(std::move(launcher)) {}

  const env::Env& env_;
  std::string name_;
  std::unique_ptr<env::Process> launcher_;
};

}  // namespace orrery
