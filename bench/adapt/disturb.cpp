#include "adapt/disturb.h"

#include <csignal>

#include "elastic/job/jobs.h"

namespace orrery::bench {

void disturb(const env::Env& env, const TrainingJob& job, Random& random, Events& events) {
  const auto ask = [&](const elastic::AskLauncher& question) {
    return elastic::ask_launcher(env, job.name(), question, Seconds(10));
  };
  const auto status = ask({.request = elastic::LauncherRequest::kStatus});
  if (!status || status->step == 0) return;
  std::vector<elastic::ProcessStatus> workers;
  for (const auto& process : status->processes) {
    if (process.state == elastic::ProcessState::kWorker) workers.push_back(process);
  }
  const std::uint64_t kind = random.below(3);
  if (kind < 2 && workers.size() >= 3) {
    const elastic::ProcessStatus& worker = workers[random.below(workers.size())];
    if (kind == 0) {
      ::kill(static_cast<pid_t>(worker.process), SIGKILL);
      ++events.killed;
    } else if (ask({.request = elastic::LauncherRequest::kStop, .worker = worker.worker})) {
      ++events.stopped;
    }
  } else if (ask({.request = elastic::LauncherRequest::kResize, .size = 2 + random.below(4)})) {
    ++events.resized;
  }
}

}  // namespace orrery::bench
