#include "adapt/disturb.h"

#include <csignal>

#include "elastic/job/jobs.h"

namespace orrery::bench {

void disturb(const env::Env& env, const TrainingJob& job, Random& random, Events& events) {
  const auto ask = [&](const elastic::AskLauncher& question) {
    return elastic::ask_launcher(env.files, job.name(), question, Seconds(10));
  };
  const auto status = ask({.wish = elastic::Wish::kStatus});
  if (!status || status->step == 0) return;
  std::vector<elastic::ProcessStatus> members;
  for (const auto& process : status->processes) {
    if (process.state == elastic::ProcessState::kMember) members.push_back(process);
  }
  const std::uint64_t kind = random.below(3);
  if (kind < 2 && members.size() >= 3) {
    const elastic::ProcessStatus& member = members[random.below(members.size())];
    if (kind == 0) {
      ::kill(static_cast<pid_t>(member.process), SIGKILL);
      ++events.killed;
    } else if (ask({.wish = elastic::Wish::kDrain, .member = member.member})) {
      ++events.drained;
    }
  } else if (ask({.wish = elastic::Wish::kResize, .size = 2 + random.below(4)})) {
    ++events.resized;
  }
}

}  // namespace orrery::bench
