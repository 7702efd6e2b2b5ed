#pragma once
// One parameter server: keeps a shard of the parameters and applies the workers' gradients to it, w ← w − η g.
//
// 1. Workers connect and send a handshake; a peer that sends none, or one of another job, is dropped.
// 2. Worker 0 sends the first parameters; all workers receive them.
// 3. Then each worker sends gradients and receives parameters until it reports its end.
//    kSync   the server waits for the gradients of all workers, applies their mean (summed in the order of ranks, so
//            that the result does not depend on which came first), and answers all
//    kAsync  it applies each worker's gradients at once and answers that worker
// One thread per worker, so that all links are used at the same time. A worker that disappears ends the server, and
// with its connections the other workers, within a fraction of a second.

#include "env/clock.h"
#include "env/sockets.h"
#include "profile/proc_text.h"

namespace orrery::profile {

enum class UpdateMode { kSync, kAsync };

struct ServerOptions {
  std::size_t parameters = 0;  // of the shard
  std::size_t workers = 1;
  UpdateMode mode = UpdateMode::kSync;
  double learning_rate = 1e-3;
  Seconds silence_max{60};
  Seconds connect_max{60};  // until all workers are there
};

struct ServerReport {
  std::int64_t updates = 0;
  Traffic traffic;  // of gradients and the parameters that answer them
};

// Serves until all workers are done. `clock` must be thread-safe.
Result<ServerReport> serve(env::Listener& listener, const env::Clock& clock, const ServerOptions& options);

}  // namespace orrery::profile
