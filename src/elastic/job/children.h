#pragma once
// The processes of a job on this host that live, and which have ended.

#include <map>
#include <memory>

#include "elastic/membership/membership.h"
#include "env/processes.h"

namespace orrery::elastic {

struct Child {
  std::unique_ptr<env::Process> process;
  env::Watch watch{};  // ends before it
};
using Children = std::map<WorkerId, Child>;

// A process that cannot be watched ends.
inline Status add_child(Children& children, WorkerId worker, std::unique_ptr<env::Process> process,
                        env::Poller& poller) {
  ORRERY_TRY(env::Watch watch, env::Watch::on(poller, *process));
  children.emplace(worker, Child{std::move(process), std::move(watch)});
  return {};
}

// Moves ended processes from `children` to `ended`. It calls `read_notes` before, so that the last notes of a process
// come before its end.
template <class ReadNotes, class Ended>
Status reap(Children& children, ReadNotes read_notes, Ended ended) {
  for (auto one = children.begin(); one != children.end();) {
    ORRERY_TRY(const std::optional<env::ProcessExit> exit, one->second.process->wait(Seconds(0)));
    if (!exit) {
      ++one;
      continue;
    }
    ORRERY_TRY_VOID(read_notes());
    const WorkerId worker = one->first;
    one = children.erase(one);
    ended(worker, *exit);
  }
  return {};
}

}  // namespace orrery::elastic
