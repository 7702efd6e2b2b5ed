#pragma once
// Starts and supervises processes on one host for launchers elsewhere (launcher.h): `orrery agent`. One agent serves
// any number of jobs, one after the other or at the same time.
//
// - A launcher connects, names a job, proves that it knows the secret, and sends orders (order.h). A client that does
//   not know the secret is told so and disconnected; it can only make the agent read a bounded order. Without a secret
//   the agent listens on loopback and serves the user who started it, as the kernel reports it (env/peer_user.h).
// - Connections of unauthenticated clients are closed after five seconds, and earlier when others come or descriptors
//   are short.
// - A failure of one job is reported to its launcher; it ends neither the agent nor another job.
// - Processes of a job on this host share memory, as under a launcher on this host, and reach their launcher through
//   the agent, by the same mailbox. So do commands: `orrery resize --local JOB N` works on every host of a job.
// - When the connection breaks, processes continue to train. What they print then goes to the agent's own output. No
//   worker can join through this host until the launcher is back.
// - SIGTERM, SIGINT or SIGHUP: all processes get SIGTERM and leave; the agent ends when the last one has left. A second
//   signal kills them.

#include <string>

#include "env/channel/handshake.h"
#include "env/env.h"
#include "env/sockets.h"

namespace orrery::elastic {

struct AgentOptions {
  env::Address listen{};  // also where processes of this host are reached, on other ports
  // The secret that launchers must know; whether those that do not encrypt are refused.
  env::Credentials credentials{};
};

// Returns when it was told to end, or at once if it cannot listen there. kInvalidArgument without a secret on an
// address that other hosts reach.
Status run_agent(env::Env env, const AgentOptions& options);

}  // namespace orrery::elastic
