#pragma once
// Which processes of a job have ended on this host.

#include <map>
#include <memory>

#include "elastic/host/supervisor.h"
#include "elastic/membership/membership.h"
#include "env/processes.h"

namespace orrery::elastic {

// Moves ended processes from `processes` to `ended`. It calls `read_notes` before, so that the last notes of a process
// come before its end.
template <class ReadNotes, class Ended>
Status reap(std::map<WorkerId, std::unique_ptr<env::Process>>& processes, Supervisor& watch, ReadNotes read_notes,
            Ended ended) {
  for (auto one = processes.begin(); one != processes.end();) {
    ORRERY_TRY(const std::optional<env::ProcessExit> exit, one->second->wait(Seconds(0)));
    if (!exit) {
      ++one;
      continue;
    }
    ORRERY_TRY_VOID(read_notes());
    watch.drop(one->second->id());
    ended(one->first, *exit);
    one = processes.erase(one);
  }
  return {};
}

}  // namespace orrery::elastic
