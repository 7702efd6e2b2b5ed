#pragma once
// Hosts with networks of their own: namespaces that hang on a bridge, each with an agent that starts workers. Needs
// root.

#include <string>
#include <vector>

#include "env/env.h"
#include "env/processes.h"

namespace orrery::bench {

class Hosts {
 public:
  // `count` with agents, and one more without, for a launcher.
  static Result<Hosts> start(env::Env env, int count);
  Hosts(Hosts&&) = default;
  Hosts& operator=(Hosts&&) = default;
  ~Hosts();

  static std::string address(int host);
  // For `orrery run`.
  std::string agents() const;
  const std::string& secret() const { return secret_; }
  // Words before those of a command that is to run on a host.
  std::vector<std::string> inside(int host) const;
  // A cable of its own, eth1, between two hosts that have none yet: what they send each other goes through it.
  Status connect(int one, int other) const;
  // A script of the shell, there.
  Status run(int host, const std::string& script) const;

 private:
  explicit Hosts(env::Env env) : env_(env) {}
  Status call(const std::vector<std::string>& words) const;

  env::Env env_;
  int count_ = 0;
  std::string secret_;                                  // a file
  std::vector<std::unique_ptr<env::Process>> holders_;  // of namespaces; the last one is that of the bridge
  std::vector<std::unique_ptr<env::Process>> agents_;
};

}  // namespace orrery::bench
