#pragma once
// A launcher's connections to the agents of the hosts of a job (agent.h). A broken connection is made again; the roster
// decides what that means for the job.

#include <memory>
#include <optional>
#include <vector>

#include "elastic/job/order.h"
#include "env/channel/channel.h"
#include "env/clock.h"
#include "env/env.h"

namespace orrery::elastic {

struct HostsOptions {
  std::vector<env::Address> agents{};
  std::string job;
  env::Credentials credentials{};
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
  // Returns when all agents have opened the job. The poller waits for them from then on; it must outlive this.
  static Result<std::unique_ptr<Hosts>> connect(env::Env env, env::Poller& poller, const HostsOptions& options);
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
  // When there is something to do that nothing is waited for; none if there is not.
  std::optional<Seconds> next_deadline() const;
  // The time since which no agent has been reached; no value if one is.
  std::optional<Seconds> alone_since() const;

 private:
  struct Host {
    env::Address address{};
    std::unique_ptr<env::Channel> channel{};
    bool has_asked = false;  // on this channel, to open the job
    bool is_open = false, was_open = false, is_given_up = false, is_closed = false;
    Seconds next_try{0}, lost{0};
    std::vector<std::string> addresses{};
    std::string problem{};  // why it is not open
  };

  Hosts(env::Env env, env::Poller& poller, HostsOptions options)
      : env_(env), poller_(poller), options_(std::move(options)) {}
  Status call(Host& host);
  void lose(std::uint32_t number, const Error& problem);
  Status on(std::uint32_t number, const Order& order);
  Status check_user(const Host& host);
  void ask_to_open(std::uint32_t number);
  Status move_channel(std::uint32_t number);
  void move(std::uint32_t number);
  // It will not open the job later either.
  Error refusal(const Host& host, const std::string& reason);

  env::Env env_;
  env::Poller& poller_;
  HostsOptions options_;
  std::vector<Host> hosts_;
  std::vector<HostNews> news_;
  std::optional<Error> refused_;
};

}  // namespace orrery::elastic
