#pragma once
// How workers of a data-parallel job turn their own gradients into common parameters. One worker's end of it.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "env/clock.h"
#include "env/sockets.h"
#include "profile/proc_text.h"

namespace orrery::profile {

// Parameters and gradients are flat, in the executor's order, and keep their size. Not thread-safe.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Replaces `parameters` by those of worker 0.
  virtual Status start(std::span<float> parameters) = 0;
  // Hands in the gradients of one step and writes the parameters after it.
  virtual Status step(std::span<const float> gradients, std::span<float> parameters) = 0;
  // Sends good-bye.
  virtual Status finish() = 0;
  // Bytes through its connections so far, frame headers included; no value if they are not counted.
  virtual std::optional<Traffic> traffic() const = 0;
};

// Part `index` of `count` nearly equal parts.
struct Shard {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};
Shard shard_of(std::size_t parameters, std::size_t index, std::size_t count);

struct ServerExchangeOptions {
  std::uint32_t rank = 0, workers = 1;
  std::vector<env::Address> servers;  // server i keeps shard i
  Seconds silence_max{60};
  Seconds connect_max{30};  // servers may start later
};

// The worker's end of parameter servers. All servers are talked to at the same time. `sockets` and `clock` must be
// thread-safe if there are several, and `clock` must outlive the result.
Result<std::unique_ptr<Exchange>> connect_to_servers(env::Sockets& sockets, env::Clock& clock,
                                                     const ServerExchangeOptions& options);

struct AllReduceOptions {
  int rank = 0, workers = 1;
  std::string address;  // of this process, where its peers reach it
  std::string folder;   // empty at first, common to all processes: where they find each other
  double learning_rate = 1e-3;
  Seconds silence_max{60};
};

// Ring all-reduce of Gloo; every worker applies w ← w − η mean(g) itself. Comes with the module that runs models.
Result<std::unique_ptr<Exchange>> make_all_reduce(const AllReduceOptions& options);

}  // namespace orrery::profile
