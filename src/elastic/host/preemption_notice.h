#pragma once
// SIGTERM as a preemption notice: clouds, schedulers and people send it some time before they kill a process.

#include <functional>

namespace orrery::elastic {

// From now on SIGTERM does not end this process but is recorded. The function returns whether it has come.
std::function<bool()> preemption_by_signal();

}  // namespace orrery::elastic
