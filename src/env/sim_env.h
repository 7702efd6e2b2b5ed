#pragma once
// One simulated machine, whole. For several machines on one network make the parts by hand: one SimClock, one
// SimNetwork, and per machine a SimFiles, SimProcesses and SimSockets.
//
//   SimEnv sim;
//   control::Plane plane(sim.env());
//   sim.clock.advance(hours(1));
//   sim.files.crash();

#include <string>

#include "env/entropy.h"
#include "env/env.h"
#include "env/sim_clock.h"
#include "env/sim_files.h"
#include "env/sim_poller.h"
#include "env/sim_processes.h"
#include "env/sim_sockets.h"
#include "env/sim_terminal.h"

namespace orrery::env {

struct SimEnv {
  explicit SimEnv(std::string host = "127.0.0.1") : sockets(network, std::move(host)) {}
  SimEnv(const SimEnv&) = delete;
  SimEnv& operator=(const SimEnv&) = delete;

  Env env() { return {clock, files, processes, sockets, terminal, variables, pollers, entropy}; }

  SimClock clock;
  SimFiles files;
  SimProcesses processes{clock};
  SimNetwork network{clock};
  SimSockets sockets;
  SimTerminal terminal;
  SimVariables variables;
  SimPollers pollers{clock};
  SimEntropy entropy;
};

}  // namespace orrery::env
