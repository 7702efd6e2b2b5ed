#pragma once
// A launcher's connections to the agents of the hosts of a job (agent.h). A broken connection is made again; the roster
// decides what that means for the job.

#include <memory>
#include <optional>
#include <vector>

#include "elastic/job/order.h"
#include "elastic/net/socket.h"
#include "elastic/net/stream.h"
#include "env/clock.h"

namespace orrery::elastic {

struct HostsOptions {
  std::vector<env::Address> agents{};
  std::string job;
  std::string secret;
  std::uint64_t run = 0;    // random
  std::uint32_t slots = 1;  // per host
  std::uint64_t arena_bytes = 0;
};

// The name of the job on one of its hosts: several agents may share a machine.
std::string name_on_host(const std::string& job, std::uint32_t host);

struct HostNews {
  std::uint32_t host = 0;
  enum class Kind { kOrder, kLost, kFound } kind = Kind::kOrder;
  std::optional<Order> order{};
};

// Used by one thread.
class Hosts {
 public:
  // Returns when all agents have opened the job. The clock must outlive it.
  static Result<std::unique_ptr<Hosts>> connect(const HostsOptions& options, env::Clock& clock);
  // Tells agents that the job is over, if close() did not.
  ~Hosts();
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;

  // Where processes are reached, by host and slot.
  std::vector<std::vector<std::string>> addresses() const;
  void send(std::uint32_t host, const Order& order);
  // The events since the last call. Never waits.
  std::vector<HostNews> receive();
  // Tells agents that the job is over, and returns what processes have printed until then.
  std::vector<HostNews> close();
  void add_descriptors(std::vector<int>& descriptors) const;
  bool has_output() const;
  // The time since which no agent has been reached; no value if one is.
  std::optional<Seconds> alone_since() const;

 private:
  struct Host {
    env::Address address{};
    net::ResolvedAddress resolved{};
    env::FileDescriptor connecting{};
    std::unique_ptr<net::Stream> stream{};
    bool is_open = false, was_open = false, is_given_up = false, is_closed = false;
    Seconds next_try{0}, lost{0};
    std::vector<std::string> addresses{};
    std::string challenge{};  // our challenge to the agent
    std::string problem{};    // why it is not open
  };

  Hosts(HostsOptions options, env::Clock& clock) : options_(std::move(options)), clock_(clock) {}
  void call(std::uint32_t number);
  void lose(std::uint32_t number, const std::string& problem);
  Status on(std::uint32_t number, const Order& order);
  Status open(std::uint32_t number, const Challenge& challenge);
  void move(std::uint32_t number);

  HostsOptions options_;
  env::Clock& clock_;
  std::vector<Host> hosts_;
  std::vector<HostNews> news_;
  std::optional<Error> refused_;
};

}  // namespace orrery::elastic
