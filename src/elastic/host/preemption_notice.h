#pragma once
// SIGTERM as a notice: clouds, schedulers and people send it some time before they end a process for good.

#include <functional>

namespace orrery::elastic {

// From now on SIGTERM does not end this process but is remembered. The function says whether it has come.
std::function<bool()> preemption_by_signal();

}  // namespace orrery::elastic
