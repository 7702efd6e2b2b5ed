#pragma once
// For tests: the ranks of a job over loopback connections, as threads of one process or as processes of their own.

#include <functional>
#include <gtest/gtest.h>
#include <thread>

#include "elastic/net/session.h"
#include "elastic/test_child.h"
#include "env/env.h"

namespace orrery::elastic::net {

// The listeners of all ranks of a job.
struct Listeners {
  std::vector<std::unique_ptr<Listener>> listeners;
  std::vector<env::Address> addresses;

  explicit Listeners(int ranks, const std::string& job = "test") {
    for (int rank = 0; rank < ranks; ++rank) {
      auto listener = Listener::open(env::make_real_env(), {.secret = job}, {"127.0.0.1", 0});
      if (!listener) std::abort();
      addresses.push_back((*listener)->address());
      listeners.push_back(std::move(*listener));
    }
  }
  // For a process that is one of the ranks.
  void keep_only(int rank) {
    for (std::size_t i = 0; i < listeners.size(); ++i) {
      if (static_cast<int>(i) != rank) listeners[i].reset();
    }
  }
  Listener& of(int rank) { return *listeners[static_cast<std::size_t>(rank)]; }
};

// Small parts and little credit, so that short tests reach every limit.
inline SessionOptions tight_options() {
  SessionOptions options;
  options.chunk_bytes = 4 << 10;
  options.early_max = 1 << 10;
  options.mesh.data_bytes = 64 << 10;
  options.mesh.early_bytes = 8 << 10;
  options.mesh.ranks_here = 64;  // no rank has a core to itself
  return options;
}

// Runs `work` on `ranks` threads, each with a session of generation 1.
inline void run_threads(int ranks, const SessionOptions& options, const std::function<void(Session& session)>& work) {
  Listeners listeners(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      SessionOptions own = options;
      own.mesh.rank = rank;
      own.mesh.addresses = listeners.addresses;
      auto session = Session::open(listeners.of(rank), own);
      ASSERT_TRUE(session) << session.error().to_string();
      work(**session);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

using ChildRank = ChildProcess;

}  // namespace orrery::elastic::net
