#include "elastic/host/preemption_notice.h"

#include <csignal>

namespace orrery::elastic {

namespace {

// A signal handler can use nothing but such a variable. It only ever becomes 1.
volatile std::sig_atomic_t was_given = 0;

void remember(int) {
  was_given = 1;
}

}  // namespace

std::function<bool()> preemption_by_signal() {
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGTERM, &action, nullptr);
  return [] { return was_given != 0; };
}

}  // namespace orrery::elastic
