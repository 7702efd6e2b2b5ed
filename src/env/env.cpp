#include "env/env.h"

#include "env/entropy.h"
#include "env/real_clock.h"
#include "env/real_files.h"
#include "env/real_poller.h"
#include "env/real_processes.h"
#include "env/real_sockets.h"
#include "env/real_terminal.h"

namespace orrery::env {

Env make_real_env() {
  // Statics without state: only their addresses matter.
  static RealClock clock;
  static RealFiles files;
  static RealProcesses processes;
  static RealSockets sockets;
  static RealTerminal terminal;
  static RealVariables variables;
  static RealPollers pollers;
  static RealEntropy entropy;
  return {clock, files, processes, sockets, terminal, variables, pollers, entropy};
}

}  // namespace orrery::env
